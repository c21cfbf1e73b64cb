// DotBlocks in 128-bit registers: the including file comes with AddProducts(sum, w, x), which adds
// the products of four signed bytes with four signed bytes to each lane.

#include <arm_neon.h>

#include "kernels/cpu/dot_blocks/panels.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kRegisters = 4;  // of sixteen outputs

// Weights are read as w - 128, so 128 - zero of them are missing from every product.
template <std::size_t kRows>
void Tile(const DotBlocksArgs& a, std::size_t i) {
  float32x4_t y[kRows][kRegisters];
  for (auto& row : y) {
    for (float32x4_t& part : row) part = vdupq_n_f32(0);
  }
  const std::int8_t* x = a.x.q + i * a.x.q_stride;
  const float* x_scale = a.x.scale + i * a.x.n_blocks;
  const std::int32_t* x_sums = a.x.half_sums + 2 * i * a.x.n_blocks;
  for (std::size_t g = 0; g < a.k / a.group; ++g) {
    const auto sum_of_x = [&](std::size_t r) {
      const std::int32_t* sums = x_sums + 2 * r * a.x.n_blocks;
      return a.group == 16 ? sums[g] : sums[2 * g] + sums[2 * g + 1];
    };
    int32x4_t sum[kRows][kRegisters];
    for (std::size_t r = 0; r < kRows; ++r) {
      for (int32x4_t& s : sum[r]) s = vdupq_n_s32((128 - a.zero) * sum_of_x(r));
    }
    const std::uint8_t* w = a.w->q + g * a.group * kBlockPanelOutputs;
    for (std::size_t t = 0; t < a.group; t += 4) {
      int8x16_t weights[kRegisters];
      for (std::size_t v = 0; v < kRegisters; ++v) {
        const uint8x16_t bytes = vld1q_u8(w + t * kBlockPanelOutputs + 16 * v);
        weights[v] = vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(128)));
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t four;
        __builtin_memcpy(&four, x + r * a.x.q_stride + g * a.group + t, sizeof(four));
        const int8x16_t input = vreinterpretq_s8_s32(vdupq_n_s32(four));
        for (std::size_t v = 0; v < kRegisters; ++v) {
          sum[r][v] = AddProducts(sum[r][v], weights[v], input);
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const float s = x_scale[r * a.x.n_blocks + g * a.group / kInputBlock];
      const float offset = s * static_cast<float>(sum_of_x(r));
      for (std::size_t v = 0; v < kRegisters; ++v) {
        const std::size_t at = g * kBlockPanelOutputs + 4 * v;
        float32x4_t& to = y[r][v];
        const float32x4_t scale = vmulq_n_f32(vld1q_f32(a.w->scale + at), s);
        to = vfmaq_f32(to, vcvtq_f32_s32(sum[r][v]), scale);
        if (a.has_min) to = vfmaq_f32(to, vld1q_f32(a.w->min + at), vdupq_n_f32(offset));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float row[kBlockPanelOutputs];
    for (std::size_t v = 0; v < kRegisters; ++v) vst1q_f32(row + 4 * v, y[r][v]);
    for (std::size_t j = 0; j < a.n; ++j) a.y[(i + r) * a.y_stride + j] = row[j];
  }
}

void DotBlocks(const DotBlocksArgs& a) {
  ForPanels(a, [](const DotBlocksArgs& part) {
    std::size_t i = 0;
    for (; i + 4 <= part.m; i += 4) Tile<4>(part, i);
    for (; i < part.m; ++i) Tile<1>(part, i);
  });
}

}  // namespace
}  // namespace lattice::kernels
