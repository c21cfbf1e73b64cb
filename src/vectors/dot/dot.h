#pragma once

#include <span>

#include "base/cpu_features.h"
#include "vectors/dot/variants.h"

namespace lattice::vectors {

/// Inner products of f32 vectors of n elements at a and b (any alignment, may be the same).
///
///   dot               sum a[i] b[i]
///   squared_distance  sum (a[i] - b[i])^2
///   dot_and_norm      sums[0] = dot(a, b), sums[1] = dot(b, b)
///   dot_and_norms     sums[0] = dot(a, b), sums[1] = dot(a, a), sums[2] = dot(b, b)
///   cosine            of those sums: in [-1, 1], or NaN where a square is outside [1e-18, 1e18]
///   dot_tile          dots[j * kTileA + i] = dot(a + i * a_stride, b + j * b_stride) for i <
///   kTileA,
///                     j < kTileB: the same bits, with fewer loads
///   divide            x[i] = x[i] / divisor
///
/// Order   element i goes into partial sum i mod 64 by a fused multiply-add, in rising order; the
/// last
///         elements are padded with zeros to 64. The partial sums s are then folded: s[j] += s[j +
///         h] for j < h, h = 32, 16, 8, 4, 2, 1. All rows of the table give the same bits.
/// Error   of a sum: at most (ceil(n / 64) + 7) * 2^-24 times the sum of the terms' magnitudes,
/// plus
///         the roundings of a[i] - b[i].
/// Errors  none. A NaN or an infinity gives a sum that is not finite.
struct DotVariant {
  const char* name;
  CpuFeatures needs;
  const DotFns* fns;
};

/// Fastest first; the last row runs anywhere.
std::span<const DotVariant> DotVariants();

/// The first row that `cpu` can run.
const DotVariant& SelectDot(CpuFeatures cpu);

}  // namespace lattice::vectors
