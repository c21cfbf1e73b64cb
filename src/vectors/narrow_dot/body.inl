// The products over a Vec of kWidth f32 and a Block of kBlock bytes; each instruction set's file
// includes this in its unnamed namespace. That file gives the functions on them that are used here.

constexpr std::size_t kSums = 64;
constexpr std::size_t kVecs = kSums / kWidth;

template <auto kLeft, auto kRight, typename A, typename B>
inline void AddBlock(const A* a, const B* b, Vec* sums) {
#pragma GCC unroll 64
  for (std::size_t j = 0; j < kVecs; ++j) {
    sums[j] = Fma(kLeft(a + j * kWidth), kRight(b + j * kWidth), sums[j]);
  }
}

// kSums pairs of bf16: each register holds 2 kWidth of them, even ones in the low halves.
inline void AddBf16Pairs(const std::uint16_t* a, const std::uint16_t* b, Vec* sums) {
#pragma GCC unroll 2
  for (std::size_t half = 0; half < 2; ++half) {
#pragma GCC unroll 16
    for (std::size_t j = 0; j < kVecs / 4; ++j) {
      const std::size_t at = half * kSums / 2 + 2 * j * kWidth;
      const Vec x = LoadBits(a + at), y = LoadBits(b + at);
      Vec* const even = sums + half * kVecs / 2 + j;
      Vec* const odd = even + kVecs / 4;
      *even = Fma(LowBf16(x), LowBf16(y), *even);
      *odd = Fma(HighBf16(x), HighBf16(y), *odd);
    }
  }
}

// Ends that are no whole block are padded with zeros, as in dot.h.
template <auto kAdd, typename A, typename B>
inline float SumOf(const A* a, const B* b, std::size_t n) {
  Vec sums[kVecs];
#pragma GCC unroll 64
  for (std::size_t j = 0; j < kVecs; ++j) sums[j] = Zero();
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) kAdd(a + i, b + i, sums);
  if (i < n) {
    A last_a[kSums] = {};
    B last_b[kSums] = {};
    __builtin_memcpy(last_a, a + i, (n - i) * sizeof(A));
    __builtin_memcpy(last_b, b + i, (n - i) * sizeof(B));
    kAdd(last_a, last_b, sums);
  }
#pragma GCC unroll 8
  for (std::size_t h = kVecs / 2; h != 0; h /= 2) {
#pragma GCC unroll 32
    for (std::size_t j = 0; j < h; ++j) sums[j] = Add(sums[j], sums[j + h]);
  }
  return FoldLanes(sums[0]);
}

template <auto kLeft, auto kRight, typename A, typename B>
inline float WideDot(const A* a, const B* b, std::size_t n) {
  return SumOf<AddBlock<kLeft, kRight, A, B>>(a, b, n);
}

float DotF16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot<Load, WidenF16>(query, row, n);
}
float DotBf16(const float* query, const std::uint16_t* row, std::size_t n) {
  return WideDot<Load, WidenBf16>(query, row, n);
}
float PairF16(const std::uint16_t* a, const std::uint16_t* b, std::size_t n) {
  return WideDot<WidenF16, WidenF16>(a, b, n);
}
float PairBf16(const std::uint16_t* a, const std::uint16_t* b, std::size_t n) {
  return SumOf<AddBf16Pairs>(a, b, n);
}
float DotWideI8(const float* query, const std::int8_t* row, std::size_t n) {
  return WideDot<Load, WidenI8>(query, row, n);
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
