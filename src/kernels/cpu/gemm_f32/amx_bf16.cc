#include "kernels/cpu/gemm_f32/variants.h"
#include "kernels/cpu/linear/amx.inl"

// An f32 number is exactly the sum of three bf16 numbers, 8 bits of its mantissa each. Of the nine
// products of two such sums the six largest are added up; those left out are below 2^-22 of the
// product.

namespace lattice::kernels {
namespace {

static_assert(kCols == kF32PanelOutputs);

constexpr std::size_t kParts = 3;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kStepInputs = kTileBytes / 2;
// Weights are split again for every so many rows; their sums wait on the stack.
constexpr std::size_t kMaxBlockRows = 256;

struct Parts {
  __m512i part[kParts];  // f32 numbers with the low half of their bits zero
};

// Cuts bits off, so the rest is exact: 24 bits of mantissa are three times 8.
[[gnu::always_inline]] inline Parts Split(__m512 x) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
  Parts parts;
  for (std::size_t p = 0; p < kParts; ++p) {
    parts.part[p] = _mm512_and_si512(_mm512_castps_si512(x), high);
    x = _mm512_sub_ps(x, _mm512_castsi512_ps(parts.part[p]));
  }
  return parts;
}

// Rows of x as bf16 parts: [kParts][m][padded].
struct SplitRows {
  std::uint16_t* values;
  std::size_t m;
  std::size_t padded;

  std::size_t row_bytes() const { return padded * sizeof(std::uint16_t); }
  const std::byte* at(std::size_t part, std::size_t row, std::size_t input) const {
    return reinterpret_cast<const std::byte*>(values + (part * m + row) * padded + input);
  }
};

void SplitInputs(const float* x, std::size_t stride, std::size_t k, const SplitRows& out) {
  for (std::size_t i = 0; i < out.m; ++i) {
    for (std::size_t t = 0; t < out.padded; t += kLanes) {
      const std::size_t n = t >= k ? 0 : k - t < kLanes ? k - t : kLanes;
      const auto exists = static_cast<__mmask16>((1u << n) - 1u);
      const Parts parts = Split(_mm512_maskz_loadu_ps(exists, x + i * stride + t));
      for (std::size_t p = 0; p < kParts; ++p) {
        const __m256i bf16 = _mm512_cvtepi32_epi16(_mm512_srli_epi32(parts.part[p], 16));
        _mm256_store_si256(
            reinterpret_cast<__m256i*>(out.values + (p * out.m + i) * out.padded + t), bf16);
      }
    }
  }
}

// One block of a panel as bf16 parts, pairs of inputs together: what a tile of weights looks like.
struct SplitBlock {
  alignas(64) std::uint32_t pairs[kParts][kF32BlockInputs / 2][kCols];
};

void SplitWeights(const float* w, std::size_t k, SplitBlock& out) {
  const std::size_t padded = (k + kStepInputs - 1) / kStepInputs * kStepInputs;
  for (std::size_t t = 0; t < padded; t += 2) {
    for (std::size_t v = 0; v < kCols; v += kLanes) {
      const float* at = w + t * kCols + v;
      _mm_prefetch(reinterpret_cast<const char*>(at) + kStreamAheadBytes, _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(at + kCols) + kStreamAheadBytes, _MM_HINT_T1);
      const Parts first = Split(t < k ? _mm512_load_ps(at) : _mm512_setzero_ps());
      const Parts second = Split(t + 1 < k ? _mm512_load_ps(at + kCols) : _mm512_setzero_ps());
      for (std::size_t p = 0; p < kParts; ++p) {
        const __m512i low = _mm512_srli_epi32(first.part[p], 16);
        _mm512_store_si512(&out.pairs[p][t / 2][v], _mm512_or_si512(low, second.part[p]));
      }
    }
  }
}

struct DotBf16 {
  template <int kSum, int kInputs, int kWeights>
  [[gnu::always_inline]] static void Run() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kSum), "i"(kInputs), "i"(kWeights));
  }
};

// Where one step of the products reads.
struct Step {
  const SplitRows& x;
  const SplitBlock& w;
  std::size_t row, first_rows, input;
  std::size_t pair;  // of the block

  template <bool kTwo>
  [[gnu::always_inline]] void LoadInputs(std::size_t part) const {
    LoadTile<4>(x.at(part, row, input), x.row_bytes());
    if constexpr (kTwo) LoadTile<5>(x.at(part, row + first_rows, input), x.row_bytes());
  }
  [[gnu::always_inline]] void LoadWeights(std::size_t part) const {
    LoadTile<6>(&w.pairs[part][pair][0], sizeof(w.pairs[0][0]));
    LoadTile<7>(&w.pairs[part][pair][kLanes], sizeof(w.pairs[0][0]));
  }
};

template <bool kTwo>
[[gnu::always_inline]] inline void AddProducts() {
  DotBf16::Run<0, 4, 6>();
  DotBf16::Run<1, 4, 7>();
  if constexpr (kTwo) {
    DotBf16::Run<2, 5, 6>();
    DotBf16::Run<3, 5, 7>();
  }
}

// The six products of a step, so that each needs one new pair of tiles.
template <bool kTwo>
[[gnu::always_inline]] inline void AddStep(const Step& step) {
  step.LoadWeights(0);
  step.LoadInputs<kTwo>(2);
  AddProducts<kTwo>();
  step.LoadInputs<kTwo>(1);
  AddProducts<kTwo>();
  step.LoadWeights(1);
  AddProducts<kTwo>();
  step.LoadInputs<kTwo>(0);
  AddProducts<kTwo>();
  step.LoadWeights(2);
  AddProducts<kTwo>();
  step.LoadWeights(0);
  AddProducts<kTwo>();
}

// sums[r] = products of rows row + r with one block of a panel, r < height.
template <bool kTwo>
void SumBlock(const SplitRows& x, const SplitBlock& w, std::size_t row, std::size_t first_rows,
              std::size_t begin, std::size_t size, float (*sums)[kCols]) {
  ZeroTile<0>();
  ZeroTile<1>();
  if constexpr (kTwo) {
    ZeroTile<2>();
    ZeroTile<3>();
  }
  for (std::size_t t = 0; t < size; t += kStepInputs) {
    AddStep<kTwo>({x, w, row, first_rows, begin + t, t / 2});
  }
  StoreTile<0>(&sums[0][0], sizeof(sums[0]));
  StoreTile<1>(&sums[0][kLanes], sizeof(sums[0]));
  if constexpr (kTwo) {
    StoreTile<2>(&sums[first_rows][0], sizeof(sums[0]));
    StoreTile<3>(&sums[first_rows][kLanes], sizeof(sums[0]));
  }
}

// Adds a later block's sums to a row's total.
void AddRow(const float* sums, float* total) {
  for (std::size_t v = 0; v < kCols; v += kLanes) {
    _mm512_store_ps(total + v, _mm512_add_ps(_mm512_load_ps(total + v), _mm512_load_ps(sums + v)));
  }
}

// Adds what follows the blocks and stores the outputs that exist.
void FinishRow(const GemmF32Args& a, std::size_t row, std::size_t col, const float* total) {
  const std::size_t n = a.n - col < kCols ? a.n - col : kCols;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
  for (std::size_t v = 0; v < kCols; v += kLanes) {
    const auto exists = static_cast<__mmask16>(mask >> v);
    const std::size_t j = col + v;
    __m512 y = _mm512_add_ps(_mm512_load_ps(total + v), _mm512_loadu_ps(a.bias + j));
    if (a.residual != nullptr) {
      y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exists, a.residual + row * a.residual_stride + j));
    }
    _mm512_mask_storeu_ps(a.y + row * a.y_stride + j, exists, y);
  }
}

// Equal heights, so that tiles are configured once: the last tile begins a little earlier and
// computes some rows twice, with the same result.
struct Tiling {
  explicit Tiling(std::size_t m) {
    const std::size_t least = (m + kMaxRows - 1) / kMaxRows;
    height = (m + least - 1) / least;
    count = (m + height - 1) / height;
    first_rows = height > kTileRows ? (height + 1) / 2 : height;
  }
  std::size_t height, count, first_rows;
};

void RunPanel(const GemmF32Args& a, const SplitRows& x, const Tiling& tiling, std::size_t panel) {
  SplitBlock block;
  alignas(64) float total[kMaxBlockRows][kCols];
  alignas(64) float sums[kMaxRows][kCols];
  const float* w = a.w + panel * a.k * kCols;
  for (std::size_t begin = 0; begin < a.k; begin += kF32BlockInputs) {
    const std::size_t size = a.k - begin < kF32BlockInputs ? a.k - begin : kF32BlockInputs;
    SplitWeights(w + begin * kCols, size, block);
    for (std::size_t tile = 0; tile < tiling.count; ++tile) {
      const std::size_t row = tile * tiling.height;
      const std::size_t first = row + tiling.height > x.m ? x.m - tiling.height : row;
      float(*to)[kCols] = begin == 0 ? total + first : sums;
      if (tiling.height > kTileRows) {
        SumBlock<true>(x, block, first, tiling.first_rows, begin, size, to);
      } else {
        SumBlock<false>(x, block, first, tiling.first_rows, begin, size, to);
      }
      if (begin == 0) continue;
      for (std::size_t i = row; i < first + tiling.height; ++i) AddRow(sums[i - first], total[i]);
    }
  }
  for (std::size_t i = 0; i < x.m; ++i) FinishRow(a, i, panel * kCols, total[i]);
}

void RunRows(const GemmF32Args& a) {
  const std::size_t padded = (a.k + kStepInputs - 1) / kStepInputs * kStepInputs;
  const SplitRows x = {reinterpret_cast<std::uint16_t*>(a.scratch), a.m, padded};
  SplitInputs(a.x, a.x_stride, a.k, x);
  const Tiling tiling(a.m);
  Configure(ConfigFor(tiling.first_rows, tiling.height - tiling.first_rows));
  for (std::size_t p = 0; p * kCols < a.n; ++p) RunPanel(a, x, tiling, p);
  ReleaseTiles();
}

}  // namespace

void GemmF32Amx(const GemmF32Args& args) {
  GemmF32Args part = args;
  for (std::size_t row = 0; row < args.m; row += kMaxBlockRows) {
    part.m = args.m - row < kMaxBlockRows ? args.m - row : kMaxBlockRows;
    RunRows(part);
    part.x += part.m * part.x_stride;
    part.y += part.m * part.y_stride;
    if (part.residual != nullptr) part.residual += part.m * part.residual_stride;
  }
}

}  // namespace lattice::kernels
