#include "kernels/cpu/dot_blocks/variants.h"
#include "kernels/cpu/simd/amx_tiles.inl"

namespace lattice::kernels {
namespace {

// A group of 32 weights is one tile product: sixteen rows of x by sixteen outputs.
static_assert(kBlockPanelOutputs == kTileRows);
constexpr std::size_t kGroup = kInputBlock;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kMaxGroups = 1024;

TileConfig Config() {
  TileConfig config;
  config.Set(0, kTileRows);  // sums, in turn
  config.Set(1, kTileRows);
  config.Set(2, kTileRows);  // x
  config.row_bytes[2] = kGroup;
  config.Set(3, kGroup / 4);  // weights
  return config;
}

// What sixteen rows of x lack for a zero of the weights: [16][n_groups].
struct Corrections {
  alignas(64) std::int32_t values[kTileRows * kMaxGroups];

  void Set(const DotBlocksArgs& a, std::size_t i, std::size_t n_groups) {
    const __m512i less_zero = _mm512_set1_epi32(-a.zero);
    const std::int32_t* sums = a.x.sums + i * a.x.n_blocks;
    for (std::size_t r = 0; r < kTileRows; ++r) {
      for (std::size_t g = 0; g < n_groups; g += kLanes) {
        const std::size_t n = n_groups - g < kLanes ? n_groups - g : kLanes;
        const auto exists = static_cast<__mmask16>((1u << n) - 1u);
        const __m512i all = _mm512_maskz_loadu_epi32(exists, sums + r * a.x.n_blocks + g);
        _mm512_mask_storeu_epi32(values + r * n_groups + g, exists,
                                 _mm512_mullo_epi32(all, less_zero));
      }
    }
  }
};

// Sixteen rows of x and one panel.
class TileRun {
 public:
  TileRun(const DotBlocksArgs& a, std::size_t i, const BlockPanel& w,
          const Corrections& corrections)
      : a_(a),
        w_(w),
        n_groups_(a.k / kGroup),
        x_(a.x.q + i * a.x.q_stride),
        x_scale_(a.x.scale + i * a.x.n_blocks),
        x_offset_(a.x.offset + i * a.x.n_blocks),
        corrections_(corrections) {}

  // y [16, y_stride], the outputs that exist.
  void Run(float* y, __mmask16 exists) {
    // A tile is multiplied two groups ahead of its sums' use and stored one ahead, so that neither
    // the product nor the way through memory is waited for.
    Multiply<0>(0);
    StoreTile<0>(sums_[0], kTileBytes);
    if (n_groups_ > 1) Multiply<1>(1);
    __m512 total[kTileRows];
#pragma GCC unroll 16
    for (__m512& sum : total) sum = _mm512_setzero_ps();
    for (std::size_t g = 0; g < n_groups_; ++g) {
      if (g % 2 == 0) {
        if (g + 2 < n_groups_) Multiply<0>(g + 2);
        if (g + 1 < n_groups_) StoreTile<1>(sums_[1], kTileBytes);
        Add(sums_[0], g, total);
      } else {
        if (g + 2 < n_groups_) Multiply<1>(g + 2);
        if (g + 1 < n_groups_) StoreTile<0>(sums_[0], kTileBytes);
        Add(sums_[1], g, total);
      }
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      _mm512_mask_storeu_ps(y + r * a_.y_stride, exists, total[r]);
    }
  }

 private:
  template <int kTile>
  [[gnu::always_inline]] inline void Multiply(std::size_t g) {
    ZeroTile<kTile>();
    LoadTile<2>(x_ + g * kGroup, a_.x.q_stride);
    LoadTile<3>(w_.q + g * kGroup * kBlockPanelOutputs, kTileBytes);
    DotSignedUnsigned::Run<kTile, 2, 3>();
  }

  [[gnu::always_inline]] inline void Add(const std::int32_t (*sums)[kLanes], std::size_t g,
                                         __m512 (&total)[kTileRows]) const {
    const __m512 scale = _mm512_load_ps(w_.scale + g * kBlockPanelOutputs);
    const float* s = x_scale_ + g;
    const std::int32_t* correction = corrections_.values + g;
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      __m512i sum = _mm512_load_si512(sums[r]);
      if (a_.zero != 0) sum = _mm512_add_epi32(sum, _mm512_set1_epi32(*correction));
      total[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, _mm512_set1_ps(*s)),
                                 total[r]);
      s += a_.x.n_blocks;
      correction += n_groups_;
    }
    if (!a_.has_min) return;
    const __m512 min = _mm512_load_ps(w_.min + g * kBlockPanelOutputs);
    const float* offset = x_offset_ + g;
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kTileRows; ++r) {
      total[r] = _mm512_fmadd_ps(min, _mm512_set1_ps(*offset), total[r]);
      offset += a_.x.n_blocks;
    }
  }

  const DotBlocksArgs& a_;
  const BlockPanel& w_;
  std::size_t n_groups_;
  const std::int8_t* x_;
  const float* x_scale_;
  const float* x_offset_;
  const Corrections& corrections_;
  alignas(64) std::int32_t sums_[2][kTileRows][kLanes];
};

void RunTiles(const DotBlocksArgs& a, std::size_t n_rows) {
  Configure(Config());
  Corrections corrections;
  for (std::size_t i = 0; i < n_rows; i += kTileRows) {
    if (a.zero != 0) corrections.Set(a, i, a.k / kGroup);
    for (std::size_t j = 0; j < a.n; j += kBlockPanelOutputs) {
      const std::size_t n = a.n - j < kLanes ? a.n - j : kLanes;
      TileRun(a, i, a.w[j / kBlockPanelOutputs], corrections)
          .Run(a.y + i * a.y_stride + j, static_cast<__mmask16>((1u << n) - 1u));
    }
  }
  ReleaseTiles();
}

}  // namespace

// Tiles of sixteen weights a group would spend most of their time on the scales.
void DotBlocksAmxInt8(const DotBlocksArgs& a) {
  const bool fits = a.group == kGroup && a.k / kGroup <= kMaxGroups;
  const std::size_t n_rows = fits ? a.m / kTileRows * kTileRows : 0;
  if (n_rows != 0) RunTiles(a, n_rows);
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
