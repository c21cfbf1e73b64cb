#pragma once

// Powers of e on Vec. Included after a vec_*.inl.

namespace lattice::kernels {
namespace {

// e^x = (1 + excess) * 2^n.
struct ExpParts {
  Vec excess;   // In [-0.3, 0.42]. The caller adds the 1 where it costs no further rounding.
  Vec shifted;  // 1.5 * 2^23 + kBias + n: the low bits are the integer n + kBias.
};

// e^(x - rest) for |x| below 2^16 and a tiny rest: an argument of more than 24 bits. The polynomial
// is minimax of degree 6 with the first two coefficients 1: 3.3e-9 relative for |r| <= ln 2 / 2.
template <int kBias>
inline ExpParts ExpOfPair(Vec x, Vec rest) {
  const Vec magic = Set1(12582912.0f + static_cast<float>(kBias));
  const Vec shifted = Fma(x, Set1(0x1.715476p+0f), magic);  // log2(e)
  const Vec n = Sub(shifted, magic);
  // ln 2 as two floats.
  Vec r = NegFma(n, Set1(0x1.62e43p-1f), x);
  r = NegFma(n, Set1(-0x1.05c61p-29f), r);
  r = Sub(r, rest);
  Vec p = Set1(0x1.6a4002p-10f);
  p = Fma(p, r, Set1(0x1.1239ecp-7f));
  p = Fma(p, r, Set1(0x1.5558bep-5f));
  p = Fma(p, r, Set1(0x1.555492p-3f));
  p = Fma(p, r, Set1(0x1.fffffcp-2f));
  p = Fma(p, r, Set1(1.0f));
  return {Mul(p, r), shifted};
}

// 2^(n + kBias - 127), for n + kBias in 0..254; zero when that sum is 0.
inline Vec PowerOfTwo(ExpParts e) { return ShiftBitsLeft<23>(e.shifted); }

// e^x for x <= 0; zero below ln(2^-126.5), where a float would lose digits.
inline Vec ExpOfNegative(Vec x) {
  const ExpParts e = ExpOfPair<127>(Max(Set1(-88.0f), x), Set1(0.0f));
  const Vec scale = PowerOfTwo(e);
  return Fma(scale, e.excess, scale);
}

// 2^x for x <= 0, or -infinity; zero below -126.5. A minimax polynomial of degree 6, 3.0e-9
// relative.
inline Vec Exp2OfNegative(Vec x) {
  const Vec magic = Set1(12582912.0f + 127.0f);
  x = Max(Set1(-127.0f), x);  // A NaN passes as the second operand.
  const Vec shifted = Add(x, magic);
  const Vec r = Sub(x, Sub(shifted, magic));
  Vec p = Set1(0x1.417284p-13f);
  p = Fma(p, r, Set1(0x1.5f0976p-10f));
  p = Fma(p, r, Set1(0x1.3b2ddap-7f));
  p = Fma(p, r, Set1(0x1.c6af7ap-5f));
  p = Fma(p, r, Set1(0x1.ebfbdcp-3f));
  p = Fma(p, r, Set1(0x1.62e43p-1f));
  const Vec scale = ShiftBitsLeft<23>(shifted);
  return Fma(scale, Mul(p, r), scale);
}

}  // namespace
}  // namespace lattice::kernels
