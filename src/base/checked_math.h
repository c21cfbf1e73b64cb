#pragma once

#include <cstddef>
#include <optional>

namespace lattice {

/// a * b, or nothing when the product does not fit. For every size that a file or a peer controls.
inline std::optional<std::size_t> CheckedMul(std::size_t a, std::size_t b) {
  std::size_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

/// a + b, or nothing when the sum does not fit.
inline std::optional<std::size_t> CheckedAdd(std::size_t a, std::size_t b) {
  std::size_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

}  // namespace lattice
