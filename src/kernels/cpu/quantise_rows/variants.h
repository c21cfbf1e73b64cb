#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// A row whose values span less counts as zeros.
inline constexpr float kQuantiseLeastRange = 1e-30f;

/// One row in 8 bits; see quantise_rows.h. q [k_padded], 64-byte aligned; k_padded >= k, a multiple
/// of 64.
using QuantiseRowFn = void (*)(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                               float* scale, float* zero);

void QuantiseRowScalar(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                       float* scale, float* zero);
void QuantiseRowAvx2(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                     float* scale, float* zero);
void QuantiseRowAvx512(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                       float* scale, float* zero);
void QuantiseRowNeon(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                     float* scale, float* zero);

}  // namespace lattice::kernels
