#pragma once

#include <span>

#include "base/cpu_features.h"
#include "transport/rows/variants.h"

namespace lattice::transport {

/// What a Sinkhorn iteration does with rows of n elements (any alignment).
///
///   affine_max      z[j] = h[j] + scale * s[j], rounded once; gives the largest. z may be s.
///   exp_sum         z[j] = e^(z[j] - max); gives the sum, in f64.
///   exp_sum_moment  the same, sums[0] = sum of e^(z[j] - max), sums[1] = sum of that times
///                   (z[j] - max).
///   add_weighted    columns[j] += scale * t[j], t[j] = sum over r of weights[r] e[r * stride + j],
///                   t in f32 by fused multiply-adds, r rising; columns in f64.
///
/// max is at least every z[j]; h[j] may be minus infinity: then e is 0. e is 0 where z[j] - max is
/// below -87.68, and good to 1.5 ulp elsewhere.
/// Order   element j goes into partial sum j mod 16, then halves are added to halves. All rows of
///         the table give the same bits.
/// Errors  none: preconditions only.
struct RowVariant {
  const char* name;
  CpuFeatures needs;
  const RowFns* fns;
};

/// Fastest first; the last row runs anywhere.
std::span<const RowVariant> RowVariants();
const RowFns& SelectRows(CpuFeatures cpu);

}  // namespace lattice::transport
