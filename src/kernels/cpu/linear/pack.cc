#include "kernels/cpu/linear/pack.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/gemm_f32/gemm_f32.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Inputs that are transposed at a time: 32 rows of 64 floats are 8 KiB and stay in L1.
constexpr std::size_t kChunk = 64;

void PackF32Panel(const StackedRows& weights, std::size_t panel, float* out) {
  const std::size_t first = panel * kF32PanelOutputs;
  const std::size_t n = std::min(kF32PanelOutputs, weights.outputs() - first);
  std::array<std::array<float, kChunk>, kF32PanelOutputs> rows{};
  for (std::size_t begin = 0; begin < weights.inputs(); begin += kChunk) {
    const std::size_t size = std::min(kChunk, weights.inputs() - begin);
    for (std::size_t j = 0; j < n; ++j) {
      weights.Read(first + j, begin, std::span(rows[j]).first(size));
    }
    for (std::size_t t = 0; t < size; ++t) {
      for (std::size_t j = 0; j < kF32PanelOutputs; ++j) *out++ = rows[j][t];
    }
  }
}

}  // namespace

void PackF32(ThreadPool& pool, const StackedRows& weights, std::span<float> panels) {
  const std::size_t n_panels = (weights.outputs() + kF32PanelOutputs - 1) / kF32PanelOutputs;
  const std::size_t panel_size = weights.inputs() * kF32PanelOutputs;
  LATTICE_CHECK(panels.size() == n_panels * panel_size);
  pool.ParallelFor(n_panels, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      PackF32Panel(weights, p, panels.data() + p * panel_size);
    }
  });
}

}  // namespace lattice::kernels
