// Included by each instruction set's file, after its Vec, half_*.inl and kTileVecs.
//
// Scores are chains of fused multiply-adds in rising order of the head's dimension, a lane for each
// key. In a segment, the softmax goes over tiles of 64 keys in order, and in a tile values are
// added in rising order of the keys. Nothing depends on the rows of a call: a tile that is hidden
// from a row adds zeros and rescales by one.

#include "kernels/cpu/paged_attention/pages.inl"
#include "kernels/cpu/paged_attention/variants.h"
#include "kernels/cpu/simd/exp.inl"
#include "kernels/cpu/simd/tanh.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kSegmentKeys = 512;
constexpr std::size_t kWidenPairs = 13;  // From so many on a tile is widened first.
constexpr float kHidden = -__builtin_inff();
constexpr float kLowest =
    -1e38f;  // Below any score, and finite: hidden minus this is hidden still.
constexpr float kLog2E = 0x1.715476p+0f;

inline std::size_t Padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

std::size_t ScratchFloats(const KvLayout& layout, std::size_t n_pairs) {
  return Tile::ScratchFloats(layout) + 2 * Padded(n_pairs) +
         n_pairs * (kLanes + kTileKeys + layout.padded_dim);
}

// Keys [begin, end) that a row sees.
struct Visible {
  std::size_t begin, end;
};

// Hides the keys of a tile that a row may not see; `tile` is the tile's first key.
inline void HideKeys(float* scores, std::size_t n_cols, std::size_t tile, Visible visible) {
  alignas(64) static constexpr float kRising[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                        8, 9, 10, 11, 12, 13, 14, 15};
  // Places relative to the tile are small: exact in f32.
  const std::size_t end = visible.end < tile ? 0 : visible.end - tile;
  const std::size_t begin = visible.begin < tile ? 0 : visible.begin - tile;
  const Vec first = Set1(static_cast<float>(begin < kTileKeys ? begin : kTileKeys));
  const Vec last = Set1(static_cast<float>(end < kTileKeys ? end : kTileKeys));
  const Vec hidden = Set1(kHidden);
  for (std::size_t c = 0; c < n_cols; c += kLanes) {
    const Vec place = Add(Load(kRising), Set1(static_cast<float>(c)));
    const Vec s = Select(Less(place, last), Load(scores + c), hidden);
    Store(scores + c, Select(Less(place, first), hidden, s));
  }
}

inline float LargestOf(const float* scores, std::size_t n_cols) {
  Vec largest = Load(scores);
  for (std::size_t c = kLanes; c < n_cols; c += kLanes) largest = Max(largest, Load(scores + c));
  return ReduceMax(largest);
}

// Turns scores into probabilities times 2^-largest; adds them to the lanes of `total`, scaled by
// `factor` before.
inline void Exponentiate(float* scores, std::size_t n_cols, float largest, float factor,
                         float* total) {
  const Vec most = Set1(largest);
  Vec sum = Mul(Load(total), Set1(factor));
  for (std::size_t c = 0; c < n_cols; c += kLanes) {
    const Vec p = Exp2OfNegative(Sub(Load(scores + c), most));
    Store(scores + c, p);
    sum = Add(sum, p);
  }
  Store(total, sum);
}

void Clear(std::size_t n_pairs, std::size_t padded_dim, const PagedPartial& out) {
  for (std::size_t p = 0; p < n_pairs; p += kLanes) {
    Store(out.largest + p, Set1(kLowest));
    Store(out.total + p, Set1(0.0f));
  }
  for (std::size_t i = 0; i < n_pairs * padded_dim; i += kLanes) Store(out.sums + i, Set1(0.0f));
}

// All pairs of a block against the tiles of one segment.
class SegmentRun {
 public:
  SegmentRun(const PagedBlock& block, float* scratch, const PagedPartial& out)
      : block_(block),
        layout_(*block.layout),
        out_(out),
        n_pairs_(block.n_rows * block.n_heads),
        tile_(layout_, scratch),
        tile_largest_(scratch + Tile::ScratchFloats(layout_)),
        factors_(tile_largest_ + Padded(n_pairs_)),
        totals_(factors_ + Padded(n_pairs_)),
        scores_(totals_ + n_pairs_ * kLanes),
        q_(scores_ + n_pairs_ * kTileKeys) {}

  void Run(std::size_t segment) {
    const std::size_t begin = VisibleTo(0).begin, end = VisibleTo(block_.n_rows - 1).end;
    std::size_t tile = segment * kSegmentKeys;
    const std::size_t stop = end < tile + kSegmentKeys ? end : tile + kSegmentKeys;
    if (begin > tile) tile = begin / kTileKeys * kTileKeys;
    if (tile < stop) tile_.FetchStart(Head(tile));
    Begin();
    for (; tile < stop; tile += kTileKeys) {
      const bool last = stop - tile <= kTileKeys;
      RunTile(tile, last ? stop - tile : kTileKeys);
      if (!last) tile_.FetchStart(Head(tile + kTileKeys));
    }
    for (std::size_t p = 0; p < n_pairs_; ++p) {
      out_.total[p] = ReduceAdd(Load(totals_ + p * kLanes));
    }
  }

 private:
  Visible VisibleTo(std::size_t row) const {
    const std::size_t position = block_.first_position + row;
    const bool cut = block_.window != 0 && position > block_.window;
    return {cut ? position - block_.window : 0, position + 1};
  }

  void Begin() {
    // With log2(e) in the scale, powers of two do instead of powers of e.
    const Vec scale =
        Set1(block_.soft_cap > 0 ? block_.scale / block_.soft_cap : block_.scale * kLog2E);
    for (std::size_t p = 0; p < n_pairs_; ++p) {
      const float* from =
          block_.q + p / block_.n_heads * block_.q_stride + p % block_.n_heads * layout_.dim;
      for (std::size_t d = 0; d < layout_.padded_dim; d += kLanes) {
        Store(q_ + p * layout_.padded_dim + d, Mul(LoadUpTo(from + d, layout_.dim - d), scale));
      }
      Store(totals_ + p * kLanes, Set1(0.0f));
    }
    for (std::size_t p = 0; p < n_pairs_; p += kLanes) Store(tile_largest_ + p, Set1(kLowest));
    Clear(n_pairs_, layout_.padded_dim, out_);
  }

  // Each step is done for the whole block before the next, so that its latency is paid once.
  void RunTile(std::size_t tile, std::size_t n_keys) {
    const std::size_t n_cols = Padded(n_keys);
    tile_.Read(Head(tile), n_keys, n_pairs_ >= kWidenPairs);
    tile_.ForKeys([&](auto keys) {
      Product<decltype(keys)>(
          {q_, layout_.padded_dim, n_pairs_, keys, layout_.dim, nullptr, scores_, kTileKeys},
          n_cols);
    });
    for (std::size_t p = 0; p < n_pairs_; ++p) {
      const Visible visible = VisibleTo(p / block_.n_heads);
      float* scores = scores_ + p * kTileKeys;
      if (block_.soft_cap > 0) Cap(scores, n_cols);
      if (visible.begin > tile || visible.end < tile + n_cols) {
        HideKeys(scores, n_cols, tile, visible);
      }
      tile_largest_[p] = LargestOf(scores, n_cols);
    }
    for (std::size_t p = 0; p < n_pairs_; p += kLanes) {
      const Vec before = Load(out_.largest + p), now = Max(before, Load(tile_largest_ + p));
      Store(factors_ + p, Exp2OfNegative(Sub(before, now)));
      Store(out_.largest + p, now);
    }
    for (std::size_t p = 0; p < n_pairs_; ++p) {
      Exponentiate(scores_ + p * kTileKeys, n_cols, out_.largest[p], factors_[p],
                   totals_ + p * kLanes);
    }
    for (std::size_t panel = 0; panel < layout_.padded_dim; panel += kValuePanel) {
      const std::size_t width = PanelWidth(layout_.padded_dim, panel);
      tile_.ForValues(panel, width, [&](auto values) {
        Product<decltype(values)>({scores_, kTileKeys, n_pairs_, values, n_keys, factors_,
                                   out_.sums + panel, layout_.padded_dim},
                                  width);
      });
    }
  }

  const std::byte* Head(std::size_t tile) const {
    return block_.pages + block_.page_of[tile / kTileKeys] * block_.page_bytes;
  }

  void Cap(float* scores, std::size_t n_cols) const {
    const Vec cap = Set1(block_.soft_cap * kLog2E);
    for (std::size_t c = 0; c < n_cols; c += kLanes) {
      Store(scores + c, Mul(cap, Tanh()(Load(scores + c))));
    }
  }

  const PagedBlock& block_;
  const KvLayout& layout_;
  const PagedPartial& out_;
  std::size_t n_pairs_;
  Tile tile_;
  float* tile_largest_;  // [pairs, padded]
  float* factors_;       // [pairs, padded] what the tile at hand does to the sums before it
  float* totals_;        // [pairs][16] lanes that add up to the sum of the probabilities
  float* scores_;        // [pairs][64]
  float* q_;             // [pairs][padded_dim], scaled
};

void Segment(const PagedBlock& block, std::size_t segment, float* scratch,
             const PagedPartial& out) {
  SegmentRun(block, scratch, out).Run(segment);
}

void Merge(const PagedPartial& next, std::size_t n_pairs, std::size_t padded_dim,
           const PagedPartial& sum) {
  for (std::size_t p = 0; p < n_pairs; ++p) {
    const Vec before = Set1(sum.largest[p]), after = Set1(next.largest[p]);
    const Vec now = Max(before, after);
    const Vec old_factor = Exp2OfNegative(Sub(before, now));
    const Vec new_factor = Exp2OfNegative(Sub(after, now));
    float* to = sum.sums + p * padded_dim;
    const float* from = next.sums + p * padded_dim;
    for (std::size_t d = 0; d < padded_dim; d += kLanes) {
      Store(to + d, Fma(Load(from + d), new_factor, Mul(Load(to + d), old_factor)));
    }
    StorePart(sum.total + p,
              Fma(Set1(next.total[p]), new_factor, Mul(Set1(sum.total[p]), old_factor)), 1);
    StorePart(sum.largest + p, now, 1);
  }
}

void Finish(const PagedPartial& sum, const PagedBlock& block, float* out, std::size_t out_stride) {
  const std::size_t dim = block.layout->dim, padded_dim = block.layout->padded_dim;
  for (std::size_t p = 0; p < block.n_rows * block.n_heads; ++p) {
    const Vec inverse = Set1(1.0f / sum.total[p]), zero = Set1(0.0f);
    const float* from = sum.sums + p * padded_dim;
    float* to = out + p / block.n_heads * out_stride + p % block.n_heads * dim;
    for (std::size_t d = 0; d < dim; d += kLanes) {
      // Hidden keys may have turned -0 into 0: the sum makes them one.
      const Vec y = Add(Mul(Load(from + d), inverse), zero);
      if (dim - d >= kLanes) {
        Store(to + d, y);
      } else {
        StorePart(to + d, y, dim - d);
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
