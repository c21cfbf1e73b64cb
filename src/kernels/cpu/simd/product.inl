#pragma once

// Products of a few rows with a panel of columns, on Vec. Included after a vec_*.inl and
// kTileVecs: Vecs of columns that share registers with kTileRows rows.
//
// Each element is a chain of fused multiply-adds in rising order of the depth, whatever the number
// of rows and columns of a call.

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileRows = 6;

// Calls f(0) to f(n - 1) with numbers that the compiler knows from the start: it keeps an array in
// registers only if no loop indexes it.
template <std::size_t n, typename F>
[[gnu::always_inline]] inline void Unrolled(const F& f) {
  if constexpr (n > 0) {
    Unrolled<n - 1>(f);
    f(n - 1);
  }
}

// How far ahead of its use a stream from memory is asked for.
constexpr std::size_t kAheadBytes = 4096, kLineBytes = 64;

// The line `bytes` behind p, which may lie outside of everything. Always inline, as is whoever
// calls it for nothing else: g++ 12 takes a function that only prefetches for one without effect.
[[gnu::always_inline]] inline void PrefetchLine(const void* p, std::size_t bytes) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + bytes));
}

// Columns of f32, `stride` numbers from one row to the next.
struct F32Panel {
  const float* data;
  std::size_t stride;
  Vec At(std::size_t d, std::size_t col) const { return Load(data + d * stride + col); }
  // A panel has Prefetch(row, first column of up to 64), and nothing to do here: rows are cached.
  void Prefetch(std::size_t, std::size_t) const {}
};

// A panel may have a MultiplyAdd of its own.
template <typename Panel>
[[gnu::always_inline]] inline Vec MultiplyAdd(Vec x, Vec w, Vec sum) {
  if constexpr (requires { Panel::MultiplyAdd(x, w, sum); }) {
    return Panel::MultiplyAdd(x, w, sum);
  } else {
    return Fma(x, w, sum);
  }
}

// y[r][c] = (scale == null ? 0 : scale[r] y[r][c]) + sum over d of x[r][d] * panel[d][c].
template <typename Panel>
struct ProductArgs {
  const float* x;
  std::size_t x_stride;
  std::size_t n_rows;
  Panel panel;
  std::size_t depth;
  const float* scale;
  float* y;
  std::size_t y_stride;
};

template <std::size_t R, std::size_t V, typename Panel>
inline void ProductTile(const ProductArgs<Panel>& args, std::size_t row, std::size_t col) {
  const std::size_t x_stride = args.x_stride, y_stride = args.y_stride, depth = args.depth;
  const float* x = args.x + row * x_stride;
  float* y = args.y + row * y_stride + col;
  const Panel panel = args.panel;
  Vec sum[R][V];
  if (args.scale == nullptr) {
    Unrolled<R * V>([&](std::size_t i) { sum[i / V][i % V] = Set1(0.0f); });
  } else {
    const float* scale = args.scale + row;
    Unrolled<R * V>([&](std::size_t i) {
      sum[i / V][i % V] = Mul(Load(y + i / V * y_stride + i % V * kLanes), Set1(scale[i / V]));
    });
  }
  for (std::size_t d = 0; d < depth; ++d) {
    panel.Prefetch(d, col);
    Vec w[V];
    Unrolled<V>([&](std::size_t v) { w[v] = panel.At(d, col + v * kLanes); });
    Unrolled<R>([&](std::size_t r) {
      const Vec factor = Set1(x[r * x_stride + d]);
      Unrolled<V>([&](std::size_t v) { sum[r][v] = MultiplyAdd<Panel>(factor, w[v], sum[r][v]); });
    });
  }
  Unrolled<R * V>(
      [&](std::size_t i) { Store(y + i / V * y_stride + i % V * kLanes, sum[i / V][i % V]); });
}

template <std::size_t V, typename Panel>
void ProductColumns(const ProductArgs<Panel>& args, std::size_t col) {
  std::size_t r = 0;
  for (; r + kTileRows <= args.n_rows; r += kTileRows) ProductTile<kTileRows, V>(args, r, col);
  switch (args.n_rows - r) {
    case 5:
      return ProductTile<5, V>(args, r, col);
    case 4:
      return ProductTile<4, V>(args, r, col);
    case 3:
      return ProductTile<3, V>(args, r, col);
    case 2:
      return ProductTile<2, V>(args, r, col);
    case 1:
      return ProductTile<1, V>(args, r, col);
    default:
      return;
  }
}

// For columns 0..n_cols, a multiple of kLanes.
template <std::size_t V, typename Panel>
void ProductFrom(const ProductArgs<Panel>& args, std::size_t n_cols, std::size_t col) {
  for (; col + V * kLanes <= n_cols; col += V * kLanes) ProductColumns<V>(args, col);
  if constexpr (V > 1) ProductFrom<V - 1>(args, n_cols, col);
}

template <typename Panel>
void Product(const ProductArgs<Panel>& args, std::size_t n_cols) {
  ProductFrom<kTileVecs>(args, n_cols, 0);
}

}  // namespace
}  // namespace lattice::kernels
