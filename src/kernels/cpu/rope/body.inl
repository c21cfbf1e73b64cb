// Included by each instruction set's file, after its Vec.

#include "kernels/cpu/rope/variants.h"

namespace lattice::kernels {
namespace {

struct SinCos {
  Vec sin, cos;
};

// pi / 2 in three floats takes n quarter turns away; minimax polynomials for what is left, 2e-10.
inline SinCos SinCosOf(Vec angle) {
  const Vec magic = Set1(12582912.0f), one = Set1(1.0f);
  const Vec shifted = Fma(angle, Set1(0x1.45f306p-1f), magic);  // The low bits are n.
  const Vec n = Sub(shifted, magic);
  Vec r = NegFma(n, Set1(0x1.921fb6p+0f), angle);
  r = NegFma(n, Set1(-0x1.777a5cp-25f), r);
  r = NegFma(n, Set1(-0x1.ee59dap-50f), r);
  const Vec square = Mul(r, r);
  Vec s = Set1(0x1.7c243p-19f);
  s = Fma(s, square, Set1(-0x1.a05944p-13f));
  s = Fma(s, square, Set1(0x1.111174p-7f));
  s = Fma(s, square, Set1(-0x1.555556p-3f));
  s = Fma(Mul(s, square), r, r);
  Vec c = Set1(0x1.99e61ep-16f);
  c = Fma(c, square, Set1(-0x1.6c0c24p-10f));
  c = Fma(c, square, Set1(0x1.55554ap-5f));
  c = Fma(c, square, Set1(-0.5f));
  c = Fma(c, square, one);
  // An odd n swaps them; bit 1 of n is the sign of the sine, bit 1 of n + 1 that of the cosine.
  const auto odd = Less(CopySign(one, ShiftBitsLeft<31>(shifted)), Set1(0.0f));
  const Vec sin_sign = CopySign(one, ShiftBitsLeft<30>(shifted));
  const Vec cos_sign = CopySign(one, ShiftBitsLeft<30>(Add(shifted, one)));
  return {Mul(Select(odd, c, s), sin_sign), Mul(Select(odd, s, c), cos_sign)};
}

void RotateRow(const RopeArgs& args, float* row, float position) {
  const Vec scale = Set1(args.scale), p = Set1(position);
  std::size_t i = 0;
  for (; i + kLanes <= args.half; i += kLanes) {
    const SinCos turn = SinCosOf(Mul(p, Load(args.inv_freq + i)));
    const Vec s = Mul(turn.sin, scale), c = Mul(turn.cos, scale);
    for (std::size_t h = 0; h < args.n_heads; ++h) {
      float* head = row + h * args.head_dim + i;
      const Vec a = Load(head), b = Load(head + args.half);
      Store(head, NegFma(b, s, Mul(a, c)));
      Store(head + args.half, Fma(a, s, Mul(b, c)));
    }
  }
  if (const std::size_t left = args.half - i; left > 0) {
    const SinCos turn = SinCosOf(Mul(p, LoadPart(args.inv_freq + i, left, 0.0f)));
    const Vec s = Mul(turn.sin, scale), c = Mul(turn.cos, scale);
    for (std::size_t h = 0; h < args.n_heads; ++h) {
      float* head = row + h * args.head_dim + i;
      const Vec a = LoadPart(head, left, 0.0f), b = LoadPart(head + args.half, left, 0.0f);
      StorePart(head, NegFma(b, s, Mul(a, c)), left);
      StorePart(head + args.half, Fma(a, s, Mul(b, c)), left);
    }
  }
}

void RotateRows(const RopeArgs& args) {
  for (std::size_t r = 0; r < args.n_rows; ++r) {
    RotateRow(args, args.x + r * args.stride, static_cast<float>(args.positions[r]));
  }
}

}  // namespace
}  // namespace lattice::kernels
