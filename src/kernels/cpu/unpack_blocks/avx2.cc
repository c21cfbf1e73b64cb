#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

using Rows = const std::byte* const*;
struct Reg {
  __m256i lo, hi;  // rows 0 to 7, and 8 to 15
};
struct Floats {
  __m256 lo, hi;
};

inline Reg And(Reg a, Reg b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline Reg Or(Reg a, Reg b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
inline Reg Xor(Reg a, Reg b) {
  return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
}
inline Reg ShiftLeft(Reg a, unsigned n) {
  const __m128i count = _mm_cvtsi32_si128(static_cast<int>(n));
  return {_mm256_sll_epi32(a.lo, count), _mm256_sll_epi32(a.hi, count)};
}
inline Reg ShiftRight(Reg a, unsigned n) {
  const __m128i count = _mm_cvtsi32_si128(static_cast<int>(n));
  return {_mm256_srl_epi32(a.lo, count), _mm256_srl_epi32(a.hi, count)};
}
inline Reg ShiftRightSigned(Reg a, unsigned n) {
  const __m128i count = _mm_cvtsi32_si128(static_cast<int>(n));
  return {_mm256_sra_epi32(a.lo, count), _mm256_sra_epi32(a.hi, count)};
}
inline Reg Splat8(int v) {
  const __m256i all = _mm256_set1_epi8(static_cast<char>(v));
  return {all, all};
}
inline Reg Splat32(int v) { return {_mm256_set1_epi32(v), _mm256_set1_epi32(v)}; }
inline Reg LoadTable(const std::uint8_t (&table)[16]) {
  const __m256i both =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {both, both};
}
// table[index] of each byte, in each sixteen bytes by themselves.
inline Reg LookUp(Reg table, Reg index) {
  return {_mm256_shuffle_epi8(table.lo, index.lo), _mm256_shuffle_epi8(table.hi, index.hi)};
}
inline Reg LoadReg(const void* p) {
  const auto* at = static_cast<const __m256i*>(p);
  return {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
}
inline void StoreReg(void* p, Reg v) {
  auto* at = static_cast<__m256i*>(p);
  _mm256_store_si256(at, v.lo);
  _mm256_store_si256(at + 1, v.hi);
}

inline Floats ToFloats(Reg v) { return {_mm256_cvtepi32_ps(v.lo), _mm256_cvtepi32_ps(v.hi)}; }
inline Floats Mul(Floats a, Floats b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline Floats Less(Floats a, float b) {
  return {_mm256_sub_ps(a.lo, _mm256_set1_ps(b)), _mm256_sub_ps(a.hi, _mm256_set1_ps(b))};
}
inline Floats Negate(Floats a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
}
inline void StoreFloats(float* p, Floats v) {
  _mm256_store_ps(p, v.lo);
  _mm256_store_ps(p + 8, v.hi);
}
inline __m128i Load16(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline Floats LoadHalves(const std::byte* p) {
  return {_mm256_cvtph_ps(Load16(p)), _mm256_cvtph_ps(Load16(p + 16))};
}
inline Floats LowerHalves(Reg v) {
  const __m256i low = _mm256_set1_epi32(0xFFFF);
  const __m256i words =
      _mm256_packus_epi32(_mm256_and_si256(v.lo, low), _mm256_and_si256(v.hi, low));
  const __m256i in_order = _mm256_permute4x64_epi64(words, 0xD8);
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(in_order)),
          _mm256_cvtph_ps(_mm256_extracti128_si256(in_order, 1))};
}

// Sixteen bytes of each of eight rows: dword j of row r goes to lane r of t[j].
inline void LoadEight(Rows rows, std::size_t at, __m256i (&t)[4]) {
  __m256i v[4];
  for (std::size_t i = 0; i < 4; ++i) {
    v[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(Load16(rows[i] + at)),
                                   Load16(rows[4 + i] + at), 1);
  }
  const __m256i ab_low = _mm256_unpacklo_epi32(v[0], v[1]);
  const __m256i ab_high = _mm256_unpackhi_epi32(v[0], v[1]);
  const __m256i cd_low = _mm256_unpacklo_epi32(v[2], v[3]);
  const __m256i cd_high = _mm256_unpackhi_epi32(v[2], v[3]);
  t[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
  t[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
  t[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
  t[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}
inline void Load(Rows rows, std::size_t at, Reg (&t)[4]) {
  __m256i lo[4], hi[4];
  LoadEight(rows, at, lo);
  LoadEight(rows + 8, at, hi);
  for (std::size_t j = 0; j < 4; ++j) t[j] = {lo[j], hi[j]};
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/unpack_blocks/body.inl"

namespace lattice::kernels {

const UnpackBlocksFns kUnpackBlocksAvx2 = kFunctions;

}  // namespace lattice::kernels
