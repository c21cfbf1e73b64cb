// The kernels over a Vec of kWidth lanes; each instruction set's file includes this in its unnamed
// namespace. That file gives Vec, kWidth, GroupFor and the functions on Vec that are used here.

constexpr std::size_t kSums = 64;
constexpr std::size_t kVecs = kSums / kWidth;

// s[j] += s[j + h] for h = 32, 16, ..., 1: whole vectors first, then inside the last one.
inline float Fold(Vec* sums) {
#pragma GCC unroll 8
  for (std::size_t h = kVecs / 2; h != 0; h /= 2) {
#pragma GCC unroll 32
    for (std::size_t j = 0; j < h; ++j) sums[j] = Add(sums[j], sums[j + h]);
  }
  return FoldLanes(sums[0]);
}

// Adds step(a, b) of all elements to the partial sums of vectors [first, first + kGroup), for
// kResults sums at once. A group is what the registers hold: partial sums do not meet before the
// fold, so each group may run over the whole length by itself.
template <std::size_t kResults, typename Step>
inline void SumGroup(const float* a, const float* b, std::size_t n, std::size_t first,
                     Vec (*sums)[kVecs], Step step) {
  constexpr std::size_t kGroup = GroupFor(kResults);
  Vec acc[kGroup][kResults];
#pragma GCC unroll 64
  for (std::size_t j = 0; j < kGroup; ++j) {
#pragma GCC unroll 3
    for (std::size_t r = 0; r < kResults; ++r) acc[j][r] = Zero();
  }
  const std::size_t whole = n / kSums * kSums;
  for (std::size_t i = 0; i < whole; i += kSums) {
#pragma GCC unroll 64
    for (std::size_t j = 0; j < kGroup; ++j) {
      const std::size_t at = i + (first + j) * kWidth;
      step(Load(a + at), Load(b + at), acc[j]);
    }
  }
  if (whole < n) {  // The last sums take their zeros too: -0 + 0 is not -0.
#pragma GCC unroll 64
    for (std::size_t j = 0; j < kGroup; ++j) {
      const std::size_t wanted = whole + (first + j) * kWidth;
      const std::size_t at = wanted < n ? wanted : n;
      step(LoadPartial(a + at, n - at), LoadPartial(b + at, n - at), acc[j]);
    }
  }
#pragma GCC unroll 64
  for (std::size_t j = 0; j < kGroup; ++j) {
#pragma GCC unroll 3
    for (std::size_t r = 0; r < kResults; ++r) sums[r][first + j] = acc[j][r];
  }
}

template <std::size_t kResults, typename Step>
[[gnu::always_inline]] inline void SumAll(const float* a, const float* b, std::size_t n,
                                          float* results, Step step) {
  Vec sums[kResults][kVecs];
  for (std::size_t first = 0; first < kVecs; first += GroupFor(kResults)) {
    SumGroup<kResults>(a, b, n, first, sums, step);
  }
  for (std::size_t r = 0; r < kResults; ++r) results[r] = Fold(sums[r]);
}

float Dot(const float* a, const float* b, std::size_t n) {
  float sum = 0;
  SumAll<1>(a, b, n, &sum, [](Vec x, Vec y, Vec* acc) { acc[0] = Fma(x, y, acc[0]); });
  return sum;
}

float SquaredDistance(const float* a, const float* b, std::size_t n) {
  float sum = 0;
  SumAll<1>(a, b, n, &sum, [](Vec x, Vec y, Vec* acc) {
    const Vec difference = Sub(x, y);
    acc[0] = Fma(difference, difference, acc[0]);
  });
  return sum;
}

void DotAndNorm(const float* a, const float* b, std::size_t n, float* sums) {
  SumAll<2>(a, b, n, sums, [](Vec x, Vec y, Vec* acc) {
    acc[0] = Fma(x, y, acc[0]);
    acc[1] = Fma(y, y, acc[1]);
  });
}

inline void AddNorms(Vec x, Vec y, Vec* acc) {
  acc[0] = Fma(x, y, acc[0]);
  acc[1] = Fma(x, x, acc[1]);
  acc[2] = Fma(y, y, acc[2]);
}

void DotAndNorms(const float* a, const float* b, std::size_t n, float* sums) {
  SumAll<3>(a, b, n, sums, AddNorms);
}

float Cosine(const float* a, const float* b, std::size_t n) {
  float sums[3];
  SumAll<3>(a, b, n, sums, AddNorms);
  return CosineOfSafeSums(sums[0], sums[1], sums[2]);
}

// Registers hold the sums of all pairs for one vector's place at a time.
void DotTile(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride,
             std::size_t n, float* dots) {
  constexpr std::size_t kPairs = kTileA * kTileB;
  Vec sums[kPairs][kVecs];
  const std::size_t whole = n / kSums * kSums;
  for (std::size_t v = 0; v < kVecs; ++v) {
    Vec acc[kPairs];
#pragma GCC unroll 8
    for (std::size_t p = 0; p < kPairs; ++p) acc[p] = Zero();
    const auto add = [&](auto load, std::size_t at) __attribute__((always_inline)) {
      Vec x[kTileA];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kTileA; ++i) x[i] = load(a + i * a_stride + at);
#pragma GCC unroll 2
      for (std::size_t j = 0; j < kTileB; ++j) {
        const Vec y = load(b + j * b_stride + at);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < kTileA; ++i) {
          acc[j * kTileA + i] = Fma(x[i], y, acc[j * kTileA + i]);
        }
      }
    };
    for (std::size_t i = v * kWidth; i < whole; i += kSums) {
      add([](const float* p) { return Load(p); }, i);
    }
    if (whole < n) {
      const std::size_t wanted = whole + v * kWidth;
      const std::size_t at = wanted < n ? wanted : n;
      add([left = n - at](const float* p) { return LoadPartial(p, left); }, at);
    }
#pragma GCC unroll 8
    for (std::size_t p = 0; p < kPairs; ++p) sums[p][v] = acc[p];
  }
  for (std::size_t p = 0; p < kPairs; ++p) dots[p] = Fold(sums[p]);
}

void Divide(float* x, float divisor, std::size_t n) {
  const Vec by = Splat(divisor);
  std::size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) Store(x + i, Div(Load(x + i), by));
  for (; i < n; ++i) x[i] /= divisor;
}
