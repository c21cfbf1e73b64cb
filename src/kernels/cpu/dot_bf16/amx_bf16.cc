#include "kernels/cpu/dot_bf16/variants.h"
#include "kernels/cpu/simd/amx_tiles.inl"

namespace lattice::kernels {
namespace {

// Weights are the left operand: sixteen rows where they lie, 32 inputs of each. Rows of x are the
// right one, as DotBf16Args::x_row says. A pass has two tiles of weights by two of x.
constexpr std::size_t kStep = 32;
constexpr std::size_t kAheadBytes = 1024;

// Up to sixteen rows of weights. They are loaded in place when they lie evenly spaced.
struct WeightRows {
  const std::byte* const* rows = nullptr;
  std::size_t n = 0;
  std::ptrdiff_t stride = 0;  // 0: uneven
};

WeightRows RowsAt(const DotBf16Args& a, std::size_t j) {
  WeightRows w;
  w.rows = a.w + j;
  w.n = a.n - j < kTileRows ? a.n - j : kTileRows;
  w.stride = w.n > 1 ? w.rows[1] - w.rows[0] : static_cast<std::ptrdiff_t>(kTileBytes);
  for (std::size_t i = 1; i < w.n; ++i) {
    if (w.rows[i] - w.rows[i - 1] != w.stride) w.stride = 0;
  }
  return w;
}

// Rows of x that lie side by side in one group: a tile's columns.
struct InputRun {
  const std::uint16_t* x = nullptr;
  std::size_t row = 0;  // of y
  std::size_t n = 0;
};

InputRun RunAt(const DotBf16Args& a, std::size_t i) {
  const std::size_t row = a.x_row + i, in_group = row % kDotBf16Group;
  InputRun run;
  run.x = a.x + (row - in_group) * a.x_stride + 2 * in_group;
  run.row = i;
  run.n = a.m - i < kDotBf16Group - in_group ? a.m - i : kDotBf16Group - in_group;
  return run;
}

// n_bytes of each row, then zeros, side by side.
inline void Collect(const WeightRows& w, std::size_t at, std::size_t n_bytes, std::byte* out) {
  const __mmask32 exists = static_cast<__mmask32>((std::uint64_t{1} << (n_bytes / 2)) - 1);
  for (std::size_t i = 0; i < w.n; ++i) {
    _mm512_store_si512(out + i * kTileBytes, _mm512_maskz_loadu_epi16(exists, w.rows[i] + at));
  }
}

template <int kTile>
[[gnu::always_inline]] inline void LoadWeights(const WeightRows& w, std::size_t at,
                                               std::size_t n_bytes, std::byte* scratch) {
  if (w.stride != 0 && n_bytes == kTileBytes) {
    LoadTile<kTile>(w.rows[0] + at, static_cast<std::size_t>(w.stride));
    return;
  }
  Collect(w, at, n_bytes, scratch);
  LoadTile<kTile>(scratch, kTileBytes);
}

inline void PrefetchRows(const WeightRows& w, std::size_t at) {
  for (std::size_t i = 0; i < w.n; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(w.rows[i] + at + kAheadBytes), _MM_HINT_T0);
  }
}

// v[i] lane j <-> v[j] lane i.
inline void Transpose(__m512 (&v)[16]) {
  __m512 t[16];
  for (std::size_t i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(v[i], v[i + 1]), b = _mm512_unpackhi_ps(v[i], v[i + 1]);
    const __m512 c = _mm512_unpacklo_ps(v[i + 2], v[i + 3]);
    const __m512 d = _mm512_unpackhi_ps(v[i + 2], v[i + 3]);
    const auto pairs = [](__m512 p, __m512 q, bool high) {
      const __m512d x = _mm512_castps_pd(p), y = _mm512_castps_pd(q);
      return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
    };
    t[i] = pairs(a, c, false);
    t[i + 1] = pairs(a, c, true);
    t[i + 2] = pairs(b, d, false);
    t[i + 3] = pairs(b, d, true);
  }
  // t[4 q + r] holds columns r, 4 + r, 8 + r, 12 + r of rows 4 q to 4 q + 3, one in each quarter.
  for (std::size_t r = 0; r < 4; ++r) {
    const __m512 low02 = _mm512_shuffle_f32x4(t[r], t[4 + r], 0x88);
    const __m512 low13 = _mm512_shuffle_f32x4(t[r], t[4 + r], 0xDD);
    const __m512 high02 = _mm512_shuffle_f32x4(t[8 + r], t[12 + r], 0x88);
    const __m512 high13 = _mm512_shuffle_f32x4(t[8 + r], t[12 + r], 0xDD);
    v[r] = _mm512_shuffle_f32x4(low02, high02, 0x88);
    v[8 + r] = _mm512_shuffle_f32x4(low02, high02, 0xDD);
    v[4 + r] = _mm512_shuffle_f32x4(low13, high13, 0x88);
    v[12 + r] = _mm512_shuffle_f32x4(low13, high13, 0xDD);
  }
}

// sums [w.n][16]: output j of row i is sums[j][i].
template <int kTile>
[[gnu::always_inline]] inline void Finish(const DotBf16Args& a, const WeightRows& w,
                                          const InputRun& run) {
  alignas(64) float sums[kTileRows][16];
  StoreTile<kTile>(sums, kTileBytes);
  __m512 v[16];
  for (std::size_t j = 0; j < 16; ++j) v[j] = _mm512_load_ps(sums[j < w.n ? j : 0]);
  Transpose(v);
  const auto exists = static_cast<__mmask16>((1u << w.n) - 1u);
  const auto j = static_cast<std::size_t>(w.rows - a.w);
  alignas(64) float outputs[16][16];
  for (std::size_t i = 0; i < 16; ++i) _mm512_store_ps(outputs[i], v[i]);
  for (std::size_t i = 0; i < run.n; ++i) {
    _mm512_mask_storeu_ps(a.y + (run.row + i) * a.y_stride + j, exists, _mm512_load_ps(outputs[i]));
  }
}

// Tiles 0 to 3 are sums (two of weights by two of x), 4 and 5 rows of x, 6 and 7 weights.
TileConfig ConfigFor(const WeightRows (&w)[2], const InputRun (&runs)[2]) {
  TileConfig config;
  const auto set = [&config](std::size_t tile, std::size_t rows, std::size_t row_bytes) {
    const bool used = rows != 0 && row_bytes != 0;
    config.rows[tile] = static_cast<std::uint8_t>(used ? rows : 0);
    config.row_bytes[tile] = static_cast<std::uint16_t>(used ? row_bytes : 0);
  };
  for (std::size_t p = 0; p < 2; ++p) {
    for (std::size_t q = 0; q < 2; ++q) set(2 * p + q, w[p].n, 4 * runs[q].n);
    set(4 + p, kTileRows, 4 * runs[p].n);
    set(6 + p, w[p].n, kTileBytes);
  }
  return config;
}

template <bool kTwoWeights, bool kTwoRuns>
void Pass(const DotBf16Args& a, const WeightRows (&w)[2], const InputRun (&runs)[2]) {
  alignas(64) std::byte scratch[2][kTileRows * kTileBytes];
  ZeroTile<0>();
  if constexpr (kTwoRuns) ZeroTile<1>();
  if constexpr (kTwoWeights) ZeroTile<2>();
  if constexpr (kTwoWeights && kTwoRuns) ZeroTile<3>();
  for (std::size_t t = 0; t < a.k; t += kStep) {
    const std::size_t n_bytes = a.k - t < kStep ? 2 * (a.k - t) : kTileBytes;
    if constexpr (!kTwoRuns) {
      PrefetchRows(w[0], 2 * t);
      if constexpr (kTwoWeights) PrefetchRows(w[1], 2 * t);
    }
    LoadWeights<6>(w[0], 2 * t, n_bytes, scratch[0]);
    LoadTile<4>(runs[0].x + t * kDotBf16Group, kTileBytes);
    DotBf16::Run<0, 6, 4>();
    if constexpr (kTwoRuns) {
      LoadTile<5>(runs[1].x + t * kDotBf16Group, kTileBytes);
      DotBf16::Run<1, 6, 5>();
    }
    if constexpr (kTwoWeights) {
      LoadWeights<7>(w[1], 2 * t, n_bytes, scratch[1]);
      DotBf16::Run<2, 7, 4>();
      if constexpr (kTwoRuns) DotBf16::Run<3, 7, 5>();
    }
  }
  Finish<0>(a, w[0], runs[0]);
  if constexpr (kTwoRuns) Finish<1>(a, w[0], runs[1]);
  if constexpr (kTwoWeights) Finish<2>(a, w[1], runs[0]);
  if constexpr (kTwoWeights && kTwoRuns) Finish<3>(a, w[1], runs[1]);
}

}  // namespace

void DotBf16Amx(const DotBf16Args& a) {
  for (std::size_t i = 0; i < a.m;) {
    InputRun runs[2] = {RunAt(a, i), {}};
    i += runs[0].n;
    if (i < a.m) {
      runs[1] = RunAt(a, i);
      i += runs[1].n;
    }
    for (std::size_t j = 0; j < a.n; j += 2 * kTileRows) {
      const WeightRows w[2] = {RowsAt(a, j),
                               j + kTileRows < a.n ? RowsAt(a, j + kTileRows) : WeightRows{}};
      Configure(ConfigFor(w, runs));
      const bool two_runs = runs[1].n != 0;
      if (w[1].n != 0) {
        two_runs ? Pass<true, true>(a, w, runs) : Pass<true, false>(a, w, runs);
      } else {
        two_runs ? Pass<false, true>(a, w, runs) : Pass<false, false>(a, w, runs);
      }
    }
  }
  ReleaseTiles();
}

}  // namespace lattice::kernels
