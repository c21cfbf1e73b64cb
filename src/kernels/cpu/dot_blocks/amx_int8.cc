#include "kernels/cpu/dot_blocks/variants.h"
#include "kernels/cpu/simd/amx_tiles.inl"

namespace lattice::kernels {
namespace {

// A group of weights is one tile product: sixteen rows of x by sixteen outputs. Groups are taken
// chain by chain, so that a chain's sums stay in registers.
static_assert(kBlockPanelOutputs == kTileRows);
constexpr std::size_t kLanes = 16;

template <std::size_t kGroup>
TileConfig Config() {
  TileConfig config;
  config.Set(0, kTileRows);  // sums
  config.Set(1, kTileRows);
  config.Set(2, kTileRows);  // x
  config.row_bytes[2] = kGroup;
  config.Set(3, kGroup / 4);  // weights
  return config;
}

// Sixteen rows of x from `x`, and one panel.
template <std::size_t kGroup>
class TileRun {
 public:
  TileRun(const DotBlocksArgs& a, std::size_t i, const BlockPanel& w)
      : a_(a), w_(w), n_groups_(a.k / kGroup), x_(a.x.q + i * a.x.q_stride) {
    x_scale_ = a.x.scale + i * a.x.n_blocks;
    x_offset_ = a.x.offset + i * a.x.n_blocks;
    x_sums_ = kGroup == 16 ? a.x.half_sums + 2 * i * a.x.n_blocks : a.x.sums + i * a.x.n_blocks;
  }

  // y [16, y_stride], the outputs that exist.
  void Run(float* y, __mmask16 exists) {
    const std::size_t n_chains = n_groups_ < kBlockChains ? n_groups_ : kBlockChains;
    Start<0>(0);
    bool second = false;
    for (std::size_t c = 0; c < kBlockChains; ++c) {
      __m512 chain[kTileRows];
#pragma GCC unroll 16
      for (__m512& sum : chain) sum = _mm512_setzero_ps();
      for (std::size_t g = c; g < n_groups_; g += kBlockChains) {
        // The tile of the next group is computed while this one's sums are scaled.
        const std::size_t next = g + kBlockChains < n_groups_ ? g + kBlockChains : c + 1;
        if (g + kBlockChains < n_groups_ || c + 1 < n_chains) {
          second ? Start<0>(next) : Start<1>(next);
        }
        Add(sums_[second], g, chain);
        second = !second;
      }
#pragma GCC unroll 16
      for (std::size_t r = 0; r < kTileRows; ++r) _mm512_store_ps(chains_[c][r], chain[r]);
    }
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const auto pair = [&](std::size_t c) {
        return _mm512_add_ps(_mm512_load_ps(chains_[c][r]), _mm512_load_ps(chains_[c + 1][r]));
      };
      const __m512 sum =
          _mm512_add_ps(_mm512_add_ps(pair(0), pair(2)), _mm512_add_ps(pair(4), pair(6)));
      _mm512_mask_storeu_ps(y + r * a_.y_stride, exists, sum);
    }
  }

 private:
  // Products of group g into one of the two arrays of sums.
  template <int kTile>
  [[gnu::always_inline]] inline void Start(std::size_t g) {
    ZeroTile<kTile>();
    LoadTile<2>(x_ + g * kGroup, a_.x.q_stride);
    LoadTile<3>(w_.q + g * kGroup * kBlockPanelOutputs, kTileBytes);
    DotSignedUnsigned::Run<kTile, 2, 3>();
    StoreTile<kTile>(sums_[kTile], kTileBytes);
  }

  [[gnu::always_inline]] inline void Add(const std::int32_t (*sums)[kLanes], std::size_t g,
                                         __m512 (&chain)[kTileRows]) const {
    constexpr std::size_t kSumsOfBlock = kInputBlock / kGroup;
    const std::size_t n_blocks = a_.x.n_blocks, block = g / kSumsOfBlock;
    const __m512 scale = _mm512_load_ps(w_.scale + g * kBlockPanelOutputs);
    const __m512i less_zero = _mm512_set1_epi32(-a_.zero);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      __m512i sum = _mm512_load_si512(sums[r]);
      if (a_.zero != 0) {
        const __m512i all = _mm512_set1_epi32(x_sums_[r * kSumsOfBlock * n_blocks + g]);
        sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(all, less_zero));
      }
      const __m512 s = _mm512_set1_ps(x_scale_[r * n_blocks + block]);
      chain[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, s), chain[r]);
    }
    if (!a_.has_min) return;
    const __m512 min = _mm512_load_ps(w_.min + g * kBlockPanelOutputs);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const float offset = kGroup == 32
                               ? x_offset_[r * n_blocks + block]
                               : x_scale_[r * n_blocks + block] *
                                     static_cast<float>(x_sums_[r * kSumsOfBlock * n_blocks + g]);
      chain[r] = _mm512_fmadd_ps(min, _mm512_set1_ps(offset), chain[r]);
    }
  }

  const DotBlocksArgs& a_;
  const BlockPanel& w_;
  std::size_t n_groups_;
  const std::int8_t* x_;
  const float* x_scale_;
  const float* x_offset_;
  const std::int32_t* x_sums_;
  alignas(64) std::int32_t sums_[2][kTileRows][kLanes];
  alignas(64) float chains_[kBlockChains][kTileRows][kLanes];
};

template <std::size_t kGroup>
void RunTiles(const DotBlocksArgs& a, std::size_t n_rows) {
  Configure(Config<kGroup>());
  for (std::size_t i = 0; i < n_rows; i += kTileRows) {
    for (std::size_t j = 0; j < a.n; j += kBlockPanelOutputs) {
      const std::size_t n = a.n - j < kLanes ? a.n - j : kLanes;
      TileRun<kGroup>(a, i, a.w[j / kBlockPanelOutputs])
          .Run(a.y + i * a.y_stride + j, static_cast<__mmask16>((1u << n) - 1u));
    }
  }
  ReleaseTiles();
}

}  // namespace

void DotBlocksAmxInt8(const DotBlocksArgs& a) {
  const std::size_t n_rows = a.m / kTileRows * kTileRows;
  if (n_rows != 0) a.group == 16 ? RunTiles<16>(a, n_rows) : RunTiles<32>(a, n_rows);
  if (n_rows == a.m) return;
  DotBlocksArgs rest = a;  // The same bits.
  rest.x.q += n_rows * a.x.q_stride;
  rest.x.scale += n_rows * a.x.n_blocks;
  rest.x.offset += n_rows * a.x.n_blocks;
  rest.x.sums += n_rows * a.x.n_blocks;
  rest.x.half_sums += 2 * n_rows * a.x.n_blocks;
  rest.m -= n_rows;
  rest.y += n_rows * a.y_stride;
  DotBlocksAvx512Vnni(rest);
}

}  // namespace lattice::kernels
