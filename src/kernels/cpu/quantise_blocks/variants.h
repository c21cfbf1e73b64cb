#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Values of a block: one scale for all of them.
inline constexpr std::size_t kInputBlock = 32;

/// One row of f32 in 8-bit blocks; see quantise_blocks.h.
struct QuantisedRow {
  std::int8_t* q = nullptr;           ///< [k]
  float* scale = nullptr;             ///< [k / 32]
  float* offset = nullptr;            ///< [k / 32] scale times the sum of q
  std::int32_t* sums = nullptr;       ///< [k / 32] sums of q
  std::int32_t* half_sums = nullptr;  ///< [k / 16] sums of q over sixteen values
};

/// x [k], k a multiple of 32.
using QuantiseBlocksFn = void (*)(const float* x, std::size_t k, const QuantisedRow& out);

void QuantiseBlocksScalar(const float* x, std::size_t k, const QuantisedRow& out);
void QuantiseBlocksAvx2(const float* x, std::size_t k, const QuantisedRow& out);
void QuantiseBlocksAvx512(const float* x, std::size_t k, const QuantisedRow& out);
void QuantiseBlocksNeon(const float* x, std::size_t k, const QuantisedRow& out);

}  // namespace lattice::kernels
