#include "kernels/cpu/gemm_int8/variants.h"
#include "kernels/cpu/linear/amx.inl"

namespace lattice::kernels {
namespace {

static_assert(kCols == kInt8PanelOutputs);

constexpr std::size_t kLanes = 16;
constexpr std::size_t kGroup = 4;

constexpr std::size_t kMostInputs = 32768;  // of a sum of weights whose parts have 16 bits

// What is the same for all rows of sixteen outputs.
struct Outputs {
  __m512i minus_w_sum;  // in pairs of 16 bits: the lowest seven bits, and the others
  __m512 w_scale, bias;
  const std::int8_t* w;  // their first four bytes
  std::size_t first;
  __mmask16 exists;
};

[[gnu::always_inline]] inline Outputs OutputsAt(const GemmInt8Args& a, std::size_t panel,
                                                std::size_t v) {
  const std::size_t j = panel + v * kLanes;
  const std::size_t n = a.n <= j ? 0 : (a.n - j < kLanes ? a.n - j : kLanes);
  const __m512i minus = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_loadu_si512(a.w_sum + j));
  const __m512i low = _mm512_and_si512(minus, _mm512_set1_epi32(127));
  return {_mm512_or_si512(low, _mm512_slli_epi32(_mm512_srai_epi32(minus, 7), 16)),
          _mm512_loadu_ps(a.w_scale + j),
          _mm512_loadu_ps(a.bias + j),
          a.w + panel * a.k + v * kLanes * kGroup,
          j,
          static_cast<__mmask16>((1u << n) - 1u)};
}

// Scales the sums of a row and stores the outputs that exist.
[[gnu::always_inline]] inline void FinishRow(const GemmInt8Args& a, const Outputs& outputs,
                                             const std::int32_t* sums, std::size_t row) {
  const Int8Row& x = a.x_row[row];
  // minus_w_sum * zero, added to the sums.
  const __m512i zero = _mm512_set1_epi32(x.zero | x.zero << 23);
  const __m512i sum = _mm512_dpwssd_epi32(_mm512_load_si512(sums), outputs.minus_w_sum, zero);
  // One of four bytes is the outlier's weight.
  const __m512i four = _mm512_load_si512(outputs.w + x.outlier_at / kGroup * kPanelStepBytes);
  const __m512i place = _mm512_set1_epi32(1 << (8 * (x.outlier_at % kGroup)));
  const __m512i weight = _mm512_dpbusd_epi32(_mm512_setzero_si512(), place, four);
  __m512 y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                             _mm512_mul_ps(_mm512_set1_ps(x.scale), outputs.w_scale), outputs.bias);
  y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(weight),
                      _mm512_mul_ps(_mm512_set1_ps(x.outlier), outputs.w_scale), y);
  if (a.residual != nullptr) {
    const float* residual = a.residual + row * a.residual_stride + outputs.first;
    y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(outputs.exists, residual));
  }
  _mm512_mask_storeu_ps(a.y + row * a.y_stride + outputs.first, outputs.exists, y);
}

[[gnu::always_inline]] inline void Finish(const GemmInt8Args& a, const std::int32_t (*sums)[kCols],
                                          std::size_t row, std::size_t n_rows, std::size_t col) {
  const Outputs first = OutputsAt(a, col, 0), second = OutputsAt(a, col, 1);
  for (std::size_t r = 0; r < n_rows; ++r) {
    FinishRow(a, first, sums[r], row + r);
    FinishRow(a, second, sums[r] + kLanes, row + r);
  }
}

}  // namespace

void GemmInt8Amx(const GemmInt8Args& a) {
  if (a.k > kMostInputs) return GemmInt8Avx512Vnni(a);  // The same bits.
  RunTiles<DotInt8, std::int32_t>(
      reinterpret_cast<const std::byte*>(a.x), a.m, a.k, reinterpret_cast<const std::byte*>(a.w),
      a.n,
      [&a](const std::int32_t(*sums)[kCols], std::size_t skip, std::size_t row, std::size_t n_rows,
           std::size_t col) { Finish(a, sums + skip, row, n_rows, col); });
}

}  // namespace lattice::kernels
