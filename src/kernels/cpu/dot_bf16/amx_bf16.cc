#include "kernels/cpu/dot_bf16/variants.h"
#include "kernels/cpu/simd/amx_tiles.inl"
#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/transpose_avx512.inl"

namespace lattice::kernels {
namespace {

// Weights are the left operand: sixteen rows, 32 inputs of each. Rows of x are the right one, as
// DotBf16Args::x says. A pass has two tiles of weights by two of x.
constexpr std::size_t kStep = 32;
constexpr std::size_t kAheadBytes = 1024;

// Up to sixteen rows of weights where they lie. They are loaded in place when they lie evenly
// spaced.
struct WeightRows {
  const std::byte* const* rows = nullptr;
  std::size_t n = 0;
  std::size_t output = 0;     // the first one's
  std::ptrdiff_t stride = 0;  // 0: uneven
};

// Up to sixteen rows of weights, packed: tile after tile, so that a tile's rows do not meet in the
// same sets of a cache.
struct WeightTiles {
  const std::uint16_t* tiles = nullptr;
  std::size_t n = 0;
  std::size_t output = 0;
};
constexpr std::size_t kTileWords = kTileRows * kStep;

WeightRows RowsAt(const DotBf16Args& a, std::size_t j) {
  WeightRows w;
  w.rows = a.w + j;
  w.output = j;
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

WeightTiles TilesAt(const DotBf16ManyArgs& a, std::size_t j) {
  return {a.w + j / kTileRows * DotBf16LaneSteps(a.k) * kTileWords,
          a.n - j < kTileRows ? a.n - j : kTileRows, j};
}

template <typename Args>
InputRun RunAt(const Args& a, std::size_t i) {
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

// The inputs from t on that exist, at most kStep.
template <int kTile>
[[gnu::always_inline]] inline void LoadWeights(const WeightRows& w, std::size_t t, std::size_t k,
                                               std::byte* scratch) {
  const std::size_t at = 2 * t, n_bytes = k - t < kStep ? 2 * (k - t) : kTileBytes;
  if (w.stride != 0 && n_bytes == kTileBytes) {
    LoadTile<kTile>(w.rows[0] + at, static_cast<std::size_t>(w.stride));
    return;
  }
  Collect(w, at, n_bytes, scratch);
  LoadTile<kTile>(scratch, kTileBytes);
}

template <int kTile>
[[gnu::always_inline]] inline void LoadWeights(const WeightTiles& w, std::size_t t,
                                               std::size_t /*k*/, std::byte* /*scratch*/) {
  LoadTile<kTile>(w.tiles + t * kTileRows, kTileBytes);
}

inline void Prefetch(const WeightRows& w, std::size_t t) {
  for (std::size_t i = 0; i < w.n; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(w.rows[i] + 2 * t + kAheadBytes), _MM_HINT_T0);
  }
}
inline void Prefetch(const WeightTiles& /*w*/, std::size_t /*t*/) {}

// sums [w.n][16]: output j of row i is sums[j][i].
template <int kTile, typename Args, typename Weights>
[[gnu::always_inline]] inline void Finish(const Args& a, const Weights& w, const InputRun& run) {
  alignas(64) float sums[kTileRows][16];
  StoreTile<kTile>(sums, kTileBytes);
  __m512 v[16];
  for (std::size_t j = 0; j < 16; ++j) v[j] = _mm512_load_ps(sums[j < w.n ? j : 0]);
  Transpose(v);
  const auto exists = static_cast<__mmask16>((1u << w.n) - 1u);
  alignas(64) float outputs[16][16];
  for (std::size_t i = 0; i < 16; ++i) _mm512_store_ps(outputs[i], v[i]);
  for (std::size_t i = 0; i < run.n; ++i) {
    _mm512_mask_storeu_ps(a.y + (run.row + i) * a.y_stride + w.output, exists,
                          _mm512_load_ps(outputs[i]));
  }
}

// Tiles 0 to 3 are sums (two of weights by two of x), 4 and 5 rows of x, 6 and 7 weights.
template <typename Weights>
TileConfig ConfigFor(const Weights (&w)[2], const InputRun (&runs)[2]) {
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

template <bool kTwoWeights, bool kTwoRuns, typename Args, typename Weights>
void Pass(const Args& a, const Weights (&w)[2], const InputRun (&runs)[2]) {
  alignas(64) std::byte scratch[2][kTileRows * kTileBytes];
  ZeroTile<0>();
  if constexpr (kTwoRuns) ZeroTile<1>();
  if constexpr (kTwoWeights) ZeroTile<2>();
  if constexpr (kTwoWeights && kTwoRuns) ZeroTile<3>();
  for (std::size_t t = 0; t < a.k; t += kStep) {
    if constexpr (!kTwoRuns) {
      Prefetch(w[0], t);
      if constexpr (kTwoWeights) Prefetch(w[1], t);
    }
    LoadWeights<6>(w[0], t, a.k, scratch[0]);
    LoadTile<4>(runs[0].x + t * kDotBf16Group, kTileBytes);
    DotBf16::Run<0, 6, 4>();
    if constexpr (kTwoRuns) {
      LoadTile<5>(runs[1].x + t * kDotBf16Group, kTileBytes);
      DotBf16::Run<1, 6, 5>();
    }
    if constexpr (kTwoWeights) {
      LoadWeights<7>(w[1], t, a.k, scratch[1]);
      DotBf16::Run<2, 7, 4>();
      if constexpr (kTwoRuns) DotBf16::Run<3, 7, 5>();
    }
  }
  Finish<0>(a, w[0], runs[0]);
  if constexpr (kTwoRuns) Finish<1>(a, w[0], runs[1]);
  if constexpr (kTwoWeights) Finish<2>(a, w[1], runs[0]);
  if constexpr (kTwoWeights && kTwoRuns) Finish<3>(a, w[1], runs[1]);
}

// `at` says where the weights of outputs from j on are.
template <typename Args, typename WeightsAt>
void Run(const Args& a, WeightsAt at) {
  for (std::size_t i = 0; i < a.m;) {
    InputRun runs[2] = {RunAt(a, i), {}};
    i += runs[0].n;
    if (i < a.m) {
      runs[1] = RunAt(a, i);
      i += runs[1].n;
    }
    for (std::size_t j = 0; j < a.n; j += 2 * kTileRows) {
      const bool two = j + kTileRows < a.n;
      const decltype(at(a, j)) w[2] = {at(a, j), two ? at(a, j + kTileRows) : decltype(at(a, j)){}};
      Configure(ConfigFor(w, runs));
      const bool two_runs = runs[1].n != 0;
      if (two) {
        two_runs ? Pass<true, true>(a, w, runs) : Pass<true, false>(a, w, runs);
      } else {
        two_runs ? Pass<false, true>(a, w, runs) : Pass<false, false>(a, w, runs);
      }
    }
  }
  ReleaseTiles();
}

// [n / 16][DotBf16LaneSteps(k)][16][32], zeros where weights do not exist.
void PackTiles(const std::byte* const* rows, std::size_t n, std::size_t k, std::uint16_t* out) {
  for (std::size_t first = 0; first < n; first += kTileRows) {
    for (std::size_t t = 0; t < k; t += kStep) {
      const std::size_t left = k - t < kStep ? k - t : kStep;
      const auto exist = static_cast<__mmask32>((std::uint64_t{1} << left) - 1);
      for (std::size_t r = 0; r < kTileRows; ++r, out += kStep) {
        _mm512_store_si512(out, first + r < n
                                    ? _mm512_maskz_loadu_epi16(exist, rows[first + r] + 2 * t)
                                    : _mm512_setzero_si512());
      }
    }
  }
}

void RunTiles(const DotBf16ManyArgs& args) { Run(args, TilesAt); }

}  // namespace

void DotBf16Amx(const DotBf16Args& args) { Run(args, RowsAt); }

const DotBf16ManyFns kDotBf16ManyAmx = {128, false, PackTiles, RunTiles};

}  // namespace lattice::kernels
