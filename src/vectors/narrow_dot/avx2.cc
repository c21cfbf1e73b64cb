#include <immintrin.h>

#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

using Vec = __m256;
constexpr std::size_t kWidth = 8;

inline Vec Zero() { return _mm256_setzero_ps(); }
inline Vec Load(const float* p) { return _mm256_loadu_ps(p); }
inline Vec Add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline float FoldLanes(Vec v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline __m128i Load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline Vec WidenF16(const std::uint16_t* p) { return _mm256_cvtph_ps(Load128(p)); }
inline Vec WidenBf16(const std::uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p)), 16));
}
inline Vec LoadBits(const std::uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Vec LowBf16(Vec x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 16));
}
inline Vec HighBf16(Vec x) {
  return _mm256_castsi256_ps(
      _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(static_cast<int>(0xFFFF0000))));
}
inline Vec WidenI8(const std::int8_t* p) {
  const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
}

using Block = __m256i;
using Sums = __m256i;  // 8 i32, or 4 i64 below 2^32
constexpr std::size_t kBlock = 32;

inline Sums NoSums() { return _mm256_setzero_si256(); }
inline Block LoadBlock(const unsigned char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline Sums AddSums(Sums a, Sums b) { return _mm256_add_epi32(a, b); }
inline std::uint32_t Total(Sums s) {
  __m128i v = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(v));
}
// Pairs stay below the i16 limit: 2 * 127 * 127 = 32258.
inline __m256i PairsI8(Block a, Block b) {
  return _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
}
inline Sums StepI8(Sums sums, Block a, Block b) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(PairsI8(a, b), _mm256_set1_epi16(1)));
}
inline Sums StepI4(Sums sums, Block a, Block b) {
  const __m256i low = _mm256_set1_epi8(15), eight = _mm256_set1_epi8(8);
  const auto lower = [&](Block x) { return _mm256_sub_epi8(_mm256_and_si256(x, low), eight); };
  const auto upper = [&](Block x) { return lower(_mm256_srli_epi16(x, 4)); };
  const __m256i pairs = _mm256_add_epi16(PairsI8(lower(a), lower(b)), PairsI8(upper(a), upper(b)));
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
// Bits of a nibble from a table, summed over eight bytes. Source: Mula, Kurz, Lemire 2016, "Faster
// Population Counts Using AVX2 Instructions".
inline Sums StepHamming(Sums sums, Block a, Block b) {
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i bits = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                        1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i x = _mm256_xor_si256(a, b);
  const __m256i count =
      _mm256_add_epi8(_mm256_shuffle_epi8(bits, _mm256_and_si256(x, low)),
                      _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
  return _mm256_add_epi32(sums, _mm256_sad_epu8(count, _mm256_setzero_si256()));
}

#include "vectors/narrow_dot/load_end.inl"
// LoadEnd comes first.
#include "vectors/narrow_dot/body.inl"

}  // namespace

const NarrowDotFns kNarrowDotAvx2 = {DotF16,    DotBf16, PairF16, PairBf16,
                                     DotWideI8, DotI8,   DotI4,   Hamming};

}  // namespace lattice::vectors
