// Transpose in registers: tiles of 8 by 8, and element by element at the edges.

inline void TransposeTile(const float* x, std::size_t stride, float* out, std::size_t out_stride) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(x + static_cast<std::size_t>(i) * stride);
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int half = 0; half < 2; ++half) {
    const __m256* from = s + 4 * half;
    r[4 * half] = _mm256_shuffle_ps(from[0], from[2], 0x44);
    r[4 * half + 1] = _mm256_shuffle_ps(from[0], from[2], 0xEE);
    r[4 * half + 2] = _mm256_shuffle_ps(from[1], from[3], 0x44);
    r[4 * half + 3] = _mm256_shuffle_ps(from[1], from[3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    const auto row = static_cast<std::size_t>(i);
    _mm256_storeu_ps(out + row * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(out + (row + 4) * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

void Transpose(const float* x, std::size_t stride, std::size_t n_rows, std::size_t n_columns,
               float* out, std::size_t out_stride) {
  const std::size_t whole_rows = n_rows - n_rows % 8, whole_columns = n_columns - n_columns % 8;
  for (std::size_t j = 0; j < whole_columns; j += 8) {
    for (std::size_t i = 0; i < whole_rows; i += 8) {
      TransposeTile(x + i * stride + j, stride, out + j * out_stride + i, out_stride);
    }
  }
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::size_t begin = i < whole_rows ? whole_columns : 0;
    for (std::size_t j = begin; j < n_columns; ++j) out[j * out_stride + i] = x[i * stride + j];
  }
}
