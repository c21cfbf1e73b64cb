#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/attention/bf16_avx512.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileVecs = 4;  // With six queries: 24 of 32 registers.

// Two products a slot; the instruction rounds their sum once a step, and takes subnormals for zero.
inline Vec AddProducts(Vec x, Vec y, Vec sum) {
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(x), (__m512bh)_mm512_castps_si512(y));
}

inline void StoreSlots(float* to, Vec values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(values));
}
}  // namespace
}  // namespace lattice::kernels

// The arithmetic comes first.
#include "kernels/cpu/attention/body.inl"

namespace lattice::kernels {

const AttentionKernels kAttentionAvx512Bf16 = {kPerSlot,      0,           nullptr,  nullptr,
                                               KeyFloats,     ValueFloats, PackKeys, PackValues,
                                               ScratchFloats, Attend};

}  // namespace lattice::kernels
