#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/attention/bf16_avx512.inl"
#include "kernels/cpu/attention/expect.inl"
#include "kernels/cpu/attention/masks.inl"
#include "kernels/cpu/simd/amx_tiles.inl"
#include "kernels/cpu/simd/exp.inl"

namespace lattice::kernels {
namespace {

// Two tiles of sixteen queries against segments of 512 keys, counted from the text's first: all
// scores of a segment, their softmax, then the sum of values, 32 keys an instruction. Rows of tiles
// know nothing of each other, and hidden keys add zeros.
constexpr std::size_t kBlockQueries = 2 * kTileRows;
constexpr std::size_t kFewKeys = 16;
constexpr std::size_t kSegmentKeys = 512;
constexpr std::size_t kScoreStride = kSegmentKeys + 16;  // Rows do not share sets of the cache.
constexpr std::size_t kStepSlots = kTileRows;            // of the inputs of an instruction
constexpr std::size_t kStepKeys = 2 * kStepSlots;

constexpr std::size_t SlotSteps(std::size_t n) { return (n + kStepKeys - 1) / kStepKeys; }
constexpr std::size_t Slots(std::size_t n) { return SlotSteps(n) * kStepSlots; }

std::size_t KeyFloats(std::size_t n_keys, std::size_t dim) {
  return (n_keys + kPanelKeys - 1) / kPanelKeys * kPanelKeys * Slots(dim);
}
std::size_t ValueFloats(std::size_t n_keys, std::size_t dim) {
  return Slots(n_keys) * PaddedDim(dim);
}
std::size_t ScratchFloats(std::size_t dim) {
  return kBlockQueries * (2 + 2 * kLanes + 2 * PaddedDim(dim) + kScoreStride + Slots(dim));
}

void PackKeys(const float* k, std::size_t stride, std::size_t n_keys, std::size_t dim,
              float* packed) {
  for (std::size_t j = 0; j < n_keys; j += kPanelKeys, packed += Slots(dim) * kPanelKeys) {
    const std::size_t n = n_keys - j < kPanelKeys ? n_keys - j : kPanelKeys;
    PackPanel(k + j * stride, stride, n, dim, packed);
    for (std::size_t s = (dim + 1) / 2; s < Slots(dim); ++s) {
      Store(packed + s * kPanelKeys, Set1(0.0f));
    }
  }
}

void PackValues(const float* v, std::size_t stride, std::size_t n_keys, std::size_t dim,
                float* packed) {
  for (std::size_t s = 0; s < Slots(n_keys); ++s, packed += PaddedDim(dim)) {
    const std::size_t j = 2 * s;
    for (std::size_t d = 0; d < dim; d += kLanes) {
      const std::size_t n = dim - d < kLanes ? dim - d : kLanes;
      const float* row = v + j * stride + d;
      const float* next = j + 1 < n_keys ? row + stride : nullptr;
      Store(packed + d, j < n_keys ? SlotsOfTwoRows(row, next, n) : Set1(0.0f));
    }
  }
}

// In what follows tiles 0 and 1 are sums of the first sixteen queries, 2 and 3 of the second, if
// there are two; 4 and 5 the queries' side, 6 and 7 the keys'.
template <bool kTwo>
[[gnu::always_inline]] inline void ZeroSums() {
  ZeroTile<0>();
  ZeroTile<1>();
  if constexpr (kTwo) {
    ZeroTile<2>();
    ZeroTile<3>();
  }
}

template <bool kTwo>
[[gnu::always_inline]] inline void AddProducts() {
  DotBf16::Run<0, 4, 6>();
  if constexpr (kTwo) DotBf16::Run<2, 5, 6>();
  DotBf16::Run<1, 4, 7>();
  if constexpr (kTwo) DotBf16::Run<3, 5, 7>();
}

// Rows of sums lie `stride` floats apart; the second tiles go `second` floats behind the first.
template <bool kTwo>
[[gnu::always_inline]] inline void StoreSums(float* to, std::size_t second, std::size_t stride) {
  StoreTile<0>(to, stride * sizeof(float));
  StoreTile<1>(to + second, stride * sizeof(float));
  if constexpr (kTwo) {
    to += kTileRows * stride;
    StoreTile<2>(to, stride * sizeof(float));
    StoreTile<3>(to + second, stride * sizeof(float));
  }
}

// Rows of the queries' side, `stride` floats apart, at one step.
template <bool kTwo>
[[gnu::always_inline]] inline void LoadRows(const float* rows, std::size_t stride) {
  LoadTile<4>(rows, stride * sizeof(float));
  if constexpr (kTwo) LoadTile<5>(rows + kTileRows * stride, stride * sizeof(float));
}

// scores[r][0..16 n_panels) = q[r] . key.
template <bool kTwo>
void Scores(const float* q, const float* keys, std::size_t n_steps, std::size_t n_panels,
            float* scores) {
  constexpr std::size_t kStep = kStepSlots * kPanelKeys;
  if (n_steps == 1) LoadRows<kTwo>(q, kStepSlots);
  for (std::size_t p = 0; p < n_panels; p += 2) {
    // A panel without a partner is its own.
    const std::size_t partner = p + 1 < n_panels ? n_steps * kStep : 0;
    ZeroSums<kTwo>();
    for (std::size_t s = 0; s < n_steps; ++s) {
      if (n_steps > 1) LoadRows<kTwo>(q + s * kStepSlots, n_steps * kStepSlots);
      const float* key = keys + (p * n_steps + s) * kStep;
      LoadTile<6>(key, kTileBytes);
      LoadTile<7>(key + partner, kTileBytes);
      AddProducts<kTwo>();
    }
    StoreSums<kTwo>(scores + p * kPanelKeys, partner == 0 ? 0 : kPanelKeys, kScoreStride);
  }
}

// products[r][d] = sum of p[r][key] values[key][d] over n_steps steps of keys.
template <bool kTwo>
void SumValues(const float* p, const float* values, std::size_t padded, std::size_t n_steps,
               float* products) {
  for (std::size_t d = 0; d < padded; d += 2 * kLanes) {
    const std::size_t second = d + kLanes < padded ? kLanes : 0;
    ZeroSums<kTwo>();
    for (std::size_t s = 0; s < n_steps; ++s) {
      const float* value = values + s * kStepSlots * padded + d;
      LoadRows<kTwo>(p + s * kStepSlots, kScoreStride);
      LoadTile<6>(value, padded * sizeof(float));
      LoadTile<7>(value + second, padded * sizeof(float));
      AddProducts<kTwo>();
    }
    StoreSums<kTwo>(products + d, second, padded);
  }
}

inline float LargestOf(const float* scores, std::size_t n_vecs) {
  Vec a = Load(scores), b = a;
  std::size_t v = 1;
  for (; v + 1 < n_vecs; v += 2) {
    a = Max(a, Load(scores + v * kLanes));
    b = Max(b, Load(scores + (v + 1) * kLanes));
  }
  if (v < n_vecs) a = Max(a, Load(scores + v * kLanes));
  return ReduceMax(Max(a, b));
}

// Turns scores (powers of two) into probabilities times 2^-largest, rounded, in the same memory;
// returns the sum of what each lane held. A last half step is filled with zeros.
inline Vec Exponentiate(float* scores, std::size_t n_vecs, float largest) {
  const Vec most = Set1(largest);
  Vec sum = Set1(0.0f);
  for (std::size_t v = 0; v < n_vecs; v += 2) {
    const Vec a = Probability(Sub(Load(scores + v * kLanes), most));
    Vec b = Set1(0.0f);
    if (v + 1 < n_vecs) b = Probability(Sub(Load(scores + (v + 1) * kLanes), most));
    const auto rounded = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    _mm512_store_si512(scores + v * (kLanes / 2), rounded);
    sum = Add(sum, Add(a, b));
  }
  return sum;
}

// Up to 32 queries against all keys.
class Block {
 public:
  Block(const HeadQueries& queries, const PackedKeys& packed, float* scratch)
      : queries_(queries),
        packed_(packed),
        padded_(PaddedDim(packed.dim)),
        largest_(scratch),
        factors_(largest_ + kBlockQueries),
        totals_(factors_ + kBlockQueries),
        added_(totals_ + kBlockQueries * kLanes),
        sums_(added_ + kBlockQueries * kLanes),
        products_(sums_ + kBlockQueries * padded_),
        scores_(products_ + kBlockQueries * padded_),
        q_(scores_ + kBlockQueries * kScoreStride) {}

  void Run(std::size_t first, std::size_t n) {
    first_ = first;
    n_ = n;
    Begin();
    Visible all = {packed_.n_keys, 0};
    for (std::size_t r = 0; r < n; ++r) {
      const Visible visible = VisibleTo(queries_.index[first + r], queries_, packed_.n_keys);
      if (visible.begin < all.begin) all.begin = visible.begin;
      if (visible.end > all.end) all.end = visible.end;
    }
    bool before = false;
    for (std::size_t key = all.begin / kStepKeys * kStepKeys; key < all.end; before = true) {
      const std::size_t border = (key / kSegmentKeys + 1) * kSegmentKeys;
      const std::size_t end = border < all.end ? border : all.end;
      RunSegment(key, end);
      AddSegment(before, end == all.end);
      key = end;
    }
  }

 private:
  void Begin() {
    // With log2(e) in the scale, powers of two do instead of powers of e.
    const Vec scale = Set1(queries_.scale * 0x1.715476p+0f);
    for (std::size_t r = 0; r < kBlockQueries; r += kLanes) Store(largest_ + r, Set1(kLowest));
    const std::size_t dim = packed_.dim, slots = Slots(dim);
    const std::size_t next = first_ + n_, after = queries_.n_queries - next;
    Expect<true>(queries_.out, queries_.out_stride, first_, next, dim);
    Expect(queries_.q, queries_.q_stride, next, next + (after < n_ ? after : n_), dim);
    const std::size_t n_rows = two() ? kBlockQueries : kTileRows;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const float* from = queries_.q + (first_ + r) * queries_.q_stride;
      for (std::size_t d = 0; d < 2 * slots; d += kLanes) {
        const std::size_t left = r < n_ && d < dim ? dim - d : 0;
        const Vec q = left == 0 ? Set1(0.0f) : LoadPart(from + d, left < kLanes ? left : kLanes, 0);
        _mm256_store_si256(reinterpret_cast<__m256i*>(q_ + r * slots + d / 2),
                           (__m256i)_mm512_cvtneps_pbh(Mul(q, scale)));
      }
    }
  }

  // Keys [begin, end) of one segment; begin is a multiple of 32. Each step is done for all queries
  // before the next, so that its latency is paid once.
  void RunSegment(std::size_t begin, std::size_t end) {
    const std::size_t n_vecs = (end - begin + kLanes - 1) / kLanes;
    const float* keys = packed_.keys + begin * Slots(packed_.dim);
    (two() ? Scores<true> : Scores<false>)(q_, keys, SlotSteps(packed_.dim), n_vecs, scores_);
    alignas(64) float most[kBlockQueries];
    for (std::size_t r = 0; r < kBlockQueries; r += kLanes) Store(most + r, Set1(kLowest));
    for (std::size_t r = 0; r < n_; ++r) {
      const Visible visible = VisibleTo(queries_.index[first_ + r], queries_, packed_.n_keys);
      float* scores = scores_ + r * kScoreStride;
      if (visible.begin > begin || visible.end < begin + n_vecs * kLanes) {
        HideKeys(scores, n_vecs, begin, visible);
      }
      most[r] = LargestOf(scores, n_vecs);
    }
    for (std::size_t r = 0; r < kBlockQueries; r += kLanes) {
      const Vec before = Load(largest_ + r), now = Max(before, Load(most + r));
      Store(factors_ + r, Exp2OfNegative(Sub(before, now)));
      Store(largest_ + r, now);
    }
    for (std::size_t r = 0; r < n_; ++r) {
      Store(added_ + r * kLanes, Exponentiate(scores_ + r * kScoreStride, n_vecs, largest_[r]));
    }
    const float* values = packed_.values + begin / 2 * padded_;
    (two() ? SumValues<true> : SumValues<false>)(scores_, values, padded_, SlotSteps(end - begin),
                                                 products_);
  }

  // Adds what RunSegment found to what was found before, if anything, and writes the results after
  // the last segment.
  void AddSegment(bool before, bool last) {
    const std::size_t dim = packed_.dim;
    for (std::size_t r = 0; r < n_; ++r) {
      const Vec factor = Set1(factors_[r]);
      float *total = totals_ + r * kLanes, *sums = sums_ + r * padded_;
      const float* products = products_ + r * padded_;
      Vec all = Load(added_ + r * kLanes);
      if (before) all = Fma(Load(total), factor, all);
      if (!last) Store(total, all);
      const Vec inverse = Set1(last ? 1.0f / ReduceAdd(all) : 1.0f);
      float* out = queries_.out + (first_ + r) * queries_.out_stride;
      for (std::size_t d = 0; d < padded_; d += kLanes) {
        Vec sum = Load(products + d);
        if (before) sum = Fma(Load(sums + d), factor, sum);
        if (!last) {
          Store(sums + d, sum);
        } else if (d + kLanes <= dim) {
          Store(out + d, Mul(sum, inverse));
        } else {
          StorePart(out + d, Mul(sum, inverse), dim - d);
        }
      }
    }
  }

  bool two() const { return n_ > kTileRows; }

  const HeadQueries& queries_;
  const PackedKeys& packed_;
  std::size_t padded_;
  float* largest_;   // [32] largest score so far
  float* factors_;   // [32] what the segment at hand does to the sums before it
  float* totals_;    // [32] Vecs whose lanes add up to the sum of the probabilities
  float* added_;     // [32] the same of the segment at hand
  float* sums_;      // [32][padded]
  float* products_;  // [32][padded] of the segment at hand
  float* scores_;    // [32][kScoreStride]; then probabilities in bf16
  float* q_;         // [32][slots of dim], scaled
  std::size_t first_ = 0, n_ = 0;
};

void Attend(const HeadQueries& queries, const PackedKeys& packed, float* scratch) {
  Block block(queries, packed, scratch);
  for (std::size_t first = 0; first < queries.n_queries; first += kBlockQueries) {
    const std::size_t left = queries.n_queries - first;
    block.Run(first, left < kBlockQueries ? left : kBlockQueries);
  }
}

void Enter() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) config.Set(tile, kTileRows);
  Configure(config);
}
void Leave() { ReleaseTiles(); }

}  // namespace

const AttentionKernels kAttentionAmxBf16 = {kPerSlot,      kFewKeys,    Enter,    Leave,
                                            KeyFloats,     ValueFloats, PackKeys, PackValues,
                                            ScratchFloats, Attend};

}  // namespace lattice::kernels
