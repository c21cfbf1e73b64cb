#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dot_blocks/products_avx2.inl"

namespace lattice::kernels {
namespace {

// Pairs that may be added in 16 bits: n * 2 * weight * 127 < 32768.
constexpr std::size_t PairsThatFit(int max_weight) {
  return max_weight <= 31 ? 4 : max_weight <= 63 ? 2 : 1;
}

inline __m256i Input(const std::int8_t* x) {
  std::int32_t four;
  __builtin_memcpy(&four, x, sizeof(four));
  return _mm256_set1_epi32(four);
}

template <int kMaxWeight, std::size_t kRows>
inline void AddGroup(const std::int8_t* x, std::size_t x_stride, std::size_t group,
                     const std::uint8_t* w, __m256i (&sum)[kRows][2]) {
  constexpr std::size_t kSteps = PairsThatFit(kMaxWeight);
  for (std::size_t t = 0; t < group; t += 4 * kSteps) {
    __m256i pairs[kRows][2];
#pragma GCC unroll 4
    for (std::size_t s = 0; s < kSteps; ++s, x += 4, w += 64) {
      const auto* at = reinterpret_cast<const __m256i*>(w);
      const auto add = [&](auto weights, std::size_t v) {
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kRows; ++r) {
          const __m256i more = Pairs(weights, Input(x + r * x_stride));
          pairs[r][v] = s == 0 ? more : _mm256_add_epi16(pairs[r][v], more);
          // Now, not after all products: compilers would put those on the stack.
          if constexpr (kSteps > 2) asm("" : "+x"(pairs[r][v]));
        }
      };
      for (std::size_t v = 0; v < 2; ++v) {
        const __m256i weights = _mm256_load_si256(at + v);
        if constexpr (kMaxWeight > 127) {
          add(WideWeights(weights), v);
        } else {
          add(weights, v);
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < 2; ++v) sum[r][v] = AddPairs(sum[r][v], pairs[r][v]);
    }
  }
}

}  // namespace
}  // namespace lattice::kernels

// After it: what it defines is used there.
#include "kernels/cpu/dot_blocks/ymm.inl"

namespace lattice::kernels {

void DotBlocksAvx2(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
