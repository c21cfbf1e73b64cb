#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/dot_f32/variants.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

constexpr int kXRows = 1, kWRows = 1;

template <FloatRow kKind>
inline Vec LoadRow(const std::byte* p) {
  return Map([p](std::size_t i) {
    if constexpr (kKind == FloatRow::kF32) {
      float v;
      __builtin_memcpy(&v, p + 4 * i, sizeof(v));
      return v;
    }
    std::uint16_t bits;
    __builtin_memcpy(&bits, p + 2 * i, sizeof(bits));
    return kKind == FloatRow::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
  });
}

inline void PrefetchRow(const std::byte*) {}

template <int kN>
inline void StoreSums(const Vec (&sum)[kN], float* y) {
  for (int c = 0; c < kN; ++c) y[c] = ReduceAdd(sum[c]);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/dot_f32/body.inl"

namespace lattice::kernels {

void DotF32Scalar(const DotF32Args& args) { DotF32(args); }
void WidenRowScalar(FloatRow kind, const std::byte* row, std::size_t k, float* out) {
  WidenRow(kind, row, k, out);
}

}  // namespace lattice::kernels
