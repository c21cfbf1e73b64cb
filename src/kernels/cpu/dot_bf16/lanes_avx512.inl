// Many rows of x: outputs lie side by side in a register, and an input is the same for all of them.
// What DotBf16Avx512Bf16 adds in a lane of its registers and then between lanes is added here lane
// after lane, by the same instruction in the same order.

#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/transpose_avx512.inl"

namespace lattice::kernels {
namespace {

// Eight rows by two registers of outputs: sixteen sums.
constexpr std::size_t kTileRows = 8;
constexpr std::size_t kStepWords = kDotBf16LaneOutputs;  // a pair each output
constexpr std::size_t kLevels = 4;                       // sums of 1, 2, 4 and 8 lanes
static_assert(kDotBf16Lanes == 1u << kLevels);

// Words of a lane of weights.
inline std::size_t LaneWords(std::size_t n_steps) { return (n_steps + 1) * kStepWords; }

// [kDotBf16Lanes][DotBf16LaneSteps(k) + 1][kDotBf16LaneOutputs][2]; a lane's last step is left out.
void PackLanes(const std::byte* const* rows, std::size_t n, std::size_t k, std::uint16_t* out) {
  const std::size_t n_steps = DotBf16LaneSteps(k);
  for (std::size_t s = 0; s < n_steps; ++s) {
    const std::size_t left = k - s * kStep;
    const auto exists =
        static_cast<__mmask32>((std::uint64_t{1} << (left < kStep ? left : kStep)) - 1);
    for (std::size_t first = 0; first < kDotBf16LaneOutputs; first += 16) {
      __m512 v[16];
#pragma GCC unroll 16
      for (std::size_t j = 0; j < 16; ++j) {
        v[j] = first + j < n ? _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(
                                   exists, rows[first + j] + s * kStep * sizeof(std::uint16_t)))
                             : _mm512_setzero_ps();
      }
      Transpose(v);
      std::uint16_t* const to = out + 2 * (s * kStepWords + first);
#pragma GCC unroll 16
      for (std::size_t l = 0; l < kDotBf16Lanes; ++l) {
        _mm512_store_ps(to + 2 * DotBf16LaneRank(l) * LaneWords(n_steps), v[l]);
      }
    }
  }
}

// A lane's products with two registers of outputs.
template <std::size_t kX>
inline void SumLane(const std::uint16_t* x, std::size_t x_stride, const std::uint16_t* w,
                    std::size_t n_steps, __m512 (&sum)[kX][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm512_setzero_ps();
  for (std::size_t s = 0; s < n_steps; ++s, x += 2, w += 2 * kStepWords) {
    const __m512i weights[2] = {_mm512_load_si512(w), _mm512_load_si512(w + kStepWords)};
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kX; ++r) {
      std::int32_t pair;
      __builtin_memcpy(&pair, x + r * x_stride, sizeof(pair));
      const __m512i input = _mm512_set1_epi32(pair);
      sum[r][0] = AddProducts(sum[r][0], input, weights[0]);
      sum[r][1] = AddProducts(sum[r][1], input, weights[1]);
    }
  }
}

// kX rows of x from i.
template <std::size_t kX>
void LaneTile(const DotBf16ManyArgs& a, std::size_t i) {
  const std::size_t n_steps = DotBf16LaneSteps(a.k);
  const std::uint16_t *x = a.x + (a.x_row + i) * a.x_stride, *w = a.w;
  // Sums of lanes are added as a counter carries: two of one lane, then two of two lanes.
  __m512 waiting[kLevels][kX][2];
  __m512 sum[kX][2];
  for (std::size_t lane = 0; lane < kDotBf16Lanes; ++lane) {
    SumLane<kX>(x, a.x_stride, w, n_steps, sum);
    x += 2 * n_steps;
    w += 2 * LaneWords(n_steps);
    std::size_t level = 0;
    for (; (lane >> level & 1) != 0; ++level) {
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kX; ++r) {
        for (std::size_t v = 0; v < 2; ++v) {
          sum[r][v] = _mm512_add_ps(waiting[level][r][v], sum[r][v]);
        }
      }
    }
    if (level == kLevels) break;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kX; ++r) {
      for (std::size_t v = 0; v < 2; ++v) waiting[level][r][v] = sum[r][v];
    }
  }
  const auto exist = static_cast<std::uint32_t>((std::uint64_t{1} << a.n) - 1);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kX; ++r) {
    float* y = a.y + (i + r) * a.y_stride;
    _mm512_mask_storeu_ps(y, static_cast<__mmask16>(exist), sum[r][0]);
    _mm512_mask_storeu_ps(y + 16, static_cast<__mmask16>(exist >> 16), sum[r][1]);
  }
}

using LaneTileFn = void (*)(const DotBf16ManyArgs&, std::size_t i);
constexpr LaneTileFn kLaneTiles[kTileRows + 1] = {nullptr,     LaneTile<1>, LaneTile<2>,
                                                  LaneTile<3>, LaneTile<4>, LaneTile<5>,
                                                  LaneTile<6>, LaneTile<7>, LaneTile<8>};

void RunLanes(const DotBf16ManyArgs& a) {
  const std::size_t n_tiles = (a.m + kTileRows - 1) / kTileRows;
  for (std::size_t tile = 0; tile < n_tiles; ++tile) {
    // Rows are dealt out evenly.
    const std::size_t begin = a.m * tile / n_tiles, end = a.m * (tile + 1) / n_tiles;
    kLaneTiles[end - begin](a, begin);
  }
}

}  // namespace
}  // namespace lattice::kernels
