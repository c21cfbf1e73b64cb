#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "kernels/cpu/dot_f32/variants.h"

namespace lattice::kernels {
namespace {

// Six sums of two registers.
constexpr int kXRows = 2, kWRows = 3;

inline __m256 WidenBf16(__m128i halves) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

template <FloatRow kKind>
inline Vec LoadRow(const std::byte* p) {
  if constexpr (kKind == FloatRow::kF32) return Load(reinterpret_cast<const float*>(p));
  const __m128i lo = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i hi = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16));
  if constexpr (kKind == FloatRow::kF16) return {_mm256_cvtph_ps(lo), _mm256_cvtph_ps(hi)};
  return {WidenBf16(lo), WidenBf16(hi)};
}

inline void PrefetchRow(const std::byte* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
}

template <int kN>
inline void StoreSums(const Vec (&sum)[kN], float* y) {
  for (int c = 0; c < kN; ++c) y[c] = ReduceAdd(sum[c]);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/dot_f32/body.inl"

namespace lattice::kernels {

void DotF32Avx2(const DotF32Args& args) { DotF32(args); }
void WidenRowAvx2(FloatRow kind, const std::byte* row, std::size_t k, float* out) {
  WidenRow(kind, row, k, out);
}

}  // namespace lattice::kernels
