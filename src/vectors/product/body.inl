// The product over Vec of 16 lanes; each instruction set's file includes this in its unnamed
// namespace. That file gives kRows and kCols: the rows and Vecs of a tile whose sums the registers
// hold.

template <std::size_t kR, std::size_t kC, bool kPart>
[[gnu::always_inline]] inline Vec LoadColumn(const float* p, std::size_t v, std::size_t last) {
  return kPart && v + 1 == kC ? LoadPart(p + v * kLanes, last, 0.0f) : Load(p + v * kLanes);
}

// kR rows by kC Vecs of columns; kPart: the last Vec has `last` columns only.
template <std::size_t kR, std::size_t kC, bool kPart>
void Tile(const ProductArgs& p, std::size_t row, std::size_t col, std::size_t last) {
  const float* a = p.a + row * p.a_row_stride;
  const float* b = p.b + col;
  float* c = p.c + row * p.c_stride + col;
  Vec sum[kR][kC];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kC; ++v) {
      sum[r][v] =
          p.accumulate ? LoadColumn<kR, kC, kPart>(c + r * p.c_stride, v, last) : Set1(0.0f);
    }
  }
  for (std::size_t t = 0; t < p.k; ++t) {
    Vec right[kC];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kC; ++v) right[v] = LoadColumn<kR, kC, kPart>(b, v, last);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kR; ++r) {
      const Vec left = Set1(a[r * p.a_row_stride]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kC; ++v) sum[r][v] = Fma(left, right[v], sum[r][v]);
    }
    a += p.a_col_stride;
    b += p.b_stride;
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kC; ++v) {
      float* at = c + r * p.c_stride + v * kLanes;
      if (kPart && v + 1 == kC) {
        StorePart(at, sum[r][v], last);
      } else {
        Store(at, sum[r][v]);
      }
    }
  }
}

// Finds the instance for `rows` (1 to kR) rows.
template <std::size_t kR, std::size_t kC, bool kPart>
void TileOf(const ProductArgs& p, std::size_t rows, std::size_t row, std::size_t col,
            std::size_t last) {
  if constexpr (kR > 1) {
    if (rows < kR) return TileOf<kR - 1, kC, kPart>(p, rows, row, col, last);
  }
  Tile<kR, kC, kPart>(p, row, col, last);
}

template <std::size_t kC, bool kPart>
void Strip(const ProductArgs& p, std::size_t col, std::size_t last) {
  const std::size_t n_tiles = (p.m + kRows - 1) / kRows;
  for (std::size_t tile = 0; tile < n_tiles; ++tile) {
    // Rows are dealt out evenly: 13 are 7 and 6, not 12 and 1.
    const std::size_t begin = p.m * tile / n_tiles, end = p.m * (tile + 1) / n_tiles;
    TileOf<kRows, kC, kPart>(p, end - begin, begin, col, last);
  }
}

void Product(const ProductArgs& p) {
  std::size_t col = 0;
  for (; col + kCols * kLanes <= p.n; col += kCols * kLanes) Strip<kCols, false>(p, col, 0);
  for (; col + kLanes <= p.n; col += kLanes) Strip<1, false>(p, col, 0);
  if (col < p.n) Strip<1, true>(p, col, p.n - col);
}
