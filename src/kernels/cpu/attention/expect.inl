#pragma once

// Included by each instruction set's file.

#include <cstddef>

namespace lattice::kernels {
namespace {

// Fetches rows [begin, end) ahead of their use, to be written or to be read: those of a head lie so
// far apart that the processor does not see them coming. Always inline: see simd/product.inl.
template <bool kWritten = false>
[[gnu::always_inline]] inline void Expect(const float* rows, std::size_t stride, std::size_t begin,
                                          std::size_t end, std::size_t dim) {
  for (std::size_t r = begin; r < end; ++r) {
    for (std::size_t d = 0; d < dim; d += 16) __builtin_prefetch(rows + r * stride + d, kWritten);
  }
}

}  // namespace
}  // namespace lattice::kernels
