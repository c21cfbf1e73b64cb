#include "transport/rows/rows.h"

namespace lattice::transport {
namespace {

constexpr RowVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kRowsAvx512},
    {"avx2", CpuFeature::kAvx2, &kRowsAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kRowsNeon},
#endif
    {"scalar", {}, &kRowsScalar},
};

}  // namespace

std::span<const RowVariant> RowVariants() { return kVariants; }

const RowFns& SelectRows(CpuFeatures cpu) {
  const RowVariant* variant = kVariants;
  while (!cpu.Has(variant->needs)) ++variant;
  return *variant->fns;
}

}  // namespace lattice::transport
