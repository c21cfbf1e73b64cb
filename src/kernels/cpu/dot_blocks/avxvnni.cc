#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dot_blocks/products_avxvnni.inl"

namespace lattice::kernels {
namespace {

template <int kMaxWeight, std::size_t kRows>
inline void AddGroup(const std::int8_t* x, std::size_t x_stride, std::size_t group,
                     const std::uint8_t* w, __m256i (&sum)[kRows][2]) {
  for (std::size_t t = 0; t < group; t += 4, x += 4, w += 64) {
    const auto* at = reinterpret_cast<const __m256i*>(w);
    const __m256i weights[2] = {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, x + r * x_stride, sizeof(four));
      const __m256i input = _mm256_set1_epi32(four);
      for (int v = 0; v < 2; ++v) {
        sum[r][v] = AddProducts<(kMaxWeight > 127)>(sum[r][v], weights[v], input);
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels

// After it: what it defines is used there.
#include "kernels/cpu/dot_blocks/ymm.inl"

namespace lattice::kernels {

void DotBlocksAvxVnni(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
