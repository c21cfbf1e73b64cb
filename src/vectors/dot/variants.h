#pragma once

#include <cstddef>

namespace lattice::vectors {

/// Vectors of a and of b that dot_tile takes.
inline constexpr std::size_t kTileA = 4, kTileB = 2;

/// The functions of one instruction set; dot.h has their contract.
struct DotFns {
  float (*dot)(const float* a, const float* b, std::size_t n);
  float (*squared_distance)(const float* a, const float* b, std::size_t n);
  void (*dot_and_norm)(const float* a, const float* b, std::size_t n, float* sums);
  void (*dot_and_norms)(const float* a, const float* b, std::size_t n, float* sums);
  float (*cosine)(const float* a, const float* b, std::size_t n);
  void (*dot_tile)(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride,
                   std::size_t n, float* dots);
  void (*divide)(float* x, float divisor, std::size_t n);
};

extern const DotFns kDotScalar;
extern const DotFns kDotAvx2;
extern const DotFns kDotAvx512;
extern const DotFns kDotNeon;

}  // namespace lattice::vectors
