#include "numeric/float16.h"
#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

template <typename T, typename Widen>
float WideDot(const float* query, const T* row, std::size_t n, Widen widen) {
  constexpr std::size_t kSums = 64;
  float sums[kSums] = {};
  for (std::size_t i = 0; i < (n + kSums - 1) / kSums * kSums; ++i) {
    const float q = i < n ? query[i] : 0.0f, r = i < n ? widen(row[i]) : 0.0f;
    sums[i % kSums] = __builtin_fmaf(q, r, sums[i % kSums]);
  }
  for (std::size_t h = kSums / 2; h != 0; h /= 2) {
    for (std::size_t j = 0; j < h; ++j) sums[j] += sums[j + h];
  }
  return sums[0];
}

float DotF16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot(query, row, n, [](std::uint16_t x) { return F16ToF32(x); });
}
float DotBf16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot(query, row, n, [](std::uint16_t x) { return Bf16ToF32(x); });
}
float DotWideI8(const float* query, const std::int8_t* row, std::size_t n) {
  return WideDot(query, row, n, [](std::int8_t x) { return static_cast<float>(x); });
}
std::int32_t DotI8(const std::int8_t* a, const std::int8_t* b, std::size_t n) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
std::int32_t DotI4(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_bytes) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < n_bytes; ++i) {
    sum += ((a[i] & 15) - 8) * ((b[i] & 15) - 8) + ((a[i] >> 4) - 8) * ((b[i] >> 4) - 8);
  }
  return sum;
}
std::uint32_t Hamming(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < n_bytes; ++i) {
    sum += static_cast<std::uint32_t>(__builtin_popcount(unsigned{a[i]} ^ b[i]));
  }
  return sum;
}

}  // namespace

const NarrowDotFns kNarrowDotScalar = {DotF16, DotBf16, DotWideI8, DotI8, DotI4, Hamming};

}  // namespace lattice::vectors
