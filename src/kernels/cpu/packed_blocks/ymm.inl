// Reg and Floats of 256-bit registers, for a file that comes with AddProducts of __m256i and
// kWideIsSigned.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

struct Reg {
  __m256i lo, hi;  // outputs 0 to 7, and 8 to 15
};
struct Floats {
  __m256 lo, hi;
};

inline Reg And(Reg a, Reg b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline Reg Or(Reg a, Reg b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
inline Reg ShiftLeft(Reg a, unsigned n) {
  const int count = static_cast<int>(n);
  return {_mm256_slli_epi32(a.lo, count), _mm256_slli_epi32(a.hi, count)};
}
inline Reg ShiftRight(Reg a, unsigned n) {
  const int count = static_cast<int>(n);
  return {_mm256_srli_epi32(a.lo, count), _mm256_srli_epi32(a.hi, count)};
}
inline Reg Add32(Reg a, Reg b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline Reg Sub32(Reg a, Reg b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
inline Reg Splat8(int v) {
  const __m256i all = _mm256_set1_epi8(static_cast<char>(v));
  return {all, all};
}
inline Reg Splat32(int v) {
  const __m256i all = _mm256_set1_epi32(v);
  return {all, all};
}
inline Reg LoadTable(const std::uint8_t (&table)[16]) {
  const __m256i both =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {both, both};
}
// table[index] of each byte, in each sixteen bytes by themselves.
inline Reg LookUp(Reg table, Reg index) {
  return {_mm256_shuffle_epi8(table.lo, index.lo), _mm256_shuffle_epi8(table.hi, index.hi)};
}
inline Reg LoadReg(const std::byte* p) {
  const auto* at = reinterpret_cast<const __m256i*>(p);
  return {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
}
inline void StoreReg(std::uint8_t* p, Reg v) {
  auto* at = reinterpret_cast<__m256i*>(p);
  _mm256_store_si256(at, v.lo);
  _mm256_store_si256(at + 1, v.hi);
}
inline __m128i Load16(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline __m128i Load8(const std::byte* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
inline Reg LoadBytes(const std::byte* p) {
  return {_mm256_cvtepu8_epi32(Load8(p)), _mm256_cvtepu8_epi32(Load8(p + 8))};
}
inline Reg LoadSignedBytes(const std::byte* p) {
  return {_mm256_cvtepi8_epi32(Load8(p)), _mm256_cvtepi8_epi32(Load8(p + 8))};
}
template <bool kWide>
inline Reg AddProducts(Reg sum, Reg w, std::int32_t x) {
  const __m256i input = _mm256_set1_epi32(x);
  return {AddProducts<kWide>(sum.lo, w.lo, input), AddProducts<kWide>(sum.hi, w.hi, input)};
}

inline Floats ZeroFloats() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Floats SplatFloats(float v) {
  const __m256 all = _mm256_set1_ps(v);
  return {all, all};
}
inline Floats ToFloats(Reg v) { return {_mm256_cvtepi32_ps(v.lo), _mm256_cvtepi32_ps(v.hi)}; }
inline Floats AsFloats(Reg v) { return {_mm256_castsi256_ps(v.lo), _mm256_castsi256_ps(v.hi)}; }
inline Floats Mul(Floats a, Floats b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline Floats MulAdd(Floats a, Floats b, Floats c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Floats Negate(Floats a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
}
inline Floats LoadHalves(const std::byte* p) {
  return {_mm256_cvtph_ps(Load16(p)), _mm256_cvtph_ps(Load16(p + 16))};
}
inline void StoreFloats(float* p, Floats v) {
  _mm256_store_ps(p, v.lo);
  _mm256_store_ps(p + 8, v.hi);
}
inline void StoreFirst(float* p, std::size_t n, Floats v) {
  alignas(32) float all[16];
  StoreFloats(all, v);
  __builtin_memcpy(p, all, n * sizeof(float));
}
inline __attribute__((always_inline)) void Prefetch(const std::byte* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/packed_blocks/body.inl"
