#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

using Rows = const std::byte* const*;
using Reg = __m512i;
using Floats = __m512;

inline Reg And(Reg a, Reg b) { return _mm512_and_si512(a, b); }
inline Reg Or(Reg a, Reg b) { return _mm512_or_si512(a, b); }
inline Reg Xor(Reg a, Reg b) { return _mm512_xor_si512(a, b); }
inline Reg ShiftLeft(Reg a, unsigned n) { return _mm512_slli_epi32(a, n); }
inline Reg ShiftRight(Reg a, unsigned n) { return _mm512_srli_epi32(a, n); }
inline Reg ShiftRightSigned(Reg a, unsigned n) { return _mm512_srai_epi32(a, n); }
inline Reg Splat8(int v) { return _mm512_set1_epi8(static_cast<char>(v)); }
inline Reg Splat32(int v) { return _mm512_set1_epi32(v); }
inline Reg LoadTable(const std::uint8_t (&table)[16]) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}
// table[index] of each byte, in each sixteen bytes by themselves.
inline Reg LookUp(Reg table, Reg index) { return _mm512_shuffle_epi8(table, index); }
inline Reg LoadReg(const void* p) { return _mm512_load_si512(p); }
inline void StoreReg(void* p, Reg v) { _mm512_store_si512(p, v); }

inline Floats ToFloats(Reg v) { return _mm512_cvtepi32_ps(v); }
inline Floats Mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats Less(Floats a, float b) { return _mm512_sub_ps(a, _mm512_set1_ps(b)); }
inline Floats Negate(Floats a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
inline void StoreFloats(float* p, Floats v) { _mm512_store_ps(p, v); }
inline Floats LoadHalves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Floats LowerHalves(Reg v) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)); }

inline __m128i Load16(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
// The same sixteen bytes of rows i, 4 + i, 8 + i and 12 + i.
inline Reg LoadFour(Rows rows, std::size_t i, std::size_t at) {
  Reg v = _mm512_castsi128_si512(Load16(rows[i] + at));
  v = _mm512_inserti32x4(v, Load16(rows[4 + i] + at), 1);
  v = _mm512_inserti32x4(v, Load16(rows[8 + i] + at), 2);
  return _mm512_inserti32x4(v, Load16(rows[12 + i] + at), 3);
}
// Sixteen bytes of each row: dword j of row r goes to lane r of t[j].
inline void Load(Rows rows, std::size_t at, Reg (&t)[4]) {
  const Reg a = LoadFour(rows, 0, at), b = LoadFour(rows, 1, at);
  const Reg c = LoadFour(rows, 2, at), d = LoadFour(rows, 3, at);
  const Reg ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
  const Reg cd_low = _mm512_unpacklo_epi32(c, d), cd_high = _mm512_unpackhi_epi32(c, d);
  t[0] = _mm512_unpacklo_epi64(ab_low, cd_low);
  t[1] = _mm512_unpackhi_epi64(ab_low, cd_low);
  t[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
  t[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/unpack_blocks/body.inl"

namespace lattice::kernels {

const UnpackBlocksFns kUnpackBlocksAvx512 = kFunctions;

}  // namespace lattice::kernels
