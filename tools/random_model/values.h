#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "lattice/result.h"
#include "numeric/dtype.h"
#include "tensors.h"

namespace lattice::random_model {

/// The bytes of one tensor in `dtype` (one that NarrowFromF32 writes), in pieces.
/// The numbers depend on the seed and the tensor's name only, so that files of different kinds hold
/// one model.
Status MakeValues(const TensorPlan& tensor, Dtype dtype, std::uint64_t seed,
                  FunctionRef<Status(std::span<const std::byte>)> take);

}  // namespace lattice::random_model
