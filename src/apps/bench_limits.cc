#include "apps/bench_limits.h"

#include "apps/read_bandwidth.h"
#include "apps/text_engine.h"
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/stored/stored_linear.h"
#include "models/packed_weights.h"
#include "models/stored_precision.h"

namespace lattice::apps {
namespace {

using kernels::Precision;

/// See Backend::MakeStoredLinear.
Precision ProductPrecision(Dtype dtype, Precision asked) {
  if (!kernels::MultipliesIntegers(asked) || IsBlock(dtype)) return asked;
  return dtype == Dtype::kBf16 ? Precision::kBf16 : Precision::kF32;
}

}  // namespace

TokenWork WorkOf(const weights::Checkpoint& checkpoint, const models::LoadOptions& options) {
  const Precision asked = options.precision.value_or(models::StoredPrecision(checkpoint));
  TokenWork work;
  double table_bytes = 0, most = 0;
  bool own_head = false;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (name.find("exps.") != name.npos || name.find(".experts.") != name.npos) return {};
    const bool matrix = tensor.shape.size() > 1;
    const bool quantised = options.weights && matrix && !IsBlock(tensor.dtype);
    const auto bytes = static_cast<double>(models::KeptBytes(tensor, options.weights));
    const bool embeds = name.ends_with("embed_tokens.weight") || name == "token_embd.weight";
    (embeds ? table_bytes : work.bytes) += bytes;
    const bool head = name.ends_with("lm_head.weight") || name == "output.weight";
    own_head = own_head || head;
    if (!matrix || embeds || head) continue;
    const double elements = static_cast<double>(tensor.n_elements());
    work.operations += 2 * elements;
    if (elements <= most) continue;
    most = elements;
    work.precision = ProductPrecision(quantised ? *options.weights : tensor.dtype, asked);
  }
  if (!own_head) work.bytes += table_bytes;  // else it is read a row at a time
  return work;
}

Result<MachineLimits> MeasureLimits(ThreadPool& pool, Precision precision,
                                    const AppContext& context) {
  LATTICE_TRY(const CpuFeatures features, ChosenFeatures(context));
  MachineLimits limits;
  limits.bytes_per_s = MeasureReadBandwidth(pool);
  // Two products of 8 bits make one of 16.
  const bool pairs = precision == Precision::kInt16;
  const kernels::PeakVariant* peak =
      kernels::FindPeak(features, pairs ? Precision::kInt8 : precision);
  // Without products of bf16 they are widened.
  if (peak == nullptr && precision == Precision::kBf16) {
    peak = kernels::FindPeak(features, Precision::kF32);
  }
  if (peak != nullptr) {
    limits.operations_per_s = kernels::MeasurePeak(pool, *peak) / (pairs ? 2 : 1);
  }
  return limits;
}

}  // namespace lattice::apps
