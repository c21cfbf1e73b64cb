#pragma once

// Included after a vec_*.inl.

#include "kernels/cpu/simd/exp.inl"

namespace lattice::kernels {
namespace {

// 1 / (1 + e^-x): 2 ulp; zero below -88.
inline Vec Sigmoid(Vec x) {
  const Vec zero = Set1(0.0f), one = Set1(1.0f);
  const Vec e = ExpOfNegative(Min(x, Sub(zero, x)));  // A NaN passes as the second operand.
  return Div(Select(Less(x, zero), e, one), Add(one, e));
}

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|). With s = y / (2 + y) <= 1/3, ln(1 + y) = 2 atanh(s): a
// series in s^2 whose first term left out is 1.4e-10.
inline Vec Softplus(Vec x) {
  const Vec zero = Set1(0.0f);
  const Vec y = ExpOfNegative(Min(x, Sub(zero, x)));
  const Vec s = Div(y, Add(Set1(2.0f), y));
  const Vec s2 = Mul(s, s);
  Vec p = Set1(1.0f / 17);
  p = Fma(p, s2, Set1(1.0f / 15));
  p = Fma(p, s2, Set1(1.0f / 13));
  p = Fma(p, s2, Set1(1.0f / 11));
  p = Fma(p, s2, Set1(1.0f / 9));
  p = Fma(p, s2, Set1(1.0f / 7));
  p = Fma(p, s2, Set1(1.0f / 5));
  p = Fma(p, s2, Set1(1.0f / 3));
  const Vec tail = Fma(Mul(p, s2), s, s);
  return Add(Max(zero, x), Add(tail, tail));
}

}  // namespace
}  // namespace lattice::kernels
