namespace lattice::kernels {
namespace {

// Sixteen rows of sixteen become columns.
inline void Transpose(__m512 (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + j + 2]);
      r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  }
  // r[4 i + c] holds column c of each 128-bit part for rows 4 i .. 4 i + 3.
  for (int c = 0; c < 4; ++c) {
    const __m512 low0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88);
    const __m512 low1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
    const __m512 high0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xDD);
    const __m512 high1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xDD);
    t[c] = _mm512_shuffle_f32x4(low0, low1, 0x88);
    t[8 + c] = _mm512_shuffle_f32x4(low0, low1, 0xDD);
    t[4 + c] = _mm512_shuffle_f32x4(high0, high1, 0x88);
    t[12 + c] = _mm512_shuffle_f32x4(high0, high1, 0xDD);
  }
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

// Columns of sixteen rows of n_cols floats: r[c][i] = from[i * stride + c], zero for rows from n
// on.
inline void LoadColumns(const float* from, std::size_t stride, std::size_t n, std::size_t n_cols,
                        __m512 (&r)[16]) {
  for (std::size_t i = 0; i < 16; ++i) {
    r[i] = i < n ? LoadPart(from + i * stride, n_cols, 0.0f) : _mm512_setzero_ps();
  }
  Transpose(r);
}

}  // namespace
}  // namespace lattice::kernels
