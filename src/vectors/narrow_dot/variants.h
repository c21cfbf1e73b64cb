#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::vectors {

/// narrow_dot.h has the contract.
struct NarrowDotFns {
  float (*f16)(const float* query, const std::uint16_t* row, std::size_t n);
  float (*bf16)(const float* query, const std::uint16_t* row, std::size_t n);
  float (*f16_pair)(const std::uint16_t* a, const std::uint16_t* b, std::size_t n);
  float (*bf16_pair)(const std::uint16_t* a, const std::uint16_t* b, std::size_t n);
  float (*wide_i8)(const float* query, const std::int8_t* row, std::size_t n);
  std::int32_t (*i8)(const std::int8_t* a, const std::int8_t* b, std::size_t n);
  std::int32_t (*i4)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_bytes);
  std::uint32_t (*hamming)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_bytes);
};

extern const NarrowDotFns kNarrowDotScalar;
extern const NarrowDotFns kNarrowDotAvx2;
extern const NarrowDotFns kNarrowDotAvx512Vnni;
extern const NarrowDotFns kNarrowDotAvx512Vpopcntdq;
extern const NarrowDotFns kNarrowDotNeon;
extern const NarrowDotFns kNarrowDotNeonDotprod;

}  // namespace lattice::vectors
