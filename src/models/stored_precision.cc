#include "models/stored_precision.h"

#include <cstdint>

namespace lattice::models {
namespace {

constexpr std::uint64_t kFewParameters = 300'000'000;

}  // namespace

kernels::Precision StoredPrecision(const weights::Checkpoint& checkpoint) {
  std::uint64_t n_parameters = 0;
  for (const auto& [name, tensor] : checkpoint.tensors()) n_parameters += tensor.n_elements();
  return n_parameters < kFewParameters ? kernels::Precision::kInt16 : kernels::Precision::kInt8;
}

}  // namespace lattice::models
