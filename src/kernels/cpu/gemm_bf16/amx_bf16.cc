#include "kernels/cpu/gemm_bf16/variants.h"
#include "kernels/cpu/linear/amx.inl"

namespace lattice::kernels {
namespace {

static_assert(kCols == kBf16PanelOutputs);

constexpr std::size_t kLanes = 16;

// Adds what follows the products and stores the outputs that exist.
[[gnu::always_inline]] inline void Finish(const GemmBf16Args& a, const float (*sums)[kCols],
                                          std::size_t row, std::size_t n_rows, std::size_t col) {
  const std::size_t n = a.n - col < kCols ? a.n - col : kCols;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
  for (std::size_t v = 0; v < 2; ++v) {
    const std::size_t j = col + v * kLanes;
    const auto exists = static_cast<__mmask16>(mask >> (v * kLanes));
    const __m512 bias = _mm512_loadu_ps(a.bias + j);
    for (std::size_t r = 0; r < n_rows; ++r) {
      const std::size_t i = row + r;
      __m512 y = _mm512_add_ps(_mm512_load_ps(sums[r] + v * kLanes), bias);
      if (a.residual != nullptr) {
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exists, a.residual + i * a.residual_stride + j));
      }
      _mm512_mask_storeu_ps(a.y + i * a.y_stride + j, exists, y);
    }
  }
}

}  // namespace

void GemmBf16Amx(const GemmBf16Args& a) {
  RunTiles<DotBf16, float>(
      reinterpret_cast<const std::byte*>(a.x), a.m, a.k * sizeof(std::uint16_t),
      reinterpret_cast<const std::byte*>(a.w), a.n,
      [&a](const float(*sums)[kCols], std::size_t skip, std::size_t row, std::size_t n_rows,
           std::size_t col) { Finish(a, sums + skip, row, n_rows, col); });
}

}  // namespace lattice::kernels
