#include <cstring>

#include "numeric/quantise_super_blocks.h"
#include "numeric/super_block_parts.h"

// Q4_K and Q5_K: eight groups of 32, value = (d * scale) * code - dmin * min, with scales and
// minima of 6 bits.

namespace lattice {
namespace {

constexpr std::size_t kGroups = 8, kGroupSize = 32;
constexpr float kMostScale = 63;

/// A group as it would be without rounding: value = scale * code - min, neither below zero.
struct GroupFit {
  float scale = 0, min = 0;
  double gain = 0;  ///< By how much it lowers the weighted sum of squares.
};

/// A group as a block holds it.
struct GroupCode {
  float scale = 0, min = 0;  ///< Whole numbers, 0 to 63.
};

struct BlockScales {
  std::uint16_t d = 0, dmin = 0;
  float d_value() const { return F16ToF32(d); }
  float dmin_value() const { return F16ToF32(dmin); }
};

/// The sums of which the best scale and minimum for given codes follow.
struct GroupSums {
  double w = 0, wx = 0, wq = 0, wqq = 0, wxq = 0;
};

/// Least squares of the weighted errors for fixed codes, with the minimum's sign kept.
GroupFit Solve(const GroupSums& s) {
  const double determinant = s.w * s.wqq - s.wq * s.wq;
  double scale = 0, added = s.w > 0 ? s.wx / s.w : 0;
  if (determinant > 1e-9 * s.w * s.wqq) {
    scale = (s.w * s.wxq - s.wx * s.wq) / determinant;
    added = (s.wqq * s.wx - s.wq * s.wxq) / determinant;
  }
  if (added > 0) {
    added = 0;
    scale = s.wqq > 0 ? s.wxq / s.wqq : 0;
  }
  if (scale < 0) {
    scale = 0;
    added = s.w > 0 ? std::min(s.wx / s.w, 0.0) : 0;
  }
  return {static_cast<float>(scale), static_cast<float>(-added), scale * s.wxq + added * s.wx};
}

/// Codes (x + min) * inverse, rounded, and the fit to them.
GroupFit FitCodes(const float* x, const float* w, float min, float inverse, float most,
                  GroupSums sums) {
  F4 wq = {}, wqq = {}, wxq = {};
  for (std::size_t i = 0; i < kGroupSize; i += 4) {
    const F4 xi = Load4(x + i), wi = Load4(w + i);
    const F4 q = Round4(Clamp4((xi + min) * inverse, 0, most));
    const F4 product = wi * q;
    wq += product;
    wqq += product * q;
    wxq += product * xi;
  }
  sums.wq = static_cast<double>(Total(wq));
  sums.wqq = static_cast<double>(Total(wqq));
  sums.wxq = static_cast<double>(Total(wxq));
  return Solve(sums);
}

/// Tries scales around the one that spans the values, then refines the best.
GroupFit FitGroup(const float* x, const float* w, float most) {
  GroupSums sums;
  F4 total_w = {}, total_wx = {};
  float low = 0, high = x[0];
  for (std::size_t i = 0; i < kGroupSize; i += 4) {
    total_w += Load4(w + i);
    total_wx += Load4(w + i) * Load4(x + i);
    for (std::size_t l = i; l < i + 4; ++l) low = std::min(low, x[l]), high = std::max(high, x[l]);
  }
  sums.w = static_cast<double>(Total(total_w));
  sums.wx = static_cast<double>(Total(total_wx));
  const float range = high - low;
  GroupFit best = Solve(sums);
  if (range < 0x1p-100f) return best;
  constexpr int kTries = 6;
  for (int k = -kTries; k <= kTries; ++k) {
    const float inverse = (most + 0.15f * static_cast<float>(k)) / range;
    const GroupFit fit = FitCodes(x, w, -low, inverse, most, sums);
    if (fit.gain > best.gain) best = fit;
  }
  for (int k = 0; k < 2 && best.scale > 0; ++k) {
    const GroupFit fit = FitCodes(x, w, best.min, 1 / best.scale, most, sums);
    if (!(fit.gain > best.gain)) break;
    best = fit;
  }
  return best;
}

/// The weighted squared error of a group with steps a and b: value = a * code - b.
float ErrorOf(const float* x, const float* w, float a, float b, float most) {
  const float inverse = Inverse(a);
  F4 error = {};
  for (std::size_t i = 0; i < kGroupSize; i += 4) {
    const F4 shifted = Load4(x + i) + b;
    const F4 off = shifted - a * Round4(Clamp4(shifted * inverse, 0, most));
    error += Load4(w + i) * off * off;
  }
  return Total(error);
}

struct Block {
  WeighedValues values;
  float most = 15;  ///< The largest code.
  BlockScales scales = {};
  std::array<GroupCode, kGroups> groups = {};

  const float* x(std::size_t g) const { return &values.x[kGroupSize * g]; }
  const float* w(std::size_t g) const { return &values.w[kGroupSize * g]; }
  float Error(std::size_t g, GroupCode code) const {
    return ErrorOf(x(g), w(g), scales.d_value() * code.scale, scales.dmin_value() * code.min, most);
  }
  float Error() const {
    float error = 0;
    for (std::size_t g = 0; g < kGroups; ++g) error += Error(g, groups[g]);
    return error;
  }
};

/// The best pair among those next to the nearest.
GroupCode BestNear(const Block& block, std::size_t g, GroupCode nearest) {
  GroupCode best = nearest;
  float least = block.Error(g, nearest);
  for (float scale = nearest.scale - 1; scale <= nearest.scale + 1; ++scale) {
    for (float min = nearest.min - 1; min <= nearest.min + 1; ++min) {
      if (scale < 0 || scale > kMostScale || min < 0 || min > kMostScale) continue;
      const float error = block.Error(g, {scale, min});
      if (error < least) {
        least = error;
        best = {scale, min};
      }
    }
  }
  return best;
}

/// d and dmin that fit best to all codes at once.
BlockScales Refit(const Block& block) {
  double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    const GroupCode code = block.groups[g];
    const float a = block.scales.d_value() * code.scale, b = block.scales.dmin_value() * code.min;
    const float inverse = Inverse(a);
    F4 wq = {}, wqq = {}, wxq = {}, total_w = {}, wx = {};
    for (std::size_t i = 0; i < kGroupSize; i += 4) {
      const F4 xi = Load4(block.x(g) + i), wi = Load4(block.w(g) + i);
      const F4 q = Round4(Clamp4((xi + b) * inverse, 0, block.most));
      total_w += wi, wx += wi * xi, wq += wi * q, wqq += wi * q * q, wxq += wi * q * xi;
    }
    const double s = static_cast<double>(code.scale), m = static_cast<double>(code.min);
    aa += s * s * static_cast<double>(Total(wqq));
    ab -= s * m * static_cast<double>(Total(wq));
    bb += m * m * static_cast<double>(Total(total_w));
    xa += s * static_cast<double>(Total(wxq));
    xb -= m * static_cast<double>(Total(wx));
  }
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-9 * aa * bb)) return block.scales;
  const double d = (bb * xa - ab * xb) / determinant, dmin = (aa * xb - ab * xa) / determinant;
  if (d <= 0 || dmin < 0) return block.scales;
  return {F32ToF16(static_cast<float>(d)), F32ToF16(static_cast<float>(dmin))};
}

/// Chooses the scales of a block, which is not all but zero.
void Search(Block& block) {
  std::array<GroupFit, kGroups> fits;
  float scale = 0, min = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    fits[g] = FitGroup(block.x(g), block.w(g), block.most);
    scale = std::max(scale, fits[g].scale);
    min = std::max(min, fits[g].min);
  }
  block.scales = {StepFor(scale, kMostScale), StepFor(min, kMostScale)};
  const float per_scale = Inverse(block.scales.d_value());
  const float per_min = Inverse(block.scales.dmin_value());
  for (std::size_t g = 0; g < kGroups; ++g) {
    const auto code = [](float v) { return static_cast<float>(NearestCode(v, kMostScale)); };
    block.groups[g] =
        BestNear(block, g, {code(fits[g].scale * per_scale), code(fits[g].min * per_min)});
  }
  Block refitted = block;
  refitted.scales = Refit(block);
  if (refitted.Error() < block.Error()) block = refitted;
}

/// The twelve bytes of 8 scales and 8 minima: see decode_super_blocks.cc.
void PackGroups(const std::array<GroupCode, kGroups>& groups, std::uint8_t (&out)[12]) {
  for (std::size_t g = 0; g < kGroups; ++g) {
    const auto s = static_cast<unsigned>(groups[g].scale);
    const auto m = static_cast<unsigned>(groups[g].min);
    if (g < 4) {
      out[g] = static_cast<std::uint8_t>(out[g] | s);
      out[g + 4] = static_cast<std::uint8_t>(out[g + 4] | m);
    } else {
      out[g + 4] = static_cast<std::uint8_t>((s & 15) | (m & 15) << 4);
      out[g - 4] = static_cast<std::uint8_t>(out[g - 4] | (s >> 4) << 6);
      out[g] = static_cast<std::uint8_t>(out[g] | (m >> 4) << 6);
    }
  }
}

std::array<std::uint8_t, 256> CodesOf(const Block& block) {
  std::array<std::uint8_t, 256> codes;
  for (std::size_t i = 0; i < 256; i += 4) {
    const GroupCode group = block.groups[i / kGroupSize];
    const float b = block.scales.dmin_value() * group.min;
    const float inverse = Inverse(block.scales.d_value() * group.scale);
    const F4 q = Round4(Clamp4((Load4(&block.values.x[i]) + b) * inverse, 0, block.most));
    for (std::size_t l = 0; l < 4; ++l) codes[i + l] = static_cast<std::uint8_t>(q[l]);
  }
  return codes;
}

template <typename Stored>
Block Quantised(std::span<const float, 256> values, float most, Stored& stored) {
  stored = {};
  Block block{.values = Weigh(values), .most = most};
  if (LargestMagnitude(values) >= kLeastMagnitude) Search(block);
  stored.d = block.scales.d;
  stored.dmin = block.scales.dmin;
  PackGroups(block.groups, stored.scales);
  const auto codes = CodesOf(block);
  for (std::size_t i = 0; i < 128; ++i) {  // 64 codes share 32 bytes
    const std::size_t low = 64 * (i / 32) + i % 32;
    stored.qs[i] = static_cast<std::uint8_t>((codes[low] & 15) | (codes[low + 32] & 15) << 4);
  }
  return block;
}

}  // namespace

void QuantiseBlock(std::span<const float, 256> values, BlockQ4K& block) {
  Quantised(values, 15, block);
}

void QuantiseBlock(std::span<const float, 256> values, BlockQ5K& block) {
  const auto codes = CodesOf(Quantised(values, 31, block));
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint8_t& byte = block.qh[i % 32];
    byte = static_cast<std::uint8_t>(byte | (codes[i] >> 4) << (i / 32));
  }
}

}  // namespace lattice
