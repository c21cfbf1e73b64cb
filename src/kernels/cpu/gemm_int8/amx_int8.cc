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

// Scales the sums and stores the outputs that exist.
[[gnu::always_inline]] inline void Finish(const GemmInt8Args& a, const std::int32_t (*sums)[kCols],
                                          std::size_t row, std::size_t n_rows, std::size_t col) {
  const std::size_t n = a.n - col < kCols ? a.n - col : kCols;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
  for (std::size_t v = 0; v < 2; ++v) {
    const std::size_t j = col + v * kLanes;
    const auto exists = static_cast<__mmask16>(mask >> (v * kLanes));
    const __m512i w_sum = _mm512_loadu_si512(a.w_sum + j);
    const __m512 w_scale = _mm512_loadu_ps(a.w_scale + j);
    const __m512 bias = _mm512_loadu_ps(a.bias + j);
    for (std::size_t r = 0; r < n_rows; ++r) {
      const std::size_t i = row + r;
      const __m512i zero = _mm512_mullo_epi32(_mm512_set1_epi32(a.x_zero[i]), w_sum);
      const __m512i sum = _mm512_sub_epi32(_mm512_load_si512(sums[r] + v * kLanes), zero);
      const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a.x_scale[i]), w_scale);
      __m512 y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, bias);
      if (a.residual != nullptr) {
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exists, a.residual + i * a.residual_stride + j));
      }
      _mm512_mask_storeu_ps(a.y + i * a.y_stride + j, exists, y);
    }
  }
}

}  // namespace

void GemmInt8Amx(const GemmInt8Args& a) {
  RunTiles<DotInt8, std::int32_t>(
      reinterpret_cast<const std::byte*>(a.x), a.m, a.k, reinterpret_cast<const std::byte*>(a.w),
      a.n,
      [&a](const std::int32_t(*sums)[kCols], std::size_t skip, std::size_t row, std::size_t n_rows,
           std::size_t col) { Finish(a, sums + skip, row, n_rows, col); });
}

}  // namespace lattice::kernels
