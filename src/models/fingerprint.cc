#include "models/fingerprint.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/sha256.h"
#include "weights/safetensors_header.h"

namespace lattice::models {
namespace {

constexpr std::size_t kSampleBytes = 256;

/// Its beginning, middle and end.
void AddSamples(std::span<const std::byte> bytes, Sha256& sha) {
  const std::size_t n = std::min(kSampleBytes, bytes.size());
  sha.Update(bytes.first(n));
  sha.Update(bytes.subspan((bytes.size() - n) / 2, n));
  sha.Update(bytes.last(n));
}

}  // namespace

std::string Fingerprint(const JsonView& config, const weights::Checkpoint& checkpoint,
                        kernels::Precision precision, std::optional<Dtype> weights) {
  Sha256 sha;
  sha.Update(boost::json::serialize(config.value()));
  sha.Update("\n" + std::to_string(static_cast<int>(precision)));
  if (weights) sha.Update(" " + std::string(DtypeName(*weights)));
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    sha.Update("\n" + name + " " + std::string(DtypeName(tensor.dtype)) + " " +
               weights::ShapeText(tensor.shape) + "\n");
    AddSamples(tensor.bytes, sha);
  }
  return ToHex(sha.Finish());
}

}  // namespace lattice::models
