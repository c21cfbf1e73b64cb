// The definition of Transpose: tiles of 8 by 8, so that both sides stay in the cache.

void Transpose(const float* x, std::size_t stride, std::size_t n_rows, std::size_t n_columns,
               float* out, std::size_t out_stride) {
  constexpr std::size_t kTile = 8;
  for (std::size_t i0 = 0; i0 < n_rows; i0 += kTile) {
    const std::size_t i1 = n_rows - i0 < kTile ? n_rows : i0 + kTile;
    for (std::size_t j0 = 0; j0 < n_columns; j0 += kTile) {
      const std::size_t j1 = n_columns - j0 < kTile ? n_columns : j0 + kTile;
      for (std::size_t i = i0; i < i1; ++i) {
        for (std::size_t j = j0; j < j1; ++j) out[j * out_stride + i] = x[i * stride + j];
      }
    }
  }
}
