#pragma once

#include <cstddef>

#include "kernels/api/backend.h"

namespace lattice::kernels {

/// kInvalidArgument unless `tensor` is [rows, cols] of weights, its rows whole blocks, and its
/// bytes and order of rows fit each other. `what` names it in the message.
Status CheckTensor(const HostTensor& tensor, std::size_t rows, std::size_t cols, const char* what);

}  // namespace lattice::kernels
