#pragma once

#include "kernels/api/backend.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// What a generator computes with when it is not asked: kInt8, or kInt16 for models of so few
/// parameters that 8 bits of an activation cost answers (and that are fast all the same).
kernels::Precision StoredPrecision(const weights::Checkpoint& checkpoint);

}  // namespace lattice::models
