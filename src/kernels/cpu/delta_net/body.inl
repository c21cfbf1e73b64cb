// Included by each instruction set's file, after its Vec and kTileVecs.
//
// With S the state at the last multiple of kChunkRows, and decay(j, t) = exp(g_{j+1} + ... + g_t):
//   u_t = beta_t (v_t - decay(start, t) S^T k_t - sum_{j < t} decay(j, t) (k_j . k_t) u_j)
//   o_t =                decay(start, t) S^T q_t + sum_{j <= t} decay(j, t) (k_j . q_t) u_j
//   S  <- decay(start, end) S + sum_j decay(j, end) k_j u_j^T
// Every sum is a chain of fused multiply-adds, over the key's dimension or over j in rising order:
// a row has the same bits alone and among others. Sums of g start anew for each j, so that nothing
// cancels.

#include "kernels/cpu/delta_net/variants.h"
#include "kernels/cpu/simd/product.inl"
#include "kernels/cpu/simd/sigmoid.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kChunkVecs = kChunkRows / kLanes;

inline Vec LoadUpTo(const float* p, std::size_t n) {
  return n >= kLanes ? Load(p) : LoadPart(p, n, 0.0f);
}

inline Vec Silu(Vec x) { return Mul(x, Sigmoid(x)); }

void Convolve(const ConvArgs& args) {
  float* fresh = args.window + (args.taps - 1 + args.first) * args.padded;
  for (std::size_t t = 0; t < args.n; ++t) {
    for (std::size_t c = 0; c < args.padded; c += kLanes) {
      Store(fresh + t * args.padded + c, LoadUpTo(args.x + t * args.x_stride + c, args.dim - c));
    }
  }
  for (std::size_t c = 0; c < args.padded; c += kLanes) {
    for (std::size_t t = 0; t < args.n; ++t) {
      const float* rows = args.window + (args.first + t) * args.padded + c;
      Vec sum = Set1(0.0f);
      for (std::size_t j = 0; j < args.taps; ++j) {
        const Vec tap = LoadUpTo(args.taps_of + j * args.taps_stride + c, args.dim - c);
        sum = Fma(tap, Load(rows + j * args.padded), sum);
      }
      Store(args.out + t * args.padded + c, Silu(sum));
    }
  }
}

// x *= factor / sqrt(sum of squares + 1e-6).
inline void UnitLength(float* x, std::size_t padded, float factor) {
  Vec sum = Set1(0.0f);
  for (std::size_t d = 0; d < padded; d += kLanes) {
    const Vec v = Load(x + d);
    sum = Fma(v, v, sum);
  }
  const Vec scale = Set1(factor / Sqrt(ReduceAdd(sum) + 1e-6f));
  for (std::size_t d = 0; d < padded; d += kLanes) Store(x + d, Mul(Load(x + d), scale));
}

// Columns are the chunk's rows. Those of a Vec lie together, so that a single row touches no more
// memory than the chunk has rows.
struct ChunkKeys {
  const float* data;
  std::size_t key_dim;
  Vec At(std::size_t d, std::size_t col) const {
    return Load(data + col * key_dim + d * kLanes);  // col is a multiple of kLanes.
  }
  void Prefetch(std::size_t, std::size_t) const {}
};

void Keys(const KeysArgs& args) {
  const float query_scale = 1.0f / Sqrt(static_cast<float>(args.key_dim));
  for (std::size_t t = 0; t < args.n; ++t) {
    float* key = args.rows + t * args.padded;
    UnitLength(key, args.padded, 1.0f);
    UnitLength(key + args.n * args.padded, args.padded, query_scale);
    const std::size_t row = args.first + t;
    float* column = args.chunk_keys + row / kLanes * args.key_dim * kLanes + row % kLanes;
    for (std::size_t d = 0; d < args.key_dim; ++d) {
      column[d * kLanes] = key[d];
    }
  }
  // Columns past the last row hold what earlier chunks left there; nobody reads their products.
  const std::size_t n_cols = (args.first + args.n + kLanes - 1) / kLanes * kLanes;
  Product<ChunkKeys>({args.rows, args.padded, 2 * args.n, ChunkKeys{args.chunk_keys, args.key_dim},
                      args.key_dim, nullptr, args.products, kChunkRows},
                     n_cols);
}

void Gates(const GatesArgs& args) {
  for (std::size_t t = 0; t < args.n; t += kLanes) {
    const std::size_t n = args.n - t < kLanes ? args.n - t : kLanes;
    float beta[kLanes] = {}, decay[kLanes] = {};
    for (std::size_t i = 0; i < n; ++i) {
      beta[i] = args.beta[(t + i) * args.x_stride];
      decay[i] = args.decay[(t + i) * args.x_stride];
    }
    StorePart(args.beta_out + t, Sigmoid(Load(beta)), n);
    const Vec g = Mul(Set1(args.decay_scale), Softplus(Add(Load(decay), Set1(args.dt_bias))));
    StorePart(args.g_out + t, g, n);
  }
}

// Sums of g from each row of a chunk, and from its start, to the row at hand.
class Decay {
 public:
  // After rows 0..first - 1.
  Decay(const float* g, std::size_t first) : g_(g) {
    for (Vec& s : sums_) s = Set1(0.0f);
    for (std::size_t t = 0; t < first; ++t) Step();
  }
  void Step() {
    alignas(64) static constexpr float kRising[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                          8, 9, 10, 11, 12, 13, 14, 15};
    const float g = g_[n_];
    start_ += g;
    for (std::size_t v = 0; v < kChunkVecs; ++v) {
      const Vec row = Add(Load(kRising), Set1(static_cast<float>(v * kLanes)));
      const Vec n = Set1(static_cast<float>(n_));
      sums_[v] = Add(sums_[v], Select(Less(row, n), Set1(g), Set1(0.0f)));
    }
    ++n_;
  }
  Vec Start() const { return ExpOfNegative(Set1(start_)); }
  // Of rows 16 v .. 16 v + 15: one for those after the row at hand.
  Vec From(std::size_t v) const { return ExpOfNegative(sums_[v]); }

 private:
  const float* g_;
  std::size_t n_ = 0;
  float start_ = 0.0f;
  Vec sums_[kChunkVecs];
};

// A panel of a state, which comes from memory when the text has a row or two.
struct StatePanel {
  const float* data;
  std::size_t stride;
  Vec At(std::size_t d, std::size_t col) const { return Load(data + d * stride + col); }
  [[gnu::always_inline]] void Prefetch(std::size_t d, std::size_t col) const {
    for (std::size_t i = 0; i < kDeltaPanel * sizeof(float); i += kLineBytes) {
      PrefetchLine(data + d * stride + col, kAheadBytes + i);
    }
  }
};

// sums = rows * state, for a state in panels.
template <typename Panel>
inline void StateProduct(const ValuesArgs& args, float* sums) {
  const std::size_t cols = args.padded_value;
  for (std::size_t p = 0; p < cols; p += kDeltaPanel) {
    const std::size_t width = cols - p < kDeltaPanel ? cols - p : kDeltaPanel;
    Product<Panel>(
        {args.rows, args.padded_key, 2 * args.n, Panel{args.state + p * args.key_dim, width},
         args.key_dim, nullptr, sums + p, cols},
        width);
  }
}

void Values(const ValuesArgs& args) {
  const std::size_t n = args.n, cols = args.padded_value;
  float* sums = args.scratch;  // [2 n][cols] S^T k, then S^T q; then u and o.
  if (2 * n <= kTileRows) {
    StateProduct<StatePanel>(args, sums);
  } else {
    StateProduct<F32Panel>(args, sums);
  }
  Decay decay(args.g, args.first);
  for (std::size_t t = 0; t < n; ++t) {
    decay.Step();
    const std::size_t row = args.first + t;
    const Vec start = decay.Start();
    float* u = sums + t * cols;
    float* o = sums + (n + t) * cols;
    for (std::size_t c = 0; c < cols; c += kLanes) {
      Store(u + c, NegFma(start, Load(u + c), Load(args.values + t * cols + c)));
      Store(o + c, Mul(start, Load(o + c)));
    }
    float weights[2][kChunkRows];  // Of u_j in u_t (negative) and in o_t.
    for (std::size_t v = 0; v < kChunkVecs; ++v) {
      const std::size_t c = v * kLanes;
      const Vec d = decay.From(v);
      const Vec k = Load(args.products + t * kChunkRows + c);
      const Vec q = Load(args.products + (n + t) * kChunkRows + c);
      Store(weights[0] + c, Sub(Set1(0.0f), Mul(d, k)));
      Store(weights[1] + c, Mul(d, q));
    }
    const Vec beta = Set1(args.beta[t]), own = Set1(weights[1][row]);
    for (std::size_t p = 0; p < cols; p += kDeltaPanel) {
      const std::size_t width = cols - p < kDeltaPanel ? cols - p : kDeltaPanel;
      float* panel = args.u + p * kChunkRows;
      constexpr float kOnes[2] = {1.0f, 1.0f};
      Product<F32Panel>(
          {weights[0], kChunkRows, 2, F32Panel{panel, width}, row, kOnes, u + p, n * cols}, width);
      for (std::size_t c = 0; c < width; c += kLanes) {
        const Vec update = Mul(beta, Load(u + p + c));
        Store(panel + row * width + c, update);
        Store(o + p + c, Fma(own, update, Load(o + p + c)));
      }
    }
    float* out = args.out + t * args.out_stride;
    for (std::size_t c = 0; c < args.value_dim; c += kLanes) {
      if (args.value_dim - c >= kLanes) {
        Store(out + c, Load(o + c));
      } else {
        StorePart(out + c, Load(o + c), args.value_dim - c);
      }
    }
  }
}

void Fold(const ValuesArgs& args) {
  const Decay decay(args.g, kChunkRows);
  float scale[kTileRows];
  for (float& s : scale) StorePart(&s, decay.Start(), 1);
  const ChunkKeys chunk = {args.chunk_keys, args.key_dim};
  float* keys = args.scratch;  // [key_dim][kChunkRows]
  for (std::size_t v = 0; v < kChunkVecs; ++v) {
    const std::size_t c = v * kLanes;
    const Vec d = decay.From(v);
    for (std::size_t i = 0; i < args.key_dim; ++i) {
      Store(keys + i * kChunkRows + c, Mul(d, chunk.At(i, c)));
    }
  }
  for (std::size_t p = 0; p < args.padded_value; p += kDeltaPanel) {
    const std::size_t left = args.padded_value - p;
    const std::size_t width = left < kDeltaPanel ? left : kDeltaPanel;
    const F32Panel u = {args.u + p * kChunkRows, width};
    for (std::size_t i = 0; i < args.key_dim; i += kTileRows) {
      const std::size_t n = args.key_dim - i < kTileRows ? args.key_dim - i : kTileRows;
      Product<F32Panel>({keys + i * kChunkRows, kChunkRows, n, u, kChunkRows, scale,
                         args.state + p * args.key_dim + i * width, width},
                        width);
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
