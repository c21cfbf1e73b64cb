#include <arm_neon.h>

#include "kernels/cpu/dot_bf16/variants.h"

namespace lattice::kernels {
namespace {

// Four rows of x by four of weights: sixteen sums of four lanes, eight inputs at a time.
constexpr std::size_t kXRows = 4, kWRows = 4;
constexpr std::size_t kStep = 8;
static_assert(kWRows <= kDotBf16RowsAhead);

inline bfloat16x8_t Load(const void* p) {
  return vreinterpretq_bf16_u8(vld1q_u8(static_cast<const std::uint8_t*>(p)));
}

// kX rows of x from i by kW rows of weights from j.
template <std::size_t kX, std::size_t kW>
void Tile(const DotBf16Args& a, std::size_t i, std::size_t j) {
  float32x4_t sum[kX][kW];
  for (auto& row : sum) {
    for (float32x4_t& s : row) s = vdupq_n_f32(0);
  }
  const std::uint16_t* x = a.x + (a.x_row + i) * a.x_stride;
  const auto step = [&](std::size_t t, const bfloat16x8_t(&weights)[kW]) {
    for (std::size_t r = 0; r < kX; ++r) {
      const bfloat16x8_t input = Load(x + r * a.x_stride + t);
      for (std::size_t c = 0; c < kW; ++c) sum[r][c] = vbfdotq_f32(sum[r][c], input, weights[c]);
    }
  };
  std::size_t t = 0;
  bfloat16x8_t weights[kW];
  for (; t + kStep <= a.k; t += kStep) {
    for (std::size_t c = 0; c < kW; ++c) {
      weights[c] = Load(a.w[j + c] + 2 * t);
      if constexpr (kX == 1) __builtin_prefetch(a.w[j + kW + c] + 2 * t);
    }
    step(t, weights);
  }
  if (t < a.k) {  // Inputs past k are zeros.
    for (std::size_t c = 0; c < kW; ++c) {
      std::byte rest[2 * kStep] = {};
      __builtin_memcpy(rest, a.w[j + c] + 2 * t, 2 * (a.k - t));
      weights[c] = Load(rest);
    }
    step(t, weights);
  }
  for (std::size_t r = 0; r < kX; ++r) {
    for (std::size_t c = 0; c < kW; ++c) a.y[(i + r) * a.y_stride + j + c] = vaddvq_f32(sum[r][c]);
  }
}

// kX rows of x from i by all weights.
template <std::size_t kX>
void Stripe(const DotBf16Args& a, std::size_t i) {
  std::size_t j = 0;
  for (; j + kWRows <= a.n; j += kWRows) Tile<kX, kWRows>(a, i, j);
  for (; j < a.n; ++j) Tile<kX, 1>(a, i, j);
}

}  // namespace

void DotBf16NeonBf16(const DotBf16Args& a) {
  std::size_t i = 0;
  for (; i + kXRows <= a.m; i += kXRows) Stripe<kXRows>(a, i);
  for (; i < a.m; ++i) Stripe<1>(a, i);
}

}  // namespace lattice::kernels
