// The products over a Vec of kWidth f32 and a Block of kBlock bytes; each instruction set's file
// includes this in its unnamed namespace. That file gives the functions on them that are used here.

constexpr std::size_t kSums = 64;
constexpr std::size_t kVecs = kSums / kWidth;

template <typename T, Vec (*kWiden)(const T*)>
inline void AddBlock(const float* query, const T* row, Vec* sums) {
#pragma GCC unroll 64
  for (std::size_t j = 0; j < kVecs; ++j) {
    sums[j] = Fma(Load(query + j * kWidth), kWiden(row + j * kWidth), sums[j]);
  }
}

// Ends that are no whole block are padded with zeros, as in dot.h.
template <typename T, Vec (*kWiden)(const T*)>
inline float WideDot(const float* query, const T* row, std::size_t n) {
  Vec sums[kVecs];
#pragma GCC unroll 64
  for (std::size_t j = 0; j < kVecs; ++j) sums[j] = Zero();
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) AddBlock<T, kWiden>(query + i, row + i, sums);
  if (i < n) {
    float last_query[kSums] = {};
    T last_row[kSums] = {};
    __builtin_memcpy(last_query, query + i, (n - i) * sizeof(float));
    __builtin_memcpy(last_row, row + i, (n - i) * sizeof(T));
    AddBlock<T, kWiden>(last_query, last_row, sums);
  }
#pragma GCC unroll 8
  for (std::size_t h = kVecs / 2; h != 0; h /= 2) {
#pragma GCC unroll 32
    for (std::size_t j = 0; j < h; ++j) sums[j] = Add(sums[j], sums[j + h]);
  }
  return FoldLanes(sums[0]);
}

float DotF16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot<std::uint16_t, WidenF16>(query, row, n);
}
float DotBf16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot<std::uint16_t, WidenBf16>(query, row, n);
}
float DotWideI8(const float* query, const std::int8_t* row, std::size_t n) {
  return WideDot<std::int8_t, WidenI8>(query, row, n);
}

// Two sums, so that additions need not wait for each other; `padding` stands for zero.
template <Sums (*kStep)(Sums, Block, Block)>
inline std::uint32_t SumBlocks(const void* a, const void* b, std::size_t n_bytes, int padding) {
  const auto* x = static_cast<const unsigned char*>(a);
  const auto* y = static_cast<const unsigned char*>(b);
  Sums first = NoSums(), second = NoSums();
  std::size_t i = 0;
  for (; i + 2 * kBlock <= n_bytes; i += 2 * kBlock) {
    first = kStep(first, LoadBlock(x + i), LoadBlock(y + i));
    second = kStep(second, LoadBlock(x + i + kBlock), LoadBlock(y + i + kBlock));
  }
  if (i + kBlock <= n_bytes) {
    second = kStep(second, LoadBlock(x + i), LoadBlock(y + i));
    i += kBlock;
  }
  if (i < n_bytes) {
    const std::size_t left = n_bytes - i;
    first = kStep(first, LoadEnd(x + i, left, padding), LoadEnd(y + i, left, padding));
  }
  return Total(AddSums(first, second));
}

std::int32_t DotI8(const std::int8_t* a, const std::int8_t* b, std::size_t n) {
  return static_cast<std::int32_t>(SumBlocks<StepI8>(a, b, n, 0));
}
std::int32_t DotI4(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_bytes) {
  return static_cast<std::int32_t>(SumBlocks<StepI4>(a, b, n_bytes, 0x88));
}
std::uint32_t Hamming(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_bytes) {
  return SumBlocks<StepHamming>(a, b, n_bytes, 0);
}
