#include "kernels/cpu/gemm_int8/variants.h"
#include "kernels/cpu/linear/amx.inl"

namespace lattice::kernels {
namespace {

static_assert(kCols == kInt8PanelOutputs);

constexpr std::size_t kLanes = 16;

struct DotInt8 {
  template <int kSum, int kInputs, int kWeights>
  [[gnu::always_inline]] static void Run() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kInputs), "i"(kWeights));
  }
};

// Adds a block's sums, scaled, to the totals; the first block starts them with the bias.
[[gnu::always_inline]] inline void AddBlock(const GemmInt8Args& a, std::size_t block,
                                            const std::int32_t (*sums)[kCols], std::size_t row,
                                            std::size_t n_rows, std::size_t col,
                                            float (*total)[kCols]) {
  const std::size_t n_blocks = Int8Blocks(a.k);
  const std::size_t at = col * n_blocks + block * kCols;
  for (std::size_t v = 0; v < 2; ++v) {
    const __m512 w_sum = _mm512_loadu_ps(a.w_sum + at + v * kLanes);
    const __m512 w_scale = _mm512_loadu_ps(a.w_scale + at + v * kLanes);
    const __m512 bias = _mm512_loadu_ps(a.bias + col + v * kLanes);
    for (std::size_t r = 0; r < n_rows; ++r) {
      const std::size_t x_at = (row + r) * n_blocks + block;
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_load_si512(sums[r] + v * kLanes));
      const __m512 exact = _mm512_fnmadd_ps(_mm512_set1_ps(a.x_zero[x_at]), w_sum, sum);
      const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a.x_scale[x_at]), w_scale);
      float* to = total[r] + v * kLanes;
      _mm512_store_ps(to, _mm512_fmadd_ps(exact, scale, block == 0 ? bias : _mm512_load_ps(to)));
    }
  }
}

// Stores the outputs that exist.
[[gnu::always_inline]] inline void Store(const GemmInt8Args& a, std::size_t row, std::size_t n_rows,
                                         std::size_t col, const float (*total)[kCols]) {
  const std::size_t n = a.n - col < kCols ? a.n - col : kCols;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
  for (std::size_t r = 0; r < n_rows; ++r) {
    const std::size_t i = row + r;
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t j = col + v * kLanes;
      const auto exists = static_cast<__mmask16>(mask >> (v * kLanes));
      __m512 y = _mm512_load_ps(total[r] + v * kLanes);
      if (a.residual != nullptr) {
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exists, a.residual + i * a.residual_stride + j));
      }
      _mm512_mask_storeu_ps(a.y + i * a.y_stride + j, exists, y);
    }
  }
}

}  // namespace

void GemmInt8Amx(const GemmInt8Args& a) {
  alignas(64) float total[kMaxRows][kCols];
  const std::size_t last = Int8Blocks(a.k) - 1;
  RunTiles<DotInt8, std::int32_t>(
      reinterpret_cast<const std::byte*>(a.x), a.m, a.k, kInt8BlockInputs,
      reinterpret_cast<const std::byte*>(a.w), a.n,
      [&](std::size_t block, const std::int32_t(*sums)[kCols], std::size_t skip, std::size_t row,
          std::size_t n_rows, std::size_t col) {
        AddBlock(a, block, sums + skip, row, n_rows, col, total);
        if (block == last) Store(a, row, n_rows, col, total);
      });
}

}  // namespace lattice::kernels
