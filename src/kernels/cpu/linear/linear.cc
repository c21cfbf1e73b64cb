#include "kernels/cpu/linear/linear.h"

#include "kernels/cpu/linear/linear_f32.h"
#include "kernels/cpu/linear/linear_int8.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

Result<std::unique_ptr<LinearWeights>> MakeCpuLinear(ThreadPool& pool, PanelArena& arena,
                                                     std::span<const HostTensor> matrices,
                                                     std::span<const HostTensor> biases,
                                                     Precision precision, CpuFeatures features) {
  LATTICE_TRY(const StackedRows weights, StackedRows::Make(matrices, biases));
  if (precision == Precision::kInt8) {
    LATTICE_TRY(auto layer, MakeLinearInt8(pool, arena, weights, features));
    return std::unique_ptr<LinearWeights>(std::move(layer));
  }
  if (precision != Precision::kF32) {
    return Error{ErrorCode::kUnsupported, "linear layers are computed in f32 or int8 only"};
  }
  return std::unique_ptr<LinearWeights>(MakeLinearF32(pool, arena, weights, features));
}

}  // namespace lattice::kernels
