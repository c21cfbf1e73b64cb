#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Columns of values that lie together.
inline constexpr std::size_t kValuePanel = 64;

enum class KvNumbers : std::uint8_t { kF32, kF16, kQ8 };

/// Where the numbers of one head lie in a page of 64 positions. T is f32, f16 or i8:
///   keys          T [dim][64]                    position by position within a dimension
///   values        T [ceil(padded_dim / 64)][64][up to 64 columns], zero past dim
///   key scales    f16 [dim / 32][64]             kQ8: number = integer * scale, exact in f32
///   value scales  f16 [dim / 32][64]             kQ8
/// padded_dim is dim rounded up to 16.
struct KvLayout {
  KvNumbers numbers;
  std::size_t dim, padded_dim;
  std::size_t values_at, key_scales_at, value_scales_at, head_bytes;  // From the head's start.
};

}  // namespace lattice::kernels
