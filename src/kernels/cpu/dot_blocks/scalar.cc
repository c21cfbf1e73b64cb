#include "kernels/cpu/dot_blocks/panels.inl"

namespace lattice::kernels {
namespace {

void Output(const DotBlocksArgs& a, std::size_t i, std::size_t j) {
  float y = 0;
  const std::int8_t* x = a.x.q + i * a.x.q_stride;
  for (std::size_t g = 0; g < a.k / a.group; ++g) {
    std::int32_t sum = 0, sum_of_x = 0;
    for (std::size_t t = g * a.group; t < (g + 1) * a.group; ++t) {
      const std::int32_t w = a.w->q[(t / 4 * kBlockPanelOutputs + j) * 4 + t % 4];
      sum += x[t] * (w - a.zero);
      sum_of_x += x[t];
    }
    const float s = a.x.scale[i * a.x.n_blocks + g * a.group / kInputBlock];
    const std::size_t at = g * kBlockPanelOutputs + j;
    y = __builtin_fmaf(static_cast<float>(sum), a.w->scale[at] * s, y);
    if (a.has_min) y = __builtin_fmaf(a.w->min[at], s * static_cast<float>(sum_of_x), y);
  }
  a.y[i * a.y_stride + j] = y;
}

}  // namespace

void DotBlocksScalar(const DotBlocksArgs& a) {
  ForPanels(a, [](const DotBlocksArgs& part) {
    for (std::size_t i = 0; i < part.m; ++i) {
      for (std::size_t j = 0; j < part.n; ++j) Output(part, i, j);
    }
  });
}

}  // namespace lattice::kernels
