#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/simd/half_scalar.inl"

namespace lattice::kernels {
namespace {
constexpr std::size_t kTileVecs = 1;
}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/paged_attention/body.inl"

namespace lattice::kernels {

const PagedAttentionKernels kPagedAttentionScalar = {StoreKeyValue, ScratchFloats, Segment,
                                                     Clear,         Merge,         Finish};

}  // namespace lattice::kernels
