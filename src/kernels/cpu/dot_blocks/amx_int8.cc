#include "kernels/cpu/dot_blocks/variants.h"
#include "kernels/cpu/simd/amx_tiles.inl"
#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/transpose_avx512.inl"

namespace lattice::kernels {
namespace {

// A group of 32 weights is one tile product: sixteen rows of x by sixteen outputs.
static_assert(kBlockPanelOutputs == kTileRows && kLanes == kTileRows);
constexpr std::size_t kGroup = kInputBlock;
// Groups whose scales are put in order at a time.
constexpr std::size_t kPartGroups = 256;

TileConfig Config(std::size_t n_rows) {
  TileConfig config;
  config.Set(0, n_rows);  // sums, in turn
  config.Set(1, n_rows);
  config.Set(2, n_rows);  // x
  config.row_bytes[2] = kGroup;
  config.Set(3, kGroup / 4);  // weights
  return config;
}

// Values of a block of x, one for each row: [n_groups][16], zeros for rows that do not exist.
struct ByGroup {
  alignas(64) float values[kPartGroups][kTileRows];

  void Set(const float* rows, std::size_t stride, std::size_t n_rows, std::size_t n_groups) {
    for (std::size_t g = 0; g < n_groups; g += kLanes) {
      const std::size_t n = n_groups - g < kLanes ? n_groups - g : kLanes;
      __m512 columns[kLanes];
      LoadColumns(rows + g, stride, n_rows, n, columns);
      for (std::size_t c = 0; c < n; ++c) _mm512_store_ps(values[g + c], columns[c]);
    }
  }
};

// Up to sixteen rows of x and some of their groups.
class TileRows {
 public:
  TileRows(const DotBlocksArgs& a, std::size_t row, std::size_t n_rows)
      : a_(a), row_(row), n_rows_(n_rows) {}

  // Groups [first, first + n) from here on.
  void Enter(std::size_t first, std::size_t n) {
    first_ = first;
    n_groups_ = n;
    const std::size_t at = row_ * a_.x.n_blocks + first;
    scales_.Set(a_.x.scale + at, a_.x.n_blocks, n_rows_, n);
    if (a_.has_min) offsets_.Set(a_.x.offset + at, a_.x.n_blocks, n_rows_, n);
  }

  // Adds the groups' sums with outputs from j on to y, or sets it with the first group.
  void Run(std::size_t j) {
    const BlockPanel& panel = a_.w[j / kBlockPanelOutputs];
    const std::size_t n = a_.n - j < kLanes ? a_.n - j : kLanes;
    const auto exist = static_cast<__mmask16>((1u << n) - 1u);
    float* const y = a_.y + row_ * a_.y_stride + j;
    __m512 total[kTileRows];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const bool begun = first_ != 0 && r < n_rows_;
      total[r] = begun ? _mm512_maskz_loadu_ps(exist, y + r * a_.y_stride) : _mm512_setzero_ps();
    }
    a_.has_min ? AddGroups<true>(panel, total) : AddGroups<false>(panel, total);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      if (r < n_rows_) _mm512_mask_storeu_ps(y + r * a_.y_stride, exist, total[r]);
    }
  }

 private:
  // A tile is multiplied two groups ahead of its sums' use and stored one ahead, so that neither
  // the product nor the way through memory is waited for.
  template <bool kHasMin>
  [[gnu::always_inline]] inline void AddGroups(const BlockPanel& panel,
                                               __m512 (&total)[kTileRows]) {
    Multiply<0>(panel, 0);
    StoreTile<0>(sums_[0], kTileBytes);
    if (n_groups_ > 1) Multiply<1>(panel, 1);
    for (std::size_t g = 0; g < n_groups_; ++g) {
      if (g % 2 == 0) {
        if (g + 2 < n_groups_) Multiply<0>(panel, g + 2);
        if (g + 1 < n_groups_) StoreTile<1>(sums_[1], kTileBytes);
        Add<kHasMin>(panel, sums_[0], g, total);
      } else {
        if (g + 2 < n_groups_) Multiply<1>(panel, g + 2);
        if (g + 1 < n_groups_) StoreTile<0>(sums_[0], kTileBytes);
        Add<kHasMin>(panel, sums_[1], g, total);
      }
    }
  }

  template <int kTile>
  [[gnu::always_inline]] inline void Multiply(const BlockPanel& panel, std::size_t g) {
    ZeroTile<kTile>();
    LoadTile<2>(a_.x.q + row_ * a_.x.q_stride + (first_ + g) * kGroup, a_.x.q_stride);
    LoadTile<3>(panel.q + (first_ + g) * kGroup * kBlockPanelOutputs, kTileBytes);
    DotSigned::Run<kTile, 2, 3>();
  }

  template <bool kHasMin>
  [[gnu::always_inline]] inline void Add(const BlockPanel& panel,
                                         const std::int32_t (*sums)[kLanes], std::size_t g,
                                         __m512 (&total)[kTileRows]) const {
    const __m512 scale = _mm512_load_ps(panel.scale + (first_ + g) * kBlockPanelOutputs);
    const float* const x_scale = scales_.values[g];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      total[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums[r])),
                                 _mm512_mul_ps(scale, _mm512_set1_ps(x_scale[r])), total[r]);
    }
    if constexpr (!kHasMin) return;
    const __m512 min = _mm512_load_ps(panel.min + (first_ + g) * kBlockPanelOutputs);
    const float* const offset = offsets_.values[g];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      total[r] = _mm512_fmadd_ps(min, _mm512_set1_ps(offset[r]), total[r]);
    }
  }

  const DotBlocksArgs& a_;
  const std::size_t row_, n_rows_;
  std::size_t first_ = 0, n_groups_ = 0;
  ByGroup scales_, offsets_;
  alignas(64) std::int32_t sums_[2][kTileRows][kLanes] = {};  // zeros where rows do not exist
};

}  // namespace

// Tiles of sixteen weights a group would spend most of their time on the scales.
void DotBlocksAmxInt8(const DotBlocksArgs& a) {
  if (a.group != kGroup) return DotBlocksAvx512Vnni(a);
  const std::size_t n_groups = a.k / kGroup;
  std::size_t configured = 0;  // rows
  for (std::size_t i = 0; i < a.m; i += kTileRows) {
    const std::size_t n_rows = a.m - i < kTileRows ? a.m - i : kTileRows;
    if (n_rows != configured) Configure(Config(n_rows));
    configured = n_rows;
    TileRows rows(a, i, n_rows);
    for (std::size_t g = 0; g < n_groups; g += kPartGroups) {
      rows.Enter(g, n_groups - g < kPartGroups ? n_groups - g : kPartGroups);
      for (std::size_t j = 0; j < a.n; j += kBlockPanelOutputs) rows.Run(j);
    }
  }
  ReleaseTiles();
}

}  // namespace lattice::kernels
