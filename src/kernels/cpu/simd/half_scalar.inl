// Numbers of 16 and 8 bits in memory, to and from Vec. Every half_*.inl gives the same bits as this
// one, and comes after its vec_*.inl.

namespace lattice::kernels {
namespace {

inline float WidenF16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u;
  const std::uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {
    const float size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign == 0 ? size : -size;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return __builtin_bit_cast(float, sign | (wide << 23) | (mantissa << 13));
}

// To nearest even. |x| at most 65504, or a NaN.
inline std::uint16_t NarrowF16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x), sign = (bits >> 16) & 0x8000u;
  const std::uint32_t size = bits & 0x7FFFFFFFu;
  if (size > 0x7F800000u)
    return static_cast<std::uint16_t>(sign | 0x7E00u | ((size >> 13) & 0x3FFu));
  if (size < 0x38800000u) {  // Below 2^-14: steps of 2^-24, which the addition rounds to.
    const float shifted = __builtin_bit_cast(float, size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (__builtin_bit_cast(std::uint32_t, shifted) & 0x7FFu));
  }
  const std::uint32_t rounded = size + 0xFFFu + ((size >> 13) & 1u) - (112u << 23);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

inline Vec LoadF16(const std::uint16_t* p) {
  return Map([p](std::size_t i) { return WidenF16(p[i]); });
}
// Lanes are at most 65504 in size, or NaN.
inline void StoreF16(std::uint16_t* p, Vec a) {
  for (std::size_t i = 0; i < kLanes; ++i) p[i] = NarrowF16(a.lane[i]);
}
inline Vec LoadI8(const std::int8_t* p) {
  return Map([p](std::size_t i) { return static_cast<float>(p[i]); });
}
// Rounds to nearest even. Lanes lie in [-127, 127].
inline void StoreI8(std::int8_t* p, Vec a) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    p[i] = static_cast<std::int8_t>(__builtin_rintf(a.lane[i]));
  }
}

}  // namespace
}  // namespace lattice::kernels
