#pragma once

#include <cstddef>
#include <cstring>

namespace lattice {

/// Four f32 side by side, in the compilers' own portable form: what one register holds on every
/// machine, so that sums have one order everywhere.
using F4 = float __attribute__((vector_size(16)));

inline F4 Load4(const float* from) {
  F4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline F4 Clamp4(F4 v, float least, float most) {
  const F4 low = {least, least, least, least}, high = {most, most, most, most};
  v = v > low ? v : low;
  return v < high ? v : high;
}

/// To the nearest integer, ties to even. |v| < 2^22.
inline F4 Round4(F4 v) {
  constexpr float kMagic = 0x1.8p23f;
  return v + kMagic - kMagic;
}

inline float Total(F4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

}  // namespace lattice
