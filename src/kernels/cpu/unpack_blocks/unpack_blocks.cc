#include "kernels/cpu/unpack_blocks/unpack_blocks.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

UnpackBlocksFn FunctionOf(const UnpackBlocksFns& fns, Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_0:
      return fns.q4_0;
    case Dtype::kQ4_1:
      return fns.q4_1;
    case Dtype::kQ5_0:
      return fns.q5_0;
    case Dtype::kQ5_1:
      return fns.q5_1;
    case Dtype::kQ8_0:
      return fns.q8_0;
    case Dtype::kQ2K:
      return fns.q2_k;
    case Dtype::kQ3K:
      return fns.q3_k;
    case Dtype::kQ4K:
      return fns.q4_k;
    case Dtype::kQ5K:
      return fns.q5_k;
    case Dtype::kQ6K:
      return fns.q6_k;
    case Dtype::kIq4Nl:
      return fns.iq4_nl;
    case Dtype::kIq4Xs:
      return fns.iq4_xs;
    case Dtype::kMxfp4:
      return fns.mxfp4;
    case Dtype::kKhq4:
      return fns.khq4;
    default:
      return nullptr;
  }
}

constexpr UnpackBlocksFns kNone;
constexpr UnpackBlocksVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kUnpackBlocksAvx512},
    {"avx2", CpuFeature::kAvx2, &kUnpackBlocksAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kUnpackBlocksNeon},
#endif
    {"plain", {}, &kNone},
};

}  // namespace

std::span<const UnpackBlocksVariant> UnpackBlocksVariants() { return kVariants; }

UnpackBlocksFn SelectUnpackBlocks(Dtype dtype, CpuFeatures cpu) {
  const UnpackBlocksFn fast = FunctionOf(*SelectVariant(UnpackBlocksVariants(), cpu).run, dtype);
  return fast == nullptr ? PlainUnpackBlocks(dtype) : fast;
}

}  // namespace lattice::kernels
