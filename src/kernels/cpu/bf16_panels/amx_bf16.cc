#include "kernels/cpu/bf16_panels/variants.h"
#include "kernels/cpu/simd/amx_tiles.inl"

namespace lattice::kernels {
namespace {

// A tile of weights is sixteen pairs of inputs by sixteen outputs.
static_assert(kBlockPanelOutputs == kTileRows && kBf16PieceRows == kTileRows);
static_assert(kBf16PanelInputs * sizeof(std::uint16_t) == kTileBytes);
constexpr std::size_t kLanes = 16;

// Tiles 0 to 3 are sums (two of rows by two panels), 4 and 5 rows of x, 6 and 7 weights.
TileConfig ConfigFor(std::size_t first_rows, std::size_t second_rows) {
  TileConfig config;
  for (int panel = 0; panel < 2; ++panel) {
    config.Set(panel, first_rows);
    config.Set(2 + panel, second_rows);
    config.Set(6 + panel, kTileRows);
  }
  config.Set(4, first_rows);
  config.Set(5, second_rows);
  return config;
}

// Byte b of each lane as f32, less zero, times scale, plus min.
template <int kByte, bool kHasMin>
[[gnu::always_inline]] inline __m512 Weight(__m512i line, __m512i zero, __m512 scale, __m512 min) {
  __m512i q = kByte == 0 ? line : _mm512_srli_epi32(line, 8 * kByte);
  if (kByte != 3) q = _mm512_and_si512(q, _mm512_set1_epi32(255));
  const __m512 value = _mm512_cvtepi32_ps(_mm512_sub_epi32(q, zero));
  return kHasMin ? _mm512_fmadd_ps(value, scale, min) : _mm512_mul_ps(value, scale);
}

template <bool kHasMin>
void ExpandPanel(const BlockPanel& panel, const BlockForm& form, std::size_t k,
                 std::uint16_t* out) {
  const __m512i zero = _mm512_set1_epi32(form.zero);
  // Two vectors of sixteen outputs become sixteen pairs.
  alignas(64) static constexpr std::uint16_t kPairs[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i pairs = _mm512_load_si512(kPairs);
  for (std::size_t g = 0; g < k / form.group; ++g) {
    const __m512 scale = _mm512_load_ps(panel.scale + g * kLanes);
    const __m512 min = kHasMin ? _mm512_load_ps(panel.min + g * kLanes) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (std::size_t t = g * form.group; t < (g + 1) * form.group; t += 4) {
      const __m512i line = _mm512_load_si512(panel.q + t * kLanes);
      const __m512 w[4] = {
          Weight<0, kHasMin>(line, zero, scale, min), Weight<1, kHasMin>(line, zero, scale, min),
          Weight<2, kHasMin>(line, zero, scale, min), Weight<3, kHasMin>(line, zero, scale, min)};
      for (std::size_t p = 0; p < 2; ++p) {
        const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(w[2 * p + 1], w[2 * p]));
        _mm512_store_si512(out + (t + 2 * p) * kLanes, _mm512_permutexvar_epi16(pairs, both));
      }
    }
  }
}

void Expand(const BlockPanel& panel, const BlockForm& form, std::size_t k, std::uint16_t* out) {
  form.has_min ? ExpandPanel<true>(panel, form, k, out) : ExpandPanel<false>(panel, form, k, out);
}

// Sums of first_rows [+ second_rows] rows with one panel or two, into y.
template <bool kTwoRows, bool kTwoPanels>
[[gnu::always_inline]] inline void Tiles(const Bf16PanelsArgs& a, std::size_t i, std::size_t j) {
  const std::uint16_t* x = a.x + i * a.x_stride;
  const std::uint16_t* second = x + kTileRows * a.x_stride;
  const std::size_t x_bytes = a.x_stride * sizeof(std::uint16_t);
  const std::uint16_t* const* w = a.w + j / kLanes;
  ZeroTile<0>();
  if constexpr (kTwoPanels) ZeroTile<1>();
  if constexpr (kTwoRows) ZeroTile<2>();
  if constexpr (kTwoRows && kTwoPanels) ZeroTile<3>();
  for (std::size_t t = 0; t < a.k; t += kBf16PanelInputs) {
    LoadTile<6>(w[0] + t * kLanes, kTileBytes);
    LoadTile<4>(x + t, x_bytes);
    DotBf16::Run<0, 4, 6>();
    if constexpr (kTwoPanels) {
      LoadTile<7>(w[1] + t * kLanes, kTileBytes);
      DotBf16::Run<1, 4, 7>();
    }
    if constexpr (kTwoRows) {
      LoadTile<5>(second + t, x_bytes);
      DotBf16::Run<2, 5, 6>();
      if constexpr (kTwoPanels) DotBf16::Run<3, 5, 7>();
    }
  }
}

// A tile of n_rows sums as the first n of sixteen outputs of y's rows.
template <int kTile>
void StorePart(float* y, std::size_t y_stride, std::size_t n_rows, std::size_t n) {
  if (n >= kLanes) return StoreTile<kTile>(y, y_stride * sizeof(float));
  alignas(64) float sums[kTileRows][kLanes];
  StoreTile<kTile>(sums, kTileBytes);
  const auto exists = static_cast<__mmask16>((1u << n) - 1u);
  for (std::size_t r = 0; r < n_rows; ++r) {
    _mm512_mask_storeu_ps(y + r * y_stride, exists, _mm512_load_ps(sums[r]));
  }
}

void Dot(const Bf16PanelsArgs& a) {
  std::size_t shape = 0;  // rows that the tiles are configured for
  for (std::size_t i = 0; i < a.m; i += 2 * kTileRows) {
    const std::size_t n_rows = a.m - i < 2 * kTileRows ? a.m - i : 2 * kTileRows;
    const std::size_t first = n_rows < kTileRows ? n_rows : kTileRows, second = n_rows - first;
    if (shape != n_rows) Configure(ConfigFor(first, second));
    shape = n_rows;
    for (std::size_t j = 0; j < a.n; j += 2 * kLanes) {
      const bool two = j + kLanes < a.n;
      if (second != 0) {
        two ? Tiles<true, true>(a, i, j) : Tiles<true, false>(a, i, j);
      } else {
        two ? Tiles<false, true>(a, i, j) : Tiles<false, false>(a, i, j);
      }
      float* y = a.y + i * a.y_stride + j;
      StorePart<0>(y, a.y_stride, first, a.n - j);
      if (two) StorePart<1>(y + kLanes, a.y_stride, first, a.n - j - kLanes);
      if (second == 0) continue;
      y += kTileRows * a.y_stride;
      StorePart<2>(y, a.y_stride, second, a.n - j);
      if (two) StorePart<3>(y + kLanes, a.y_stride, second, a.n - j - kLanes);
    }
  }
  ReleaseTiles();
}

void MultiplyPacked(const PackedBf16Args& a) {
  Configure(ConfigFor(a.m, 0));
  auto* expanded = reinterpret_cast<std::uint16_t*>(a.scratch);
  BlockPanel piece;
  piece.q = reinterpret_cast<std::uint8_t*>(expanded + kBf16PieceInputs * kLanes);
  piece.scale = reinterpret_cast<float*>(piece.q + kBf16PieceInputs * kLanes);
  piece.min = piece.scale + kBf16PieceInputs / 16 * kLanes;
  const std::size_t x_bytes = a.x_stride * sizeof(std::uint16_t);
  for (std::size_t j = 0; j < a.n; j += kLanes) {
    const std::byte* from = a.panels + j / kLanes * a.panel_bytes;
    ZeroTile<0>();
    for (std::size_t t = 0; t < a.k; t += kBf16PieceInputs, from += a.piece_bytes) {
      const std::size_t n = a.k - t < kBf16PieceInputs ? a.k - t : kBf16PieceInputs;
      a.unpack(from, n, piece);
      Expand(piece, a.form, n, expanded);
      for (std::size_t u = 0; u < n; u += kBf16PanelInputs) {
        LoadTile<6>(expanded + u * kLanes, kTileBytes);
        LoadTile<4>(a.x + t + u, x_bytes);
        DotBf16::Run<0, 4, 6>();
      }
    }
    StorePart<0>(a.y + j, a.y_stride, a.m, a.n - j);
  }
  ReleaseTiles();
}

}  // namespace

const Bf16PanelsFns kBf16PanelsAmx = {Expand, Dot, MultiplyPacked};

}  // namespace lattice::kernels
