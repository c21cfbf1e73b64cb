#pragma once

#include <span>

#include "vectors/dot/dot.h"

namespace lattice::vectors {

/// Compound measures over the kernels' sums. a.size() = b.size() is a precondition. Sums in f32;
/// where they would leave f32's range (very long or very short vectors), sums in f64 instead. Not
/// finite when an input is not.

/// a.b / (|a| |b|), in [-1, 1]; 0 when a vector is zero.
float Cosine(const DotFns& fns, std::span<const float> a, std::span<const float> b);

/// The same from a.a, for one `a` against many: the same bits.
float CosineWithNorm(const DotFns& fns, std::span<const float> a, float a_dot_a,
                     std::span<const float> b);

/// The same from all sums.
float CosineOfSums(std::span<const float> a, std::span<const float> b, float a_dot_b, float a_dot_a,
                   float b_dot_b);

/// |a - b|; infinite when above f32's largest number.
float Euclidean(const DotFns& fns, std::span<const float> a, std::span<const float> b);

/// x / max(|x|, 1e-12) in place. False, and x as it was, when a value is not finite.
bool Normalise(const DotFns& fns, std::span<float> x);

}  // namespace lattice::vectors
