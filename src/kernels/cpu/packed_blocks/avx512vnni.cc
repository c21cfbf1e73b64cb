#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

using Reg = __m512i;
using Floats = __m512;

constexpr bool kWideIsSigned = false;

inline Reg And(Reg a, Reg b) { return _mm512_and_si512(a, b); }
inline Reg Or(Reg a, Reg b) { return _mm512_or_si512(a, b); }
inline Reg ShiftLeft(Reg a, unsigned n) { return _mm512_slli_epi32(a, n); }
inline Reg ShiftRight(Reg a, unsigned n) { return _mm512_srli_epi32(a, n); }
inline Reg Add32(Reg a, Reg b) { return _mm512_add_epi32(a, b); }
inline Reg Sub32(Reg a, Reg b) { return _mm512_sub_epi32(a, b); }
inline Reg Splat8(int v) { return _mm512_set1_epi8(static_cast<char>(v)); }
inline Reg Splat32(int v) { return _mm512_set1_epi32(v); }
inline Reg LoadTable(const std::uint8_t (&table)[16]) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}
// table[index] of each byte, in each sixteen bytes by themselves.
inline Reg LookUp(Reg table, Reg index) { return _mm512_shuffle_epi8(table, index); }
inline Reg LoadReg(const std::byte* p) { return _mm512_load_si512(p); }
inline void StoreReg(std::uint8_t* p, Reg v) { _mm512_store_si512(p, v); }
inline __m128i Load16(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline Reg LoadBytes(const std::byte* p) { return _mm512_cvtepu8_epi32(Load16(p)); }
inline Reg LoadSignedBytes(const std::byte* p) { return _mm512_cvtepi8_epi32(Load16(p)); }
template <bool kWide>
inline Reg AddProducts(Reg sum, Reg w, std::int32_t x) {
  return _mm512_dpbusd_epi32(sum, w, _mm512_set1_epi32(x));
}

inline Floats ZeroFloats() { return _mm512_setzero_ps(); }
inline Floats SplatFloats(float v) { return _mm512_set1_ps(v); }
inline Floats ToFloats(Reg v) { return _mm512_cvtepi32_ps(v); }
inline Floats AsFloats(Reg v) { return _mm512_castsi512_ps(v); }
inline Floats Mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats MulAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats Negate(Floats a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
inline Floats LoadHalves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
}
inline void StoreFloats(float* p, Floats v) { _mm512_store_ps(p, v); }
inline void StoreFirst(float* p, std::size_t n, Floats v) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), v);
}
inline __attribute__((always_inline)) void Prefetch(const std::byte* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/packed_blocks/body.inl"

namespace lattice::kernels {

const PackedBlocksFns kPackedBlocksAvx512Vnni = kFunctions;

}  // namespace lattice::kernels
