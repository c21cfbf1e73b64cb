#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// One row of f32 rounded to bf16; see round_rows.h.
using RoundRowFn = void (*)(const float* x, std::size_t k, std::uint16_t* out,
                            std::size_t k_padded);

void RoundRowScalar(const float* x, std::size_t k, std::uint16_t* out, std::size_t k_padded);
void RoundRowAvx2(const float* x, std::size_t k, std::uint16_t* out, std::size_t k_padded);
void RoundRowAvx512(const float* x, std::size_t k, std::uint16_t* out, std::size_t k_padded);
void RoundRowNeon(const float* x, std::size_t k, std::uint16_t* out, std::size_t k_padded);

}  // namespace lattice::kernels
