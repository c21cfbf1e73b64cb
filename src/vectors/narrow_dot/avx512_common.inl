// What both AVX-512 files share; included before body.inl, which wants StepHamming, too.

using Vec = __m512;
constexpr std::size_t kWidth = 16;

inline Vec Zero() { return _mm512_setzero_ps(); }
inline Vec Load(const float* p) { return _mm512_loadu_ps(p); }
inline Vec Add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline float FoldLanes(Vec v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline __m256i Load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline Vec WidenF16(const std::uint16_t* p) { return _mm512_cvtph_ps(Load256(p)); }
inline Vec WidenBf16(const std::uint16_t* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(Load256(p)), 16));
}
inline Vec LoadBits(const std::uint16_t* p) {
  Vec x = _mm512_castsi512_ps(_mm512_loadu_si512(p));
  asm("" : "+v"(x));  // Or g++ loads it again for each use; loads are what these loops wait for.
  return x;
}
inline Vec LowBf16(Vec x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x), 16));
}
inline Vec HighBf16(Vec x) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
}
inline Vec WidenI8(const std::int8_t* p) {
  const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sixteen));
}

using Block = __m512i;
using Sums = __m512i;
constexpr std::size_t kBlock = 64;

inline Sums NoSums() { return _mm512_setzero_si512(); }
inline Block LoadBlock(const unsigned char* p) { return _mm512_loadu_si512(p); }
inline Block LoadEnd(const unsigned char* p, std::size_t left, int padding) {
  const auto lanes = static_cast<__mmask64>((1ull << left) - 1);
  return _mm512_mask_loadu_epi8(_mm512_set1_epi8(static_cast<char>(padding)), lanes, p);
}
inline Sums AddSums(Sums a, Sums b) { return _mm512_add_epi32(a, b); }
inline std::uint32_t Total(Sums s) {
  return static_cast<std::uint32_t>(_mm512_reduce_add_epi32(s));
}
// The instruction multiplies unsigned by signed: (a + 128) b less 128 b. Sums wrap around, and the
// difference is right again.
inline Sums StepI8(Sums sums, Block a, Block b) {
  const __m512i high = _mm512_set1_epi8(-128);
  const __m512i shift = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(-128), b);
  return _mm512_sub_epi32(_mm512_dpbusd_epi32(sums, _mm512_xor_si512(a, high), b), shift);
}
// (a - 8)(b - 8) = a (b - 8) - 8 (b - 8).
inline Sums StepI4(Sums sums, Block a, Block b) {
  const __m512i low = _mm512_set1_epi8(15), eight = _mm512_set1_epi8(8);
  const auto lower = [&](Block x) { return _mm512_and_si512(x, low); };
  const auto upper = [&](Block x) { return lower(_mm512_srli_epi16(x, 4)); };
  const __m512i b_low = _mm512_sub_epi8(lower(b), eight), b_up = _mm512_sub_epi8(upper(b), eight);
  sums = _mm512_dpbusd_epi32(sums, lower(a), b_low);
  sums = _mm512_dpbusd_epi32(sums, upper(a), b_up);
  const __m512i shift =
      _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), eight, b_low), eight, b_up);
  return _mm512_sub_epi32(sums, shift);
}
