#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// What gives the bytes of a quantised row their meaning; see quantise_rows.h.
struct Int8Row {
  float scale;
  std::int32_t zero;  ///< 0..255
  float outlier;      ///< The value at `outlier_at`, whose byte is `zero`.
  std::uint32_t outlier_at;
};

/// A row whose values span less counts as zeros.
inline constexpr float kQuantiseLeastRange = 1e-30f;

/// x, factor [k]; q [k_padded], 64-byte aligned; k_padded >= k, a multiple of 64.
using QuantiseRowFn = void (*)(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                               std::size_t k_padded, Int8Row* row);

void QuantiseRowScalar(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                       std::size_t k_padded, Int8Row* row);
void QuantiseRowAvx2(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                     std::size_t k_padded, Int8Row* row);
void QuantiseRowAvx512(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                       std::size_t k_padded, Int8Row* row);
void QuantiseRowNeon(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                     std::size_t k_padded, Int8Row* row);

}  // namespace lattice::kernels
