// Products of byte matrices with AMX tiles, for kernels that differ in the instruction and in what
// they do with the sums. Included by ISA files only.

#include "kernels/cpu/simd/amx_tiles.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kMaxRows = 2 * kTileRows;          // of x at a time
constexpr std::size_t kCols = 32;                        // outputs of a panel: two tiles
constexpr std::size_t kPanelStepBytes = 2 * kTileBytes;  // four bytes of each output
constexpr std::size_t kStreamAheadBytes = 8192;

// Tiles 0 to 3 are sums (two of rows by two of outputs), 4 and 5 inputs, 6 and 7 weights.
inline TileConfig ConfigFor(std::size_t first_rows, std::size_t second_rows) {
  TileConfig config;
  for (int tile = 0; tile < 2; ++tile) {
    config.Set(tile, first_rows);
    config.Set(2 + tile, second_rows);
    config.Set(6 + tile, kTileRows);
  }
  config.Set(4, first_rows);
  config.Set(5, second_rows);
  return config;
}

// Weights that will be wanted later, fetched into L2 a little with each step.
struct Prefetch {
  const std::byte* next;
  std::size_t step_bytes;
};

// Sums of first_rows [+ second_rows] rows of x, k_bytes each, with one panel. Dot::Run<C, A, B>()
// adds the products of tiles A and B to C.
template <typename Dot, bool kTwo>
[[gnu::always_inline]] inline void SumPanel(const std::byte* x, std::size_t k_bytes,
                                            std::size_t first_rows, const std::byte* panel,
                                            Prefetch fetch, void* sums) {
  constexpr std::size_t kSumStride = kCols * 4;
  ZeroTile<0>();
  ZeroTile<1>();
  if constexpr (kTwo) {
    ZeroTile<2>();
    ZeroTile<3>();
  }
  const std::byte* second = x + first_rows * k_bytes;
  for (std::size_t b = 0; b < k_bytes; b += kTileBytes) {
    const std::byte* weights = panel + b / 4 * kPanelStepBytes;
    for (std::size_t line = 0; line < fetch.step_bytes; line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(fetch.next + line), _MM_HINT_T1);
    }
    fetch.next += fetch.step_bytes;
    LoadTile<6>(weights, kPanelStepBytes);
    LoadTile<4>(x + b, k_bytes);
    LoadTile<7>(weights + kTileBytes, kPanelStepBytes);
    Dot::template Run<0, 4, 6>();
    Dot::template Run<1, 4, 7>();
    if constexpr (kTwo) {
      LoadTile<5>(second + b, k_bytes);
      Dot::template Run<2, 5, 6>();
      Dot::template Run<3, 5, 7>();
    }
  }
  auto* to = static_cast<std::byte*>(sums);
  StoreTile<0>(to, kSumStride);
  StoreTile<1>(to + kTileBytes, kSumStride);
  if constexpr (kTwo) {
    to += first_rows * kSumStride;
    StoreTile<2>(to, kSumStride);
    StoreTile<3>(to + kTileBytes, kSumStride);
  }
}

// Calls finish(sums, skip, row, n_rows, col) for every part of the product of x [m, k_bytes] with
// the panels of n outputs: sums[skip + r][c] belongs to row + r and col + c. k_bytes is a multiple
// of 64.
template <typename Dot, typename Sum, typename Finish>
[[gnu::always_inline]] inline void RunTiles(const std::byte* x, std::size_t m, std::size_t k_bytes,
                                            const std::byte* w, std::size_t n,
                                            const Finish& finish) {
  const std::size_t panel_bytes = k_bytes * kCols;
  const std::size_t n_panels = (n + kCols - 1) / kCols;
  // All tiles have the same height, so that they are configured once: the last one begins a little
  // earlier and drops the rows that were done.
  const std::size_t least_tiles = (m + kMaxRows - 1) / kMaxRows;
  const std::size_t height = (m + least_tiles - 1) / least_tiles;
  const std::size_t n_tiles = (m + height - 1) / height;
  const bool two = height > kTileRows;
  const std::size_t first_rows = two ? (height + 1) / 2 : height;
  const std::size_t step_bytes = (kTileRows * kPanelStepBytes / n_tiles + 63) / 64 * 64;
  Configure(ConfigFor(first_rows, height - first_rows));
  alignas(64) Sum sums[kMaxRows][kCols];
  for (std::size_t p = 0; p < n_panels; ++p) {
    const std::byte* panel = w + p * panel_bytes;
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      const std::size_t row = tile * height;
      const std::size_t begin = row + height > m ? m - height : row;
      // A lone tile reads the panels as one stream. Several share the work of fetching the next
      // one.
      Prefetch fetch{panel + kStreamAheadBytes, step_bytes};
      if (n_tiles > 1)
        fetch.next = panel + panel_bytes + tile * (k_bytes / kTileBytes) * step_bytes;
      if (two) {
        SumPanel<Dot, true>(x + begin * k_bytes, k_bytes, first_rows, panel, fetch, sums);
      } else {
        SumPanel<Dot, false>(x + begin * k_bytes, k_bytes, first_rows, panel, fetch, sums);
      }
      finish(sums, row - begin, row, begin + height - row, p * kCols);
    }
  }
  ReleaseTiles();
}

}  // namespace
}  // namespace lattice::kernels
