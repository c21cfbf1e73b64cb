#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// How a row of weights lies in memory, at any alignment.
enum class FloatRow : std::uint8_t { kF32, kBf16, kF16 };

/// Rows after the last one that kernels fetch into the caches; they need not be read later.
inline constexpr std::size_t kRowsAhead = 4;

/// y[i * y_stride + j] = sum over t of x[i * x_stride + t] * w[j][t]; see dot_f32.h.
struct DotF32Args {
  const float* x = nullptr;  ///< m rows of k
  std::size_t x_stride = 0;
  std::size_t m = 0;
  /// n pointers to rows of k weights, and kRowsAhead more: what the caller reads next, perhaps.
  const std::byte* const* w = nullptr;
  FloatRow kind = FloatRow::kF32;
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using DotF32Fn = void (*)(const DotF32Args& args);

/// out[t] = row[t] for t < k.
using WidenRowFn = void (*)(FloatRow kind, const std::byte* row, std::size_t k, float* out);

void DotF32Scalar(const DotF32Args& args);
void DotF32Avx2(const DotF32Args& args);
void DotF32Avx512(const DotF32Args& args);
void DotF32Neon(const DotF32Args& args);

void WidenRowScalar(FloatRow kind, const std::byte* row, std::size_t k, float* out);
void WidenRowAvx2(FloatRow kind, const std::byte* row, std::size_t k, float* out);
void WidenRowAvx512(FloatRow kind, const std::byte* row, std::size_t k, float* out);
void WidenRowNeon(FloatRow kind, const std::byte* row, std::size_t k, float* out);

}  // namespace lattice::kernels
