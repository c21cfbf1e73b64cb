#include "numeric/float16.h"
#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

constexpr std::size_t kSums = 64;

// Element i goes into the sum sum_of(i).
template <typename Left, typename Right, typename SumOf>
float WideDot(std::size_t n, Left left, Right right, SumOf sum_of) {
  float sums[kSums] = {};
  for (std::size_t i = 0; i < (n + kSums - 1) / kSums * kSums; ++i) {
    const float x = i < n ? left(i) : 0.0f, y = i < n ? right(i) : 0.0f;
    float& sum = sums[sum_of(i)];
    sum = __builtin_fmaf(x, y, sum);
  }
  for (std::size_t h = kSums / 2; h != 0; h /= 2) {
    for (std::size_t j = 0; j < h; ++j) sums[j] += sums[j + h];
  }
  return sums[0];
}

template <typename Left, typename Right>
float WideDot(std::size_t n, Left left, Right right) {
  return WideDot(n, left, right, [](std::size_t i) { return i % kSums; });
}

auto ItselfOf(const float* x) {
  return [x](std::size_t i) { return x[i]; };
}
auto F16Of(const std::uint16_t* x) {
  return [x](std::size_t i) { return F16ToF32(x[i]); };
}
auto Bf16Of(const std::uint16_t* x) {
  return [x](std::size_t i) { return Bf16ToF32(x[i]); };
}
float DotF16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot(n, ItselfOf(query), F16Of(row));
}
float DotBf16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot(n, ItselfOf(query), Bf16Of(row));
}
float PairF16(const std::uint16_t* a, const std::uint16_t* b, std::size_t n) {
  return WideDot(n, F16Of(a), F16Of(b));
}
float PairBf16(const std::uint16_t* a, const std::uint16_t* b, std::size_t n) {
  return WideDot(n, Bf16Of(a), Bf16Of(b),
                 [](std::size_t i) { return i / 32 % 2 * 32 + i % 2 * 16 + i % 32 / 2; });
}
float DotWideI8(const float* query, const std::int8_t* row, std::size_t n) {
  return WideDot(n, ItselfOf(query), [row](std::size_t i) { return static_cast<float>(row[i]); });
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

const NarrowDotFns kNarrowDotScalar = {DotF16,    DotBf16, PairF16, PairBf16,
                                       DotWideI8, DotI8,   DotI4,   Hamming};

}  // namespace lattice::vectors
