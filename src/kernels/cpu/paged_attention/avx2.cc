#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "kernels/cpu/simd/half_avx2.inl"

namespace lattice::kernels {
namespace {
constexpr std::size_t kTileVecs = 1;
}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/paged_attention/body.inl"

namespace lattice::kernels {

const PagedAttentionKernels kPagedAttentionAvx2 = {StoreKeyValue, ScratchFloats, Segment,
                                                   Clear,         Merge,         Finish};

}  // namespace lattice::kernels
