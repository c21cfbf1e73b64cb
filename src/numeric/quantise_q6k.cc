#include "numeric/quantise_super_blocks.h"
#include "numeric/super_block_parts.h"

// Q6_K: sixteen groups of 16, value = (d * scale) * code, with codes from -32 to 31 and scales from
// -128 to 127.

namespace lattice {
namespace {

constexpr std::size_t kGroups = 16, kGroupSize = 16;
constexpr float kLeastCode = -32, kMostCode = 31, kLeastScale = -128, kMostScale = 127;

struct Sums {
  float wxq = 0, wqq = 0;
};

Sums SumsFor(const float* x, const float* w, float inverse) {
  F4 wxq = {}, wqq = {};
  for (std::size_t i = 0; i < kGroupSize; i += 4) {
    const F4 xi = Load4(x + i);
    const F4 q = Round4(Clamp4(xi * inverse, kLeastCode, kMostCode));
    const F4 product = Load4(w + i) * q;
    wxq += product * xi;
    wqq += product * q;
  }
  return {Total(wxq), Total(wqq)};
}

/// The scale that fits a group best by itself: tries those that put its extreme near -32.
float FitGroup(const float* x, const float* w) {
  float extreme = 0;
  for (std::size_t i = 0; i < kGroupSize; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  if (std::fabs(extreme) < kLeastMagnitude) return 0;
  float best = 0, most_gain = 0;
  constexpr int kTries = 6;
  for (int k = -kTries; k <= kTries; ++k) {
    const Sums sums = SumsFor(x, w, (kLeastCode + 0.2f * static_cast<float>(k)) / extreme);
    if (sums.wqq <= 0) continue;
    const float scale = sums.wxq / sums.wqq, gain = scale * sums.wxq;
    if (gain > most_gain) {
      most_gain = gain;
      best = scale;
    }
  }
  return best;
}

float ErrorOf(const float* x, const float* w, float step) {
  const float inverse = Inverse(step);
  F4 error = {};
  for (std::size_t i = 0; i < kGroupSize; i += 4) {
    const F4 xi = Load4(x + i);
    const F4 off = xi - step * Round4(Clamp4(xi * inverse, kLeastCode, kMostCode));
    error += Load4(w + i) * off * off;
  }
  return Total(error);
}

struct Block {
  WeighedValues values;
  std::uint16_t d = 0;
  std::array<float, kGroups> scales = {};  ///< Whole numbers.

  const float* x(std::size_t g) const { return &values.x[kGroupSize * g]; }
  const float* w(std::size_t g) const { return &values.w[kGroupSize * g]; }
  float step(std::size_t g) const { return F16ToF32(d) * scales[g]; }
  float Error() const {
    float error = 0;
    for (std::size_t g = 0; g < kGroups; ++g) error += ErrorOf(x(g), w(g), step(g));
    return error;
  }
};

float BestNear(const Block& block, std::size_t g, float nearest) {
  float best = nearest, least = HUGE_VALF;
  for (const float scale : {nearest, nearest - 1, nearest + 1}) {
    if (scale < kLeastScale || scale > kMostScale) continue;
    const float error = ErrorOf(block.x(g), block.w(g), F16ToF32(block.d) * scale);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

/// d that fits best to all codes at once.
std::uint16_t Refit(const Block& block) {
  double xa = 0, aa = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    const Sums sums = SumsFor(block.x(g), block.w(g), Inverse(block.step(g)));
    const double scale = static_cast<double>(block.scales[g]);
    xa += scale * static_cast<double>(sums.wxq);
    aa += scale * scale * static_cast<double>(sums.wqq);
  }
  return aa > 0 ? F32ToF16(static_cast<float>(xa / aa)) : block.d;
}

/// Chooses the scales of a block, which is not all but zero.
void Search(Block& block) {
  std::array<float, kGroups> fits;
  float extreme = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    fits[g] = FitGroup(block.x(g), block.w(g));
    if (std::fabs(fits[g]) > std::fabs(extreme)) extreme = fits[g];
  }
  // The sign of d gives the largest scale the longer side.
  block.d = StepFor(std::fabs(extreme), -kLeastScale);
  if (extreme > 0) block.d = static_cast<std::uint16_t>(block.d | 0x8000u);
  const float inverse = Inverse(F16ToF32(block.d));
  for (std::size_t g = 0; g < kGroups; ++g) {
    const float nearest = std::nearbyint(fits[g] * inverse);
    block.scales[g] = BestNear(block, g, std::clamp(nearest, kLeastScale, kMostScale));
  }
  Block refitted = block;
  refitted.d = Refit(block);
  if (refitted.Error() < block.Error()) block = refitted;
}

}  // namespace

void QuantiseBlock(std::span<const float, 256> values, BlockQ6K& stored) {
  stored = {};
  Block block{.values = Weigh(values)};
  if (LargestMagnitude(values) >= kLeastMagnitude) Search(block);
  stored.d = block.d;
  for (std::size_t g = 0; g < kGroups; ++g) {
    stored.scales[g] = static_cast<std::int8_t>(block.scales[g]);
  }
  for (std::size_t i = 0; i < 256; ++i) {
    const float scaled = values[i] * Inverse(block.step(i / kGroupSize));
    const float code = std::nearbyint(std::clamp(scaled, kLeastCode, kMostCode)) - kLeastCode;
    const auto q = static_cast<unsigned>(code);
    const std::size_t n = i / 128, r = i % 128 / 32, l = i % 32;
    std::uint8_t& low = stored.ql[64 * n + 32 * (r % 2) + l];
    std::uint8_t& high = stored.qh[32 * n + l];
    low = static_cast<std::uint8_t>(low | (q & 15) << (r < 2 ? 0 : 4));
    high = static_cast<std::uint8_t>(high | (q >> 4) << (2 * r));
  }
}

}  // namespace lattice
