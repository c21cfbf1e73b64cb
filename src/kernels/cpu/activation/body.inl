// Included by each instruction set's file, after its Vec.
//
// Each smooth activation is max(x, 0) - |x| * q, with q the tail of a distribution function at
// -|x|: nothing cancels on either side, so results are good to an ulp or two down to the smallest
// floats. q = e^-something * ratio; the power of two in it is applied 2^64 too large, which the
// last step takes back: neither |x| * 2^n nor q leaves the normal range before the result does.

#include "kernels/cpu/activation/tail_table.inl"
#include "kernels/cpu/simd/exp.inl"
#include "kernels/cpu/simd/tanh.inl"

namespace lattice::kernels {
namespace {

constexpr int kTailBias = 127 + 64;

inline Vec ReluMinusTail(Vec x, Vec size, ExpParts e, Vec ratio) {
  const Vec tail = Mul(Mul(size, PowerOfTwo(e)), Fma(ratio, e.excess, ratio));
  return NegFma(tail, Set1(0x1p-64f), Max(x, Set1(0.0f)));
}

// x * Phi(x) with the normal distribution function Phi.
struct GeluErf {
  Vec operator()(Vec x) const {
    const Vec a = Min(Set1(14.9375f), Abs(x));  // A NaN passes as the second operand.
    const Vec half = Mul(a, Set1(-0.5f));
    const Vec square = Mul(a, half);
    const ExpParts e = ExpOfPair<kTailBias>(square, NegFma(a, half, square));
    const Index i = Bits21To24(Add(a, Set1(1.0f)));
    const Vec d = Sub(a, LookUp(kTailTable[kTailCentre], i));
    Vec s = LookUp(kTailTable[6], i);
    s = Fma(s, d, LookUp(kTailTable[5], i));
    s = Fma(s, d, LookUp(kTailTable[4], i));
    s = Fma(s, d, LookUp(kTailTable[3], i));
    s = Fma(s, d, LookUp(kTailTable[2], i));
    s = Fma(s, d, LookUp(kTailTable[1], i));
    s = Fma(s, d, LookUp(kTailTable[0], i));
    return ReluMinusTail(x, a, e, s);
  }
};

// The same within 4.6e-5, for results that are rounded to 8 bits next: an odd minimax polynomial
// for Phi(x) - 1/2, which ends at 1/2 where x is cut.
struct RoughGeluErf {
  Vec operator()(Vec x) const {
    const Vec y = Max(Set1(-4.25f), x), a = Min(Set1(4.25f), y);  // A NaN passes.
    const Vec s = Mul(a, a);
    Vec p = Set1(0x1.90744cp-35f);
    p = Fma(p, s, Set1(-0x1.35ec58p-28f));
    p = Fma(p, s, Set1(0x1.a96c98p-23f));
    p = Fma(p, s, Set1(-0x1.58699ap-18f));
    p = Fma(p, s, Set1(0x1.72332ap-14f));
    p = Fma(p, s, Set1(-0x1.1a66ecp-10f));
    p = Fma(p, s, Set1(0x1.3e3776p-7f));
    p = Fma(p, s, Set1(-0x1.0f0db0p-4f));
    p = Fma(p, s, Set1(0x1.98615ap-2f));
    return Mul(y, Fma(p, a, Set1(0.5f)));
  }
};

// x * s(y) with the logistic function s and y of the sign of x: s(-b) = e^-b / (1 + e^-b).
inline Vec TimesLogistic(Vec x, Vec size, ExpParts e) {
  const Vec one = Set1(1.0f);
  const Vec scale = Mul(PowerOfTwo(e), Set1(0x1p-64f));
  return ReluMinusTail(x, size, e, Div(one, Add(one, Fma(scale, e.excess, scale))));
}

struct Silu {
  Vec operator()(Vec x) const {
    const Vec a = Min(Set1(110.0f), Abs(x));
    const Vec zero = Set1(0.0f);
    return TimesLogistic(x, a, ExpOfPair<kTailBias>(Sub(zero, a), zero));
  }
};

// 0.5 x (1 + tanh(u)) = x * s(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  Vec operator()(Vec x) const {
    const Vec a = Min(Set1(11.0f), Abs(x));
    const Vec inner = Fma(Mul(a, a), Set1(-0.0713548162726f), Set1(-1.59576912161f));
    const Vec y = Mul(a, inner);
    return TimesLogistic(x, a, ExpOfPair<kTailBias>(y, NegFma(a, inner, y)));
  }
};

// NaN stays: the second operand of Max.
struct Relu {
  Vec operator()(Vec x) const { return Max(Set1(0.0f), x); }
};

template <typename F>
void MapRow(float* x, std::size_t n) {
  const F f;
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {  // Two at a time share loaded constants.
    const Vec first = f(Load(x + i)), second = f(Load(x + i + kLanes));
    Store(x + i, first);
    Store(x + i + kLanes, second);
  }
  if (i + kLanes <= n) {
    Store(x + i, f(Load(x + i)));
    i += kLanes;
  }
  if (i < n) StorePart(x + i, f(LoadPart(x + i, n - i, 0.0f)), n - i);
}

template <typename F>
void GateRow(const float* a, const float* b, std::size_t n, float* out) {
  const F f;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(out + i, Mul(f(Load(a + i)), Load(b + i)));
  if (i < n) {
    const Vec y = Mul(f(LoadPart(a + i, n - i, 0.0f)), LoadPart(b + i, n - i, 0.0f));
    StorePart(out + i, y, n - i);
  }
}

}  // namespace
}  // namespace lattice::kernels
