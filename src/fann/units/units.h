#pragma once

#include <span>

#include "base/cpu_features.h"
#include "fann/units/variants.h"

namespace lattice::fann {

/// What layers and optimisers do with rows of n elements (any alignment). In all of them the output
/// may be an input.
///
///   activate        y = f(z). GELU is its form with tanh, SiLU is z * sigmoid(z).
///   activate_back   d *= f'(z); y = f(z).
///   softmax         y = e^(z - max) / sum; max_and_sum gets both.
///   softmax_back    d = y * (d - sum of d y), y a softmax.
///   normalise       unit = (z - mean) / sqrt(variance + epsilon); gives the factor.
///   affine          y = x * gain + shift
///   normalise_back  d, the gradient of gain * unit + shift, becomes that of z.
///   multiply        y *= x
///   column_sums     out[j] = sum over r of x[r * stride + j], r rising; column_dots: of x * y.
///   transpose       out[j * out_stride + i] = x[i * stride + j]
///   poison          0, or NaN when some element is not finite.
///   sum_squares     element i goes into partial sum i mod 16, then halves are added to halves.
///   sgd, momentum, adam, rmsprop  with g' = scale * g + l2 * p:
///     sgd       p = keep * p - rate * g'
///     momentum  first = beta1 * first + g'; p = keep * p - rate * first
///     adam      first = beta1 * first + (1 - beta1) g', second = beta2 * second + (1 - beta2)
///     g'^2,
///               p = keep * p - rate * first / (sqrt(second) * inverse_root + epsilon)
///     rmsprop   second as adam's; p = keep * p - rate * g' / (sqrt(second) + epsilon)
///
/// All rows of the table give the same bits. Errors: none, preconditions only.
///
/// Source  Kingma and Ba 2015, "Adam"; Loshchilov and Hutter 2019, "Decoupled weight decay
/// regularization"; Ba et al. 2016, "Layer normalization"; Hendrycks and Gimpel 2016, "GELUs".
struct UnitVariant {
  const char* name;
  CpuFeatures needs;
  const UnitFns* fns;
};

/// Fastest first; the last row runs anywhere.
std::span<const UnitVariant> UnitVariants();
const UnitFns& SelectUnits(CpuFeatures cpu);

}  // namespace lattice::fann
