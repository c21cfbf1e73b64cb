#pragma once

#include <cmath>
#include <span>

#include "vectors/dot/dot.h"

namespace lattice::vectors {

/// Compound measures over the kernels' sums. a.size() = b.size() is a precondition. Sums in f32;
/// where they would leave f32's range (very long or very short vectors), sums in f64 instead. Not
/// finite when an input is not.

#include "vectors/dot/cosine.inl"

/// a.b / (|a| |b|), in [-1, 1], by sums in f64; 0 when a vector is zero.
float WideCosine(std::span<const float> a, std::span<const float> b);

// Cosines are inline: of a short pair, calls would be a good part.

inline float CosineOfSums(std::span<const float> a, std::span<const float> b, float a_dot_b,
                          float a_dot_a, float b_dot_b) {
  const float cosine = CosineOfSafeSums(a_dot_b, a_dot_a, b_dot_b);
  return std::isnan(cosine) ? WideCosine(a, b) : cosine;
}

inline float Cosine(const DotFns& fns, std::span<const float> a, std::span<const float> b) {
  const float cosine = fns.cosine(a.data(), b.data(), a.size());
  return std::isnan(cosine) ? WideCosine(a, b) : cosine;
}

/// The same from a.a, for one `a` against many: the same bits.
inline float CosineWithNorm(const DotFns& fns, std::span<const float> a, float a_dot_a,
                            std::span<const float> b) {
  float sums[2];
  fns.dot_and_norm(a.data(), b.data(), a.size(), sums);
  return CosineOfSums(a, b, sums[0], a_dot_a, sums[1]);
}

/// |a - b|; infinite when above f32's largest number.
float Euclidean(const DotFns& fns, std::span<const float> a, std::span<const float> b);

/// x / max(|x|, 1e-12) in place. False, and x as it was, when a value is not finite.
bool Normalise(const DotFns& fns, std::span<float> x);

}  // namespace lattice::vectors
