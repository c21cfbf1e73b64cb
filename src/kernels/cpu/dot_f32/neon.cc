#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "kernels/cpu/dot_f32/variants.h"

namespace lattice::kernels {
namespace {

// Six sums of four registers.
constexpr int kXRows = 3, kWRows = 2;

template <FloatRow kKind>
inline Vec LoadRow(const std::byte* p) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(p);
  if constexpr (kKind == FloatRow::kF32) {
    return Map([&](int i) { return vreinterpretq_f32_u8(vld1q_u8(bytes + 16 * i)); });
  } else if constexpr (kKind == FloatRow::kF16) {
    return Map([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes + 8 * i))); });
  } else {
    return Map([&](int i) {
      return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(bytes + 8 * i)), 16));
    });
  }
}

inline void PrefetchRow(const std::byte* p) { __builtin_prefetch(p); }

template <int kN>
inline void StoreSums(const Vec (&sum)[kN], float* y) {
  for (int c = 0; c < kN; ++c) y[c] = ReduceAdd(sum[c]);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/dot_f32/body.inl"

namespace lattice::kernels {

void DotF32Neon(const DotF32Args& args) { DotF32(args); }
void WidenRowNeon(FloatRow kind, const std::byte* row, std::size_t k, float* out) {
  WidenRow(kind, row, k, out);
}

}  // namespace lattice::kernels
