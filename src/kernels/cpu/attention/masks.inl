// Which keys a query sees. Included by each instruction set's file, after its Vec.

#include "kernels/cpu/attention/variants.h"

namespace lattice::kernels {
namespace {

constexpr float kHidden = -__builtin_inff();
constexpr float kLowest =
    -1e38f;  // Below any score, and finite: hidden minus this is hidden still.

constexpr std::size_t PaddedDim(std::size_t dim) { return (dim + 15) / 16 * 16; }

// Keys [begin, end) that a query sees.
struct Visible {
  std::size_t begin, end;
};

inline Visible VisibleTo(std::size_t i, const HeadQueries& queries, std::size_t n_keys) {
  Visible visible = {0, n_keys};
  if (queries.causal && i + 1 < n_keys) visible.end = i + 1;
  if (queries.window != 0) {
    if (i > queries.window) visible.begin = i - queries.window;
    if (i + queries.window + 1 < visible.end) visible.end = i + queries.window + 1;
  }
  return visible;
}

// Hides keys that a query may not see; scores are those of the keys from `tile` on.
inline void HideKeys(float* scores, std::size_t n_vecs, std::size_t tile, Visible visible) {
  alignas(64) static constexpr float kRising[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                        8, 9, 10, 11, 12, 13, 14, 15};
  // Places relative to the tile are small: exact in f32.
  const std::size_t end = visible.end < tile ? 0 : visible.end - tile;
  const std::size_t begin = visible.begin < tile ? 0 : visible.begin - tile;
  const std::size_t n = n_vecs * kLanes;
  const Vec first = Set1(static_cast<float>(begin < n ? begin : n));
  const Vec last = Set1(static_cast<float>(end < n ? end : n));
  const Vec hidden = Set1(kHidden);
  for (std::size_t v = 0; v < n_vecs; ++v) {
    const Vec place = Add(Load(kRising), Set1(static_cast<float>(v * kLanes)));
    const Vec s = Select(Less(place, last), Load(scores + v * kLanes), hidden);
    Store(scores + v * kLanes, Select(Less(place, first), hidden, s));
  }
}

}  // namespace
}  // namespace lattice::kernels
