// Included by each instruction set's file, after its Vec, kTileVecs and WriteColumns.
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

// The last inputs of a full chunk come before the next.
void ConvolveAny(const ConvArgs& args) {
  const std::size_t before = args.taps - 1;
  float* fresh = args.window + (before + args.first) * args.padded;
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
  if (args.first + args.n < kChunkRows) return;
  for (std::size_t i = 0; i < before * args.padded; i += kLanes) {
    Store(args.window + i, Load(args.window + kChunkRows * args.padded + i));
  }
}

// The same with the last inputs in registers; a full chunk leaves no more than those.
template <std::size_t kTaps>
void ConvolveTaps(const ConvArgs& args) {
  const std::size_t padded = args.padded;
  const bool full = args.first + args.n == kChunkRows;
  for (std::size_t c = 0; c < padded; c += kLanes) {
    const std::size_t left = args.dim - c;
    const float* x = args.x + c;
    float* window = args.window + c;
    float* fresh = window + (args.first + kTaps - 1) * padded;
    float* out = args.out + c;
    Vec tap[kTaps], input[kTaps];  // Inputs: newest last.
    Unrolled<kTaps>([&](std::size_t j) {
      tap[j] = LoadUpTo(args.taps_of + j * args.taps_stride + c, left);
      if (j > 0) input[j] = Load(window + (args.first + j - 1) * padded);
    });
    for (std::size_t t = 0; t < args.n; ++t) {
      Unrolled<kTaps - 1>([&](std::size_t j) { input[j] = input[j + 1]; });
      input[kTaps - 1] = LoadUpTo(x + t * args.x_stride, left);
      if (!full) Store(fresh + t * padded, input[kTaps - 1]);
      Vec sum = Set1(0.0f);
      Unrolled<kTaps>([&](std::size_t j) { sum = Fma(tap[j], input[j], sum); });
      Store(out + t * padded, Silu(sum));
    }
    if (full) {
      Unrolled<kTaps - 1>([&](std::size_t j) { Store(window + j * padded, input[j + 1]); });
    }
  }
}

void Convolve(const ConvArgs& args) { args.taps == 4 ? ConvolveTaps<4>(args) : ConvolveAny(args); }

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
    UnitLength(args.rows + t * args.padded, args.padded, 1.0f);
    UnitLength(args.rows + (args.n + t) * args.padded, args.padded, query_scale);
  }
  for (std::size_t t = 0; t < args.n;) {
    const float* key = args.rows + t * args.padded;
    const std::size_t row = args.first + t;
    float* columns = args.chunk_keys + row / kLanes * args.key_dim * kLanes;
    if (row % kLanes == 0 && args.n - t >= kLanes) {
      WriteColumns(key, args.padded, args.key_dim, columns);
      t += kLanes;
    } else {
      columns += row % kLanes;
      for (std::size_t d = 0; d < args.key_dim; ++d) columns[d * kLanes] = key[d];
      ++t;
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

// As many lines as the processor asks for without making others wait.
constexpr std::size_t kPiecesAtOnce = 3;

[[gnu::always_inline]] inline void FetchSome(NextRows& next) {
  for (std::size_t i = 0; i < kPiecesAtOnce && next.row < next.n_rows; ++i) {
    const NextRows::Piece& piece = next.pieces[next.piece];
    const float* from = piece.from + next.row * piece.stride;
    for (std::size_t f = 0; f < piece.n_floats; f += kLanes) PrefetchLine(from + f, 0);
    if (++next.piece == next.n_pieces) {
      next.piece = 0;
      ++next.row;
    }
  }
}

// What the rows of a call share over all columns.
struct RowFactors {
  float start[kChunkRows];                     // The decay since the chunk's start.
  float weights[2 * kChunkRows * kChunkRows];  // [2 n] of u_j in u_t (negative), then in o_t.
};

inline void FindFactors(const ValuesArgs& args, RowFactors& factors) {
  Decay decay(args.g, args.first);
  for (std::size_t t = 0; t < args.n; ++t) {
    decay.Step();
    StorePart(factors.start + t, decay.Start(), 1);
    for (std::size_t v = 0; v < kChunkVecs; ++v) {
      const std::size_t u = t * kChunkRows + v * kLanes, o = u + args.n * kChunkRows;
      const Vec d = decay.From(v);
      Store(factors.weights + u, Sub(Set1(0.0f), Mul(d, Load(args.products + u))));
      Store(factors.weights + o, Mul(d, Load(args.products + o)));
    }
  }
}

// Some rows and a panel of columns: u_t without beta, and o_t, for t in [begin, begin + n).
struct Block {
  std::size_t begin, n, width;
  float* sums;          // [2 n][kDeltaPanel] of u, then of o.
  float* panel;         // [kChunkRows][width] the chunk's u.
  float* out;           // The first row's.
  std::size_t out_dim;  // What is left of value_dim.
};

// sums = (scale == null ? 0 : scale * sums) + rows * panel; `rows` holds n for u, then n for o.
template <typename Panel>
inline void BlockProduct(const Block& block, const float* rows, std::size_t stride,
                         std::size_t n_rows, Panel panel, std::size_t depth, const float* scale) {
  const float* u = rows + block.begin * stride;
  if (block.n == n_rows) {  // All in one: a state is read once.
    Product<Panel>({u, stride, 2 * n_rows, panel, depth, scale, block.sums, kDeltaPanel},
                   block.width);
    return;
  }
  Product<Panel>({u, stride, block.n, panel, depth, scale, block.sums, kDeltaPanel}, block.width);
  Product<Panel>({u + n_rows * stride, stride, block.n, panel, depth, scale,
                  block.sums + block.n * kDeltaPanel, kDeltaPanel},
                 block.width);
}

// The block's own triangle; weights: of the block's first row in its first row.
template <std::size_t n>
void SolveBlock(const Block& block, const float* u_weights, const float* o_weights,
                const float* beta, std::size_t out_stride) {
  for (std::size_t c = 0; c < block.width; c += kLanes) {
    Vec u[n];
    Unrolled<n>([&](std::size_t t) {
      Vec sum = Load(block.sums + t * kDeltaPanel + c);
      Vec o = Load(block.sums + (n + t) * kDeltaPanel + c);
      Unrolled<n>([&](std::size_t j) {
        if (j >= t) return;
        sum = Fma(Set1(u_weights[t * kChunkRows + j]), u[j], sum);
        o = Fma(Set1(o_weights[t * kChunkRows + j]), u[j], o);
      });
      u[t] = Mul(Set1(beta[t]), sum);
      o = Fma(Set1(o_weights[t * kChunkRows + t]), u[t], o);
      Store(block.panel + t * block.width + c, u[t]);
      float* out = block.out + t * out_stride + c;
      if (block.out_dim >= c + kLanes) {
        Store(out, o);
      } else if (block.out_dim > c) {
        StorePart(out, o, block.out_dim - c);
      }
    });
  }
}

static_assert(kTileRows == 6);  // Also for the ones below.

inline void Solve(const Block& block, const float* u_weights, const float* o_weights,
                  const float* beta, std::size_t out_stride) {
  switch (block.n) {
    case 6:
      return SolveBlock<6>(block, u_weights, o_weights, beta, out_stride);
    case 5:
      return SolveBlock<5>(block, u_weights, o_weights, beta, out_stride);
    case 4:
      return SolveBlock<4>(block, u_weights, o_weights, beta, out_stride);
    case 3:
      return SolveBlock<3>(block, u_weights, o_weights, beta, out_stride);
    case 2:
      return SolveBlock<2>(block, u_weights, o_weights, beta, out_stride);
    default:
      return SolveBlock<1>(block, u_weights, o_weights, beta, out_stride);
  }
}

void Values(const ValuesArgs& args) {
  alignas(64) RowFactors factors;
  FindFactors(args, factors);
  alignas(64) float sums[2 * kTileRows * kDeltaPanel];
  for (std::size_t p = 0; p < args.padded_value; p += kDeltaPanel) {
    const std::size_t left = args.padded_value - p;
    const std::size_t width = left < kDeltaPanel ? left : kDeltaPanel;
    const float* state = args.state + p * args.key_dim;
    float* panel = args.u + p * kChunkRows;
    for (std::size_t t = 0; t < args.n; t += kTileRows) {
      const std::size_t n = args.n - t < kTileRows ? args.n - t : kTileRows;
      const std::size_t row = args.first + t;
      const Block block = {t,
                           n,
                           width,
                           sums,
                           panel + row * width,
                           args.out + t * args.out_stride + p,
                           args.value_dim - p};
      FetchSome(*args.next);
      if (2 * args.n <= kTileRows) {
        BlockProduct(block, args.rows, args.padded_key, args.n, StatePanel{state, width},
                     args.key_dim, nullptr);
      } else {
        BlockProduct(block, args.rows, args.padded_key, args.n, F32Panel{state, width},
                     args.key_dim, nullptr);
      }
      FetchSome(*args.next);
      for (std::size_t i = 0; i < n; ++i) {
        const Vec start = Set1(factors.start[t + i]);
        const float* v = args.values + (t + i) * args.padded_value + p;
        float* u = sums + i * kDeltaPanel;
        float* o = sums + (n + i) * kDeltaPanel;
        for (std::size_t c = 0; c < width; c += kLanes) {
          Store(u + c, NegFma(start, Load(u + c), Load(v + c)));
          Store(o + c, Mul(start, Load(o + c)));
        }
      }
      FetchSome(*args.next);
      if (row > 0) {
        static constexpr float kOnes[2 * kTileRows] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        BlockProduct(block, factors.weights, kChunkRows, args.n, F32Panel{panel, width}, row,
                     kOnes);
      }
      const float* weights = factors.weights + t * kChunkRows + row;
      Solve(block, weights, weights + args.n * kChunkRows, args.beta + t, args.out_stride);
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
      FetchSome(*args.next);
      Product<F32Panel>({keys + i * kChunkRows, kChunkRows, n, u, kChunkRows, scale,
                         args.state + p * args.key_dim + i * width, width},
                        width);
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
