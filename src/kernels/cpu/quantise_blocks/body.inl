// QuantiseBlocks for the instruction set of the including file: loops that compilers turn into
// vectors. Floats are compared and rounded as integers, which they do without -ffast-math.

#include "kernels/cpu/quantise_blocks/variants.h"

namespace lattice::kernels {
namespace {

constexpr float kLeastMagnitude = 1e-30f;

inline void QuantiseBlock(const float* x, const QuantisedRow& out) {
  std::uint32_t bits[kInputBlock];
  __builtin_memcpy(bits, x, sizeof(bits));
  std::uint32_t largest = 0;
  for (std::size_t t = 0; t < kInputBlock; ++t) {
    const std::uint32_t magnitude = bits[t] & 0x7FFFFFFFu;
    largest = magnitude > largest ? magnitude : largest;
  }
  float magnitude;
  __builtin_memcpy(&magnitude, &largest, sizeof(magnitude));
  const bool zeros = magnitude < kLeastMagnitude;
  const float inverse = zeros ? 0.0f : 127.0f / magnitude;
  out.scale[0] = zeros ? 0.0f : magnitude / 127.0f;
  // Adding 1.5 * 2^23 rounds to an integer, to nearest even, and leaves it in the lowest bits.
  constexpr float kRound = 12582912.0f;
  constexpr std::int32_t kRoundBits = 0x4B400000;
  std::int32_t rounded[kInputBlock];
  for (std::size_t t = 0; t < kInputBlock; ++t) {
    const float sum = x[t] * inverse + kRound;
    std::int32_t value;
    __builtin_memcpy(&value, &sum, sizeof(value));
    value -= kRoundBits;
    value = value > 127 ? 127 : value;
    rounded[t] = value < -127 ? -127 : value;
  }
  std::int32_t sums[2] = {0, 0};
  for (std::size_t t = 0; t < 16; ++t) sums[0] += rounded[t];
  for (std::size_t t = 16; t < 32; ++t) sums[1] += rounded[t];
  out.half_sums[0] = sums[0];
  out.half_sums[1] = sums[1];
  out.sums[0] = sums[0] + sums[1];
  out.offset[0] = out.scale[0] * static_cast<float>(out.sums[0]);
  for (std::size_t t = 0; t < kInputBlock; ++t) out.q[t] = static_cast<std::int8_t>(rounded[t]);
}

inline void QuantiseBlocks(const float* x, std::size_t k, const QuantisedRow& out) {
  for (std::size_t b = 0; b < k / kInputBlock; ++b) {
    QuantiseBlock(x + b * kInputBlock, {out.q + b * kInputBlock, out.scale + b, out.offset + b,
                                        out.sums + b, out.half_sums + 2 * b});
  }
}

}  // namespace
}  // namespace lattice::kernels
