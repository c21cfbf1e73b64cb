#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/half_avx512.inl"

namespace lattice::kernels {
namespace {
constexpr std::size_t kTileVecs = 4;
}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/paged_attention/body.inl"

namespace lattice::kernels {

const PagedAttentionKernels kPagedAttentionAvx512 = {StoreKeyValue, ScratchFloats, Segment,
                                                     Clear,         Merge,         Finish};

}  // namespace lattice::kernels
