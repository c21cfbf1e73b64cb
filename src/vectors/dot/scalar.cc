#include "vectors/dot/variants.h"

namespace lattice::vectors {
namespace {

using Vec = float;
constexpr std::size_t kWidth = 1;
constexpr std::size_t GroupFor(std::size_t) { return 64; }

inline Vec Zero() { return 0.0f; }
inline Vec Splat(float x) { return x; }
inline Vec Load(const float* p) { return *p; }
inline Vec LoadPartial(const float* p, std::size_t left) { return left == 0 ? 0.0f : *p; }
inline void Store(float* p, Vec x) { *p = x; }
inline Vec Add(Vec a, Vec b) { return a + b; }
inline Vec Sub(Vec a, Vec b) { return a - b; }
inline Vec Div(Vec a, Vec b) { return a / b; }
inline Vec Fma(Vec a, Vec b, Vec c) { return __builtin_fmaf(a, b, c); }
inline float FoldLanes(Vec v) { return v; }

#include "vectors/dot/cosine.inl"
// CosineOfSafeSums comes first.
#include "vectors/dot/body.inl"

}  // namespace

const DotFns kDotScalar = {Dot, SquaredDistance, DotAndNorm, DotAndNorms, Cosine, DotTile, Divide};

}  // namespace lattice::vectors
