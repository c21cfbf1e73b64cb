#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Heads of rows that lie `stride` apart, changed in place: see Backend::ApplyRope.
struct RopeArgs {
  float* x;  ///< First head of the first row; head h is head_dim * h further on.
  std::size_t stride;
  std::size_t n_rows;
  std::size_t n_heads;
  std::size_t head_dim;
  const std::int32_t* positions;  ///< [n_rows]
  const float* inv_freq;          ///< [half]
  std::size_t half;
  float scale;
};
using RopeFn = void (*)(const RopeArgs& args);

void RopeScalar(const RopeArgs& args);
void RopeAvx2(const RopeArgs& args);
void RopeAvx512(const RopeArgs& args);
void RopeNeon(const RopeArgs& args);

}  // namespace lattice::kernels
