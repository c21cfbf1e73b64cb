#pragma once

#include <cstddef>

#include "numeric/dtype.h"

namespace lattice::kernels {

/// n values of a block format, whole blocks at any alignment, as f32; see widen_blocks.h.
using WidenBlocksFn = void (*)(Dtype dtype, const std::byte* blocks, std::size_t n, float* out);

void WidenBlocksScalar(Dtype dtype, const std::byte* blocks, std::size_t n, float* out);
void WidenBlocksAvx2(Dtype dtype, const std::byte* blocks, std::size_t n, float* out);
void WidenBlocksAvx512(Dtype dtype, const std::byte* blocks, std::size_t n, float* out);
void WidenBlocksNeon(Dtype dtype, const std::byte* blocks, std::size_t n, float* out);

}  // namespace lattice::kernels
