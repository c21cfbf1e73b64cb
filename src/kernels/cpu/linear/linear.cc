#include "kernels/cpu/linear/linear.h"

#include <utility>

#include "kernels/cpu/linear/linear_bf16.h"
#include "kernels/cpu/linear/linear_f32.h"
#include "kernels/cpu/linear/linear_int8.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

Result<std::unique_ptr<LinearWeights>> MakeCpuLinear(ThreadPool& pool, PanelArena& arena,
                                                     std::span<const HostTensor> matrices,
                                                     std::span<const HostTensor> biases,
                                                     Precision precision, CpuFeatures features) {
  LATTICE_TRY(const StackedRows weights, StackedRows::Make(matrices, biases));
  switch (precision) {
    case Precision::kF32:
      return std::unique_ptr<LinearWeights>(MakeLinearF32(pool, arena, weights, features));
    case Precision::kBf16:
      return std::unique_ptr<LinearWeights>(MakeLinearBf16(pool, arena, weights, features));
    case Precision::kInt8: {
      LATTICE_TRY(auto layer, MakeLinearInt8(pool, arena, weights, features));
      return std::unique_ptr<LinearWeights>(std::move(layer));
    }
    case Precision::kInt16:
      break;
  }
  return Error{ErrorCode::kUnsupported, "int16 is an arithmetic of stored weights"};
}

}  // namespace lattice::kernels
