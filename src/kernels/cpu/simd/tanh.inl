#pragma once

// Included after a vec_*.inl.

#include "kernels/cpu/simd/exp.inl"

namespace lattice::kernels {
namespace {

// Minimax in x^2 near zero, 4.6e-9 relative; 1 - 2 e / (1 + e) with e = e^(-2 |x|) elsewhere.
struct Tanh {
  Vec operator()(Vec x) const {
    const Vec a = Min(Set1(15.0f), Abs(x)), one = Set1(1.0f);
    const Vec e = ExpOfNegative(Mul(a, Set1(-2.0f)));
    const Vec large = Sub(one, Div(Add(e, e), Add(one, e)));
    const Vec s = Mul(a, a);
    Vec p = Set1(-0x1.750ce6p-8f);
    p = Fma(p, s, Set1(0x1.51f8cep-6f));
    p = Fma(p, s, Set1(-0x1.b835a4p-5f));
    p = Fma(p, s, Set1(0x1.1106f6p-3f));
    p = Fma(p, s, Set1(-0x1.555532p-2f));
    const Vec small = Fma(Mul(p, s), a, a);
    return CopySign(Select(Less(a, Set1(0.625f)), small, large), x);
  }
};

}  // namespace
}  // namespace lattice::kernels
