// Included by each instruction set's file, after its Vec, kTileVecs (Vecs that share registers with
// a group of queries), PackPanel, and its arithmetic: f32.inl or its own.
//
// Scores are sums of fused multiply-adds from zero in rising order of the head's dimension, a lane
// for each key. The softmax goes over tiles of 64 keys in order; in a tile, values are added in
// rising order of the keys. Nothing depends on how many queries are computed together: a tile that
// is hidden from a query adds zeros and rescales by one.

#include "kernels/cpu/attention/expect.inl"
#include "kernels/cpu/attention/masks.inl"
#include "kernels/cpu/attention/variants.h"
#include "kernels/cpu/simd/exp.inl"
#include "kernels/cpu/simd/product.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t Slots(std::size_t n) { return (n + kPerSlot - 1) / kPerSlot; }

std::size_t KeyFloats(std::size_t n_keys, std::size_t dim) {
  return (n_keys + kPanelKeys - 1) / kPanelKeys * kPanelKeys * Slots(dim);
}
std::size_t ValueFloats(std::size_t n_keys, std::size_t dim) {
  return Slots(n_keys) * PaddedDim(dim);
}

// Queries whose state stays in the first cache (32 KiB) with a tile of keys or values.
constexpr std::size_t BlockQueries(std::size_t dim) {
  const std::size_t groups = 128 / PaddedDim(dim);
  return kTileRows * (groups == 0 ? 1 : groups);
}

std::size_t ScratchFloats(std::size_t dim) {
  const std::size_t n = BlockQueries(dim);
  return n * (2 * PaddedDim(dim) + kLanes + kTileKeys) + 3 * PaddedDim(n);
}

void PackKeys(const float* k, std::size_t stride, std::size_t n_keys, std::size_t dim,
              float* packed) {
  for (std::size_t j = 0; j < n_keys; j += kPanelKeys) {
    const std::size_t n = n_keys - j < kPanelKeys ? n_keys - j : kPanelKeys;
    const std::size_t ahead = j + kPanelKeys;
    Expect(k, stride, ahead, ahead + kPanelKeys < n_keys ? ahead + kPanelKeys : n_keys, dim);
    PackPanel(k + j * stride, stride, n, dim, packed + j * Slots(dim));
  }
}

void PackValues(const float* v, std::size_t stride, std::size_t n_keys, std::size_t dim,
                float* packed) {
  for (std::size_t j = 0; j < n_keys; j += kPerSlot, packed += PaddedDim(dim)) {
    const std::size_t ahead = j + kPanelKeys;
    Expect(v, stride, ahead, ahead + kPerSlot < n_keys ? ahead + kPerSlot : n_keys, dim);
    for (std::size_t d = 0; d < dim; d += kLanes) {
      const std::size_t n = dim - d < kLanes ? dim - d : kLanes;
      const float* next = j + 1 < n_keys ? v + (j + 1) * stride + d : nullptr;
      Store(packed + d, SlotsOfTwoRows(v + j * stride + d, next, n));
    }
  }
}

// Slots of packed keys or values as columns of a product.
struct KeyColumns {
  const float* panels;
  std::size_t n_slots;
  Vec At(std::size_t d, std::size_t col) const {
    return Load(panels + (col / kPanelKeys * n_slots + d) * kPanelKeys + col % kPanelKeys);
  }
  void Prefetch(std::size_t, std::size_t) const {}
  static Vec MultiplyAdd(Vec x, Vec key, Vec sum) { return AddProducts(x, key, sum); }
};
struct ValueColumns : F32Panel {
  static Vec MultiplyAdd(Vec x, Vec value, Vec sum) { return AddProducts(x, value, sum); }
};

inline float LargestOf(const float* scores, std::size_t n_vecs) {
  Vec largest = Load(scores);
  for (std::size_t v = 1; v < n_vecs; ++v) largest = Max(largest, Load(scores + v * kLanes));
  return ReduceMax(largest);
}

// Turns scores (powers of two) into probabilities times 2^-largest; adds them to the lanes of
// `total`, scaled by `factor` before.
inline void Exponentiate(float* scores, std::size_t n_vecs, float largest, float factor,
                         float* total) {
  const Vec most = Set1(largest);
  Vec sum = Mul(Load(total), Set1(factor));
  for (std::size_t v = 0; v < n_vecs; ++v) {
    const Vec p = Probability(Sub(Load(scores + v * kLanes), most));
    StoreSlots(scores + v * (kLanes / kPerSlot), p);
    sum = Add(sum, p);
  }
  Store(total, sum);
}

// A block of queries against all tiles of keys.
class Block {
 public:
  Block(const HeadQueries& queries, const PackedKeys& packed, float* scratch)
      : queries_(queries),
        packed_(packed),
        dim_(packed.dim),
        padded_(PaddedDim(packed.dim)),
        n_rows_(PaddedDim(BlockQueries(packed.dim))),
        largest_(scratch),
        tile_largest_(largest_ + n_rows_),
        factors_(tile_largest_ + n_rows_),
        totals_(factors_ + n_rows_),
        sums_(totals_ + BlockQueries(dim_) * kLanes),
        scores_(sums_ + BlockQueries(dim_) * padded_),
        q_(scores_ + BlockQueries(dim_) * kTileKeys) {}

  void Run(std::size_t first, std::size_t n) {
    first_ = first;
    n_ = n;
    Begin();
    const std::size_t next = first + n, left = queries_.n_queries - next;
    Expect(queries_.q, queries_.q_stride, next, next + (left < n ? left : n), dim_);
    Expect<true>(queries_.out, queries_.out_stride, first, next, dim_);
    Visible all = {packed_.n_keys, 0};
    for (std::size_t r = 0; r < n; ++r) {
      const Visible visible = VisibleTo(queries_.index[first + r], queries_, packed_.n_keys);
      if (visible.begin < all.begin) all.begin = visible.begin;
      if (visible.end > all.end) all.end = visible.end;
    }
    for (std::size_t tile = all.begin / kTileKeys * kTileKeys; tile < all.end; tile += kTileKeys) {
      RunTile(tile, all.end - tile < kTileKeys ? all.end - tile : kTileKeys);
    }
    Finish();
  }

 private:
  void Begin() {
    // With log2(e) in the scale, powers of two do instead of powers of e.
    const Vec scale = Set1(queries_.scale * 0x1.715476p+0f);
    for (std::size_t r = 0; r < n_rows_; r += kLanes) {
      Store(largest_ + r, Set1(kLowest));
      Store(tile_largest_ + r, Set1(kLowest));
    }
    for (std::size_t r = 0; r < n_; ++r) {
      const float* from = queries_.q + (first_ + r) * queries_.q_stride;
      float* to = q_ + r * QueryStride();
      for (std::size_t d = 0; d < dim_; d += kLanes) {
        const Vec q = LoadPart(from + d, dim_ - d < kLanes ? dim_ - d : kLanes, 0.0f);
        StoreSlots(to + d / kPerSlot, Mul(q, scale));
      }
      for (std::size_t d = 0; d < padded_; d += kLanes) Store(sums_ + r * padded_ + d, Set1(0.0f));
      Store(totals_ + r * kLanes, Set1(0.0f));
    }
  }

  // Each step is done for the whole block before the next, so that its latency is paid once.
  void RunTile(std::size_t tile, std::size_t n_keys) {
    const std::size_t n_vecs = (n_keys + kLanes - 1) / kLanes;
    const std::size_t n_slots = Slots(dim_);
    Product<KeyColumns>({.x = q_,
                         .x_stride = QueryStride(),
                         .n_rows = n_,
                         .panel = {packed_.keys + tile * n_slots, n_slots},
                         .depth = n_slots,
                         .scale = nullptr,
                         .y = scores_,
                         .y_stride = kTileKeys},
                        n_vecs * kLanes);
    for (std::size_t r = 0; r < n_; ++r) {
      const Visible visible = VisibleTo(queries_.index[first_ + r], queries_, packed_.n_keys);
      float* scores = scores_ + r * kTileKeys;
      if (visible.begin > tile || visible.end < tile + n_vecs * kLanes) {
        HideKeys(scores, n_vecs, tile, visible);
      }
      tile_largest_[r] = LargestOf(scores, n_vecs);
    }
    for (std::size_t r = 0; r < n_; r += kLanes) {
      const Vec before = Load(largest_ + r), now = Max(before, Load(tile_largest_ + r));
      Store(factors_ + r, Exp2OfNegative(Sub(before, now)));
      Store(largest_ + r, now);
    }
    for (std::size_t r = 0; r < n_; ++r) {
      Exponentiate(scores_ + r * kTileKeys, n_vecs, largest_[r], factors_[r], totals_ + r * kLanes);
    }
    const float* values = packed_.values + Slots(tile) * packed_.values_stride;
    Product<ValueColumns>({.x = scores_,
                           .x_stride = kTileKeys,
                           .n_rows = n_,
                           .panel = {{values, packed_.values_stride}},
                           .depth = Slots(n_keys),
                           .scale = factors_,
                           .y = sums_,
                           .y_stride = padded_},
                          padded_);
  }

  std::size_t QueryStride() const { return padded_ / kPerSlot; }

  void Finish() {
    for (std::size_t r = 0; r < n_; ++r) {
      const Vec inverse = Set1(1.0f / ReduceAdd(Load(totals_ + r * kLanes)));
      const float* from = sums_ + r * padded_;
      float* to = queries_.out + (first_ + r) * queries_.out_stride;
      std::size_t d = 0;
      for (; d + kLanes <= dim_; d += kLanes) Store(to + d, Mul(Load(from + d), inverse));
      if (d < dim_) StorePart(to + d, Mul(Load(from + d), inverse), dim_ - d);
    }
  }

  const HeadQueries& queries_;
  const PackedKeys& packed_;
  std::size_t dim_, padded_, n_rows_;
  float* largest_;       // [n_rows] largest score so far
  float* tile_largest_;  // [n_rows]
  float* factors_;       // [n_rows] what the tile at hand does to the sums before it
  float* totals_;        // [block] Vecs whose lanes add up to the sum of the probabilities
  float* sums_;          // [block][padded]
  float* scores_;        // [block][kTileKeys]
  float* q_;             // [block][slots of padded], scaled
  std::size_t first_ = 0, n_ = 0;
};

void Attend(const HeadQueries& queries, const PackedKeys& packed, float* scratch) {
  Block block(queries, packed, scratch);
  const std::size_t n_block = BlockQueries(packed.dim);
  for (std::size_t first = 0; first < queries.n_queries; first += n_block) {
    const std::size_t left = queries.n_queries - first;
    block.Run(first, left < n_block ? left : n_block);
  }
}

}  // namespace
}  // namespace lattice::kernels
