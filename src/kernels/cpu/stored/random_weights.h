#pragma once

// Weights for tests and benchmarks of this folder.

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "kernels/api/backend.h"
#include "numeric/float16.h"

namespace lattice::kernels {

inline constexpr Dtype kFloatDtypes[] = {Dtype::kF64,  Dtype::kF32,    Dtype::kF16,
                                         Dtype::kBf16, Dtype::kF8E4M3, Dtype::kF8E5M2};
inline constexpr Dtype kBlockDtypes[] = {Dtype::kQ4_0,  Dtype::kQ4_1, Dtype::kQ5_0,  Dtype::kQ5_1,
                                         Dtype::kQ8_0,  Dtype::kQ2K,  Dtype::kQ3K,   Dtype::kQ4K,
                                         Dtype::kQ5K,   Dtype::kQ6K,  Dtype::kIq4Nl, Dtype::kIq4Xs,
                                         Dtype::kMxfp4, Dtype::kKhq4, Dtype::kKhq3};

/// Where a block's f16 fields lie (its scale, and its minimum or nowhere).
struct HalfFields {
  std::size_t scale = 0;
  std::size_t min = 0;  ///< 0: none
};
inline HalfFields HalfFieldsOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_1:
    case Dtype::kQ5_1:
    case Dtype::kQ4K:
    case Dtype::kQ5K:
    case Dtype::kKhq4:
    case Dtype::kKhq3:
      return {0, 2};
    case Dtype::kQ2K:
      return {80, 82};
    case Dtype::kQ3K:
      return {108, 0};
    case Dtype::kQ6K:
      return {208, 0};
    default:
      return {0, 0};
  }
}

/// A matrix of random weights, of size about 1 for float formats and below 10 for blocks.
class RandomWeights {
 public:
  RandomWeights(Dtype dtype, std::size_t rows, std::size_t cols, unsigned seed)
      : dtype_(dtype), rows_(rows), cols_(cols), bytes_(StorageBytes(dtype, rows * cols)) {
    std::mt19937 rng(seed);
    if (IsBlock(dtype)) {
      FillBlocks(rng);
    } else {
      FillFloats(rng);
    }
  }

  HostTensor tensor() const { return {dtype_, rows_, cols_, bytes_, {}}; }
  std::vector<float> Values() const {
    std::vector<float> values(rows_ * cols_);
    WidenToF32(dtype_, bytes_, values);
    return values;
  }

 private:
  void FillBlocks(std::mt19937& rng) {
    for (std::byte& b : bytes_) b = static_cast<std::byte>(rng());
    const BlockLayout layout = LayoutOf(dtype_);
    const HalfFields fields = HalfFieldsOf(dtype_);
    std::uniform_real_distribution<float> size(0.005f, 0.02f);
    for (std::size_t at = 0; at < bytes_.size(); at += layout.bytes) {
      if (dtype_ == Dtype::kMxfp4) {
        bytes_[at] = static_cast<std::byte>(120 + rng() % 6);
        continue;
      }
      PutHalf(at + fields.scale, size(rng));
      if (fields.min != 0) PutHalf(at + fields.min, -size(rng));
    }
  }

  void FillFloats(std::mt19937& rng) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < rows_ * cols_; ++i) {
      const float value = normal(rng);
      const double wide = value;
      const std::uint16_t f16 = F32ToF16(value), bf16 = F32ToBf16(value);
      // Bytes of small 8-bit floats: any exponent below that of 2, no NaN.
      const auto f8 = static_cast<std::uint8_t>((rng() & 0xBFu) | 0x20u);
      switch (dtype_) {
        case Dtype::kF64:
          Put(i, wide);
          break;
        case Dtype::kF32:
          Put(i, value);
          break;
        case Dtype::kF16:
          Put(i, f16);
          break;
        case Dtype::kBf16:
          Put(i, bf16);
          break;
        default:
          Put(i, f8);
      }
    }
  }

  template <typename T>
  void Put(std::size_t i, T value) {
    std::memcpy(bytes_.data() + i * sizeof(T), &value, sizeof(T));
  }
  void PutHalf(std::size_t at, float value) {
    const std::uint16_t bits = F32ToF16(value);
    std::memcpy(bytes_.data() + at, &bits, sizeof(bits));
  }

  Dtype dtype_;
  std::size_t rows_, cols_;
  std::vector<std::byte> bytes_;
};

inline std::vector<float> RandomFloats(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

}  // namespace lattice::kernels
