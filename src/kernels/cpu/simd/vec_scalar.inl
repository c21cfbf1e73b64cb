// Vec: sixteen f32 lanes, and what the kernels' body.inl files do with them. Every vec_*.inl gives
// the same bits for every function, so a body gives the same bits on every instruction set. This
// one is plain C++ and the definition of the others.
//
// Max and Min follow x86: the second operand when either is NaN, or both are zero.

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 16;

struct Vec {
  float lane[kLanes];
};
struct Mask {
  bool lane[kLanes];
};

template <typename F>
inline Vec Map(F f) {
  Vec r;
  for (std::size_t i = 0; i < kLanes; ++i) r.lane[i] = f(i);
  return r;
}

inline Vec Set1(float x) {
  return Map([x](std::size_t) { return x; });
}
inline Vec Load(const float* p) {
  return Map([p](std::size_t i) { return p[i]; });
}
// Lanes from n on are `fill`.
inline Vec LoadPart(const float* p, std::size_t n, float fill) {
  return Map([=](std::size_t i) { return i < n ? p[i] : fill; });
}
inline void Store(float* p, Vec a) {
  for (std::size_t i = 0; i < kLanes; ++i) p[i] = a.lane[i];
}
inline void StorePart(float* p, Vec a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) p[i] = a.lane[i];
}

inline Vec Add(Vec a, Vec b) {
  return Map([&](std::size_t i) { return a.lane[i] + b.lane[i]; });
}
inline Vec Sub(Vec a, Vec b) {
  return Map([&](std::size_t i) { return a.lane[i] - b.lane[i]; });
}
inline Vec Mul(Vec a, Vec b) {
  return Map([&](std::size_t i) { return a.lane[i] * b.lane[i]; });
}
inline Vec Div(Vec a, Vec b) {
  return Map([&](std::size_t i) { return a.lane[i] / b.lane[i]; });
}
// a * b + c, rounded once.
inline Vec Fma(Vec a, Vec b, Vec c) {
  return Map([&](std::size_t i) { return __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]); });
}
// c - a * b, rounded once.
inline Vec NegFma(Vec a, Vec b, Vec c) {
  return Map([&](std::size_t i) { return __builtin_fmaf(-a.lane[i], b.lane[i], c.lane[i]); });
}
inline Vec Max(Vec a, Vec b) {
  return Map([&](std::size_t i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Vec Min(Vec a, Vec b) {
  return Map([&](std::size_t i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Vec Abs(Vec a) {
  return Map([&](std::size_t i) { return __builtin_fabsf(a.lane[i]); });
}
// |a| with the sign of b.
inline Vec CopySign(Vec a, Vec b) {
  return Map([&](std::size_t i) { return __builtin_copysignf(a.lane[i], b.lane[i]); });
}
inline Mask Less(Vec a, Vec b) {
  Mask m;
  for (std::size_t i = 0; i < kLanes; ++i) m.lane[i] = a.lane[i] < b.lane[i];
  return m;
}
inline Vec Select(Mask m, Vec yes, Vec no) {
  return Map([&](std::size_t i) { return m.lane[i] ? yes.lane[i] : no.lane[i]; });
}
// The bits of each lane shifted left by kBits, read as f32 again.
template <int kBits>
inline Vec ShiftBitsLeft(Vec a) {
  return Map([&](std::size_t i) {
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a.lane[i]) << kBits);
  });
}
// An index into a table of sixteen for each lane.
struct Index {
  std::uint32_t lane[kLanes];
};
inline Index Bits21To24(Vec a) {
  Index r;
  for (std::size_t i = 0; i < kLanes; ++i) {
    r.lane[i] = (__builtin_bit_cast(std::uint32_t, a.lane[i]) >> 21) & 15u;
  }
  return r;
}
inline Vec LookUp(const float (&table)[16], const Index& index) {
  return Map([&](std::size_t i) { return table[index.lane[i]]; });
}

// Halves are added, then halves of the result, and so on: the same tree everywhere.
inline float ReduceAdd(Vec a) {
  for (std::size_t n = kLanes / 2; n > 0; n /= 2) {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] += a.lane[i + n];
  }
  return a.lane[0];
}
inline float ReduceMax(Vec a) {
  for (std::size_t n = kLanes / 2; n > 0; n /= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      a.lane[i] = a.lane[i] > a.lane[i + n] ? a.lane[i] : a.lane[i + n];
    }
  }
  return a.lane[0];
}

inline float Sqrt(float x) { return __builtin_sqrtf(x); }

}  // namespace
}  // namespace lattice::kernels
