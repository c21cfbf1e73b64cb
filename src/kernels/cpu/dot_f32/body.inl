// DotF32 for the instruction set of the including file, which comes with its Vec, kXRows and kWRows
// (rows of a tile), LoadRow<kind>(p) (sixteen weights at any alignment), PrefetchRow(p) and
// StoreSums<n>(sums, y).

#include "kernels/cpu/dot_f32/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t ElementBytes(FloatRow kind) { return kind == FloatRow::kF32 ? 4 : 2; }

// The last n < 16 weights of a row, then zeros.
template <FloatRow kKind>
inline Vec LoadRowPart(const std::byte* p, std::size_t n) {
  alignas(64) std::byte whole[kLanes * ElementBytes(kKind)] = {};
  __builtin_memcpy(whole, p, n * ElementBytes(kKind));
  return LoadRow<kKind>(whole);
}

// What to fetch while a row is read: a little further on in a long row, else the row that its
// place in the tile reads next.
inline const std::byte* Ahead(const std::byte* row, const std::byte* next, std::size_t row_bytes) {
  constexpr std::size_t kLongRowBytes = 4096, kAheadBytes = 1024;
  return row_bytes > kLongRowBytes ? row + kAheadBytes : next;
}

// kX rows of x from i by kW rows of weights from j.
template <FloatRow kKind, int kX, int kW>
void Tile(const DotF32Args& a, std::size_t i, std::size_t j) {
  Vec sum[kX][kW];
#pragma GCC unroll 8
  for (int r = 0; r < kX; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kW; ++c) sum[r][c] = Set1(0);
  }
  const std::byte *w[kW], *ahead[kW];
#pragma GCC unroll 8
  for (int c = 0; c < kW; ++c) {
    w[c] = a.w[j + static_cast<std::size_t>(c)];
    ahead[c] = Ahead(w[c], a.w[j + static_cast<std::size_t>(kW + c)], a.k * ElementBytes(kKind));
  }
  const float* x = a.x + i * a.x_stride;
  std::size_t t = 0;
  for (; t + kLanes <= a.k; t += kLanes) {
    Vec weights[kW];
#pragma GCC unroll 8
    for (int c = 0; c < kW; ++c) {
      const std::byte* at = w[c] + t * ElementBytes(kKind);
      if constexpr (kX == 1) PrefetchRow(ahead[c] + t * ElementBytes(kKind));
      weights[c] = LoadRow<kKind>(at);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kX; ++r) {
      const Vec input = Load(x + static_cast<std::size_t>(r) * a.x_stride + t);
#pragma GCC unroll 8
      for (int c = 0; c < kW; ++c) sum[r][c] = Fma(input, weights[c], sum[r][c]);
    }
  }
  if (t < a.k) {
    const std::size_t rest = a.k - t;
#pragma GCC unroll 8
    for (int c = 0; c < kW; ++c) {
      const Vec weights = LoadRowPart<kKind>(w[c] + t * ElementBytes(kKind), rest);
#pragma GCC unroll 8
      for (int r = 0; r < kX; ++r) {
        const float* from = x + static_cast<std::size_t>(r) * a.x_stride + t;
        sum[r][c] = Fma(LoadPart(from, rest, 0), weights, sum[r][c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kX; ++r) {
    StoreSums<kW>(sum[r], a.y + (i + static_cast<std::size_t>(r)) * a.y_stride + j);
  }
}

// kX rows of x from i by all weights.
template <FloatRow kKind, int kX>
void Stripe(const DotF32Args& a, std::size_t i) {
  std::size_t j = 0;
  for (; j + kWRows <= a.n; j += kWRows) Tile<kKind, kX, kWRows>(a, i, j);
  for (; j < a.n; ++j) Tile<kKind, kX, 1>(a, i, j);
}

// The rows of x that are left when whole tiles are done: fewer than kX.
template <FloatRow kKind, int kX>
void LastStripe(const DotF32Args& a, std::size_t i) {
  if constexpr (kX > 1) {
    if (a.m - i < static_cast<std::size_t>(kX) - 1) return LastStripe<kKind, kX - 1>(a, i);
    Stripe<kKind, kX - 1>(a, i);
  }
}

template <FloatRow kKind>
void Run(const DotF32Args& a) {
  std::size_t i = 0;
  for (; i + kXRows <= a.m; i += kXRows) Stripe<kKind, kXRows>(a, i);
  if (i < a.m) LastStripe<kKind, kXRows>(a, i);
}

void DotF32(const DotF32Args& a) {
  switch (a.kind) {
    case FloatRow::kF32:
      return Run<FloatRow::kF32>(a);
    case FloatRow::kBf16:
      return Run<FloatRow::kBf16>(a);
    case FloatRow::kF16:
      return Run<FloatRow::kF16>(a);
  }
}

template <FloatRow kKind>
void Widen(const std::byte* row, std::size_t k, float* out) {
  std::size_t t = 0;
  for (; t + kLanes <= k; t += kLanes)
    Store(out + t, LoadRow<kKind>(row + t * ElementBytes(kKind)));
  if (t < k) {
    StorePart(out + t, LoadRowPart<kKind>(row + t * ElementBytes(kKind), k - t), k - t);
  }
}

void WidenRow(FloatRow kind, const std::byte* row, std::size_t k, float* out) {
  switch (kind) {
    case FloatRow::kF32:
      return Widen<FloatRow::kF32>(row, k, out);
    case FloatRow::kBf16:
      return Widen<FloatRow::kBf16>(row, k, out);
    case FloatRow::kF16:
      return Widen<FloatRow::kF16>(row, k, out);
  }
}

}  // namespace
}  // namespace lattice::kernels
