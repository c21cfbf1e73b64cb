#include "kernels/cpu/delta_net/delta_net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/cpu/cpu_backend.h"

namespace lattice::kernels {
namespace {

std::vector<float> Random(std::size_t n, unsigned seed, float scale = 1.0f) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// A layer and rows for it: channels, then inputs of beta, then of the decay.
struct Layer {
  Layer(const DeltaNetShape& s, std::size_t n, unsigned seed)
      : shape(s),
        width(s.conv_width() + 2 * s.n_value_heads),
        x(Random(n * width, seed)),
        conv(Random(s.conv_width() * s.conv_kernel, seed + 1, 0.5f)),
        decay(Random(s.n_value_heads, seed + 2)),
        dt_bias(Random(s.n_value_heads, seed + 3)) {
    for (float& a : decay) a = -std::exp(a);  // Some heads forget a chunk, others nothing.
  }
  std::size_t n() const { return x.size() / width; }
  DeltaNetShape shape;
  std::size_t width;
  std::vector<float> x, conv, decay, dt_bias;
};

class Runner {
 public:
  Runner(const Layer& layer, std::size_t n_threads, CpuFeatures features)
      : layer_(layer),
        pool_(n_threads),
        backend_(MakeCpuBackend(pool_, features)),
        conv_(backend_->MakeVector(layer.conv)),
        decay_(backend_->MakeVector(layer.decay)),
        dt_bias_(backend_->MakeVector(layer.dt_bias)),
        x_(backend_->MakeBuffer()),
        out_(backend_->MakeBuffer()),
        state_(backend_->MakeDeltaNetState(layer.shape)) {}

  static constexpr float kNormEps = 1e-6f;
  void SetGain(std::span<const float> gain) { gain_ = backend_->MakeVector(gain); }

  // The next rows of the layer for each state: from its own n_tokens() on.
  struct Piece {
    DeltaNetState* state;
    std::size_t n;
  };
  std::vector<float> Run(const std::vector<Piece>& pieces) {
    std::vector<float> rows;
    std::vector<DeltaNetSpan> spans;
    std::uint32_t row = 0;
    for (const Piece& piece : pieces) {
      const auto from =
          layer_.x.begin() + static_cast<std::ptrdiff_t>(piece.state->n_tokens() * layer_.width);
      rows.insert(rows.end(), from, from + static_cast<std::ptrdiff_t>(piece.n * layer_.width));
      const auto n = static_cast<std::uint32_t>(piece.n);
      spans.push_back({row, row + n, piece.state});
      row += n;
    }
    backend_->Write(rows, row, layer_.width, *x_);
    DeltaNetArgs args;
    args.shape = layer_.shape;
    args.weights = {conv_.get(), decay_.get(), dt_bias_.get(), gain_.get()};
    args.norm_eps = kNormEps;  // Gates are the channels, from the first one on.
    args.x = x_.get();
    args.beta_col = layer_.shape.conv_width();
    args.decay_col = args.beta_col + layer_.shape.n_value_heads;
    args.spans = spans;
    backend_->DeltaNet(args, *out_);
    std::vector<float> out(row * layer_.shape.value_width());
    backend_->Read(*out_, out);
    return out;
  }
  // The rest of the layer's rows.
  std::vector<float> InPieces(std::size_t piece) {
    std::vector<float> all;
    while (state_->n_tokens() < layer_.n()) {
      const std::vector<float> out =
          Run({{state_.get(), std::min(piece, layer_.n() - state_->n_tokens())}});
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  }

  std::vector<std::byte> Bytes() const {
    std::vector<std::byte> bytes(state_->size_bytes());
    backend_->ReadDeltaNetState(*state_, bytes);
    return bytes;
  }

  Backend& backend() { return *backend_; }
  DeltaNetState& state() { return *state_; }

 private:
  const Layer& layer_;
  ThreadPool pool_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Vector> conv_, decay_, dt_bias_, gain_;
  std::unique_ptr<Buffer> x_, out_;
  std::unique_ptr<DeltaNetState> state_;
};

// The plain recurrence in f64.
std::vector<double> Exact(const Layer& layer) {
  const DeltaNetShape& s = layer.shape;
  const std::size_t group = s.n_value_heads / s.n_key_heads;
  std::vector<double> out(layer.n() * s.value_width());
  std::vector<double> state(s.n_value_heads * s.key_dim * s.value_dim);
  std::vector<double> c(s.conv_width());
  for (std::size_t t = 0; t < layer.n(); ++t) {
    for (std::size_t ch = 0; ch < c.size(); ++ch) {
      double sum = 0;
      for (std::size_t j = 0; j < s.conv_kernel; ++j) {
        if (t + j + 1 < s.conv_kernel) continue;
        sum += static_cast<double>(layer.conv[ch * s.conv_kernel + j]) *
               layer.x[(t + j + 1 - s.conv_kernel) * layer.width + ch];
      }
      c[ch] = sum / (1 + std::exp(-sum));
    }
    for (std::size_t g = 0; g < 2 * s.n_key_heads; ++g) {
      double square = 0;
      for (std::size_t d = 0; d < s.key_dim; ++d) square += std::pow(c[g * s.key_dim + d], 2);
      double scale = 1 / std::sqrt(square + 1e-6);
      if (g < s.n_key_heads) scale /= std::sqrt(static_cast<double>(s.key_dim));
      for (std::size_t d = 0; d < s.key_dim; ++d) c[g * s.key_dim + d] *= scale;
    }
    for (std::size_t h = 0; h < s.n_value_heads; ++h) {
      const std::size_t g = s.order == KeyHeadOrder::kBlocked ? h / group : h % s.n_key_heads;
      const double* q = &c[g * s.key_dim];
      const double* k = &c[(s.n_key_heads + g) * s.key_dim];
      const double* v = &c[2 * s.key_width() + h * s.value_dim];
      const float* gates = &layer.x[t * layer.width + s.conv_width()];
      const double beta = 1 / (1 + std::exp(-static_cast<double>(gates[h])));
      const double decay = std::exp(
          layer.decay[h] *
          std::log1p(std::exp(static_cast<double>(gates[s.n_value_heads + h]) + layer.dt_bias[h])));
      double* S = &state[h * s.key_dim * s.value_dim];
      for (std::size_t j = 0; j < s.value_dim; ++j) {
        double seen = 0, o = 0;
        for (std::size_t d = 0; d < s.key_dim; ++d) {
          S[d * s.value_dim + j] *= decay;
          seen += S[d * s.value_dim + j] * k[d];
        }
        const double u = beta * (v[j] - seen);
        for (std::size_t d = 0; d < s.key_dim; ++d) {
          S[d * s.value_dim + j] += k[d] * u;
          o += S[d * s.value_dim + j] * q[d];
        }
        out[t * s.value_width() + h * s.value_dim + j] = o;
      }
    }
  }
  return out;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

std::vector<DeltaNetShape> Shapes() {
  return {{2, 4, 16, 32, 4, KeyHeadOrder::kBlocked},
          {2, 4, 24, 20, 4, KeyHeadOrder::kInterleaved},
          {1, 1, 128, 128, 4, KeyHeadOrder::kBlocked},
          {3, 3, 8, 80, 2, KeyHeadOrder::kBlocked},
          {1, 2, 33, 7, 1, KeyHeadOrder::kBlocked}};
}

TEST(DeltaNetTest, AGainNormalisesAndGatesEachHead) {
  for (const DeltaNetShape& shape : Shapes()) {
    const Layer layer(shape, 70, 1);
    const std::vector<float> gain = Random(shape.value_dim, 9);
    const std::size_t width = shape.value_width(), dim = shape.value_dim;
    Runner plain(layer, 2, CpuFeatures::Detect()), whole(layer, 2, CpuFeatures::Detect());
    Runner single(layer, 1, CpuFeatures::Detect());
    whole.SetGain(gain);
    single.SetGain(gain);
    const std::vector<float> before = plain.InPieces(layer.n()), got = whole.InPieces(layer.n());
    EXPECT_TRUE(SameBits(got, single.InPieces(1)));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float* head = &before[i / dim * dim];
      double square = 0;
      for (std::size_t d = 0; d < dim; ++d) square += std::pow(static_cast<double>(head[d]), 2);
      const double z = layer.x[i / width * layer.width + i % width];
      const double want = before[i] /
                          std::sqrt(square / static_cast<double>(dim) + double{Runner::kNormEps}) *
                          gain[i % dim] * z / (1 + std::exp(-z));
      ASSERT_NEAR(got[i], want, 2e-6 * (1 + std::abs(want))) << "dim " << dim << " at " << i;
    }
  }
}

TEST(DeltaNetTest, IsNearThePlainRecurrence) {
  for (const DeltaNetShape& shape : Shapes()) {
    const Layer layer(shape, 200, 1);
    Runner runner(layer, 2, CpuFeatures::Detect());
    const std::vector<float> got = runner.InPieces(layer.n());
    const std::vector<double> want = Exact(layer);
    double error = 0, size = 0, worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double e = std::abs(static_cast<double>(got[i]) - want[i]);
      ASSERT_TRUE(std::isfinite(got[i]));
      error += e * e;
      size += want[i] * want[i];
      worst = std::max(worst, e);
    }
    EXPECT_LT(std::sqrt(error / size), 1e-6) << "dims " << shape.key_dim << " " << shape.value_dim;
    const double rms = std::sqrt(size / static_cast<double>(want.size()));
    EXPECT_LT(worst / rms, 1e-5) << "dims " << shape.key_dim << " " << shape.value_dim;
  }
}

TEST(DeltaNetTest, PiecesGiveTheBitsOfTheWhole) {
  for (const DeltaNetShape& shape : Shapes()) {
    const Layer layer(shape, 150, 2);
    Runner whole(layer, 1, CpuFeatures::Detect());
    const std::vector<float> want = whole.InPieces(layer.n());
    const std::vector<std::byte> bytes = whole.Bytes();
    for (const std::size_t n_threads : {1u, 2u, 3u}) {
      for (const std::size_t piece : {1u, 7u, 32u, 33u, 64u}) {
        Runner runner(layer, n_threads, CpuFeatures::Detect());
        EXPECT_TRUE(SameBits(runner.InPieces(piece), want)) << "pieces of " << piece;
        EXPECT_EQ(runner.Bytes(), bytes) << "pieces of " << piece;
      }
    }
  }
}

TEST(DeltaNetTest, OtherTextsOfTheBatchChangeNothing) {
  const Layer layer(Shapes()[0], 120, 3);
  Runner alone(layer, 1, CpuFeatures::Detect());
  const std::vector<float> want = alone.InPieces(layer.n());
  Runner runner(layer, 3, CpuFeatures::Detect());
  const auto other = runner.backend().MakeDeltaNetState(layer.shape);
  const auto third = runner.backend().MakeDeltaNetState(layer.shape);
  runner.Run({{&runner.state(), 61}});
  const std::vector<float> got =
      runner.Run({{other.get(), 40}, {&runner.state(), 9}, {third.get(), 1}});
  const std::size_t width = layer.shape.value_width();
  const auto rows = [&](const std::vector<float>& from, std::size_t begin, std::size_t n) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(begin * width);
    return std::vector<float>(at, at + static_cast<std::ptrdiff_t>(n * width));
  };
  EXPECT_TRUE(SameBits(rows(got, 0, 40), rows(want, 0, 40)));
  EXPECT_TRUE(SameBits(rows(got, 40, 9), rows(want, 61, 9)));
  EXPECT_TRUE(SameBits(rows(got, 49, 1), rows(want, 0, 1)));
}

TEST(DeltaNetTest, ATruncatedStateIsTheStateOfTheShorterText) {
  for (const DeltaNetShape& shape : Shapes()) {
    const Layer layer(shape, 110, 4);
    for (const std::size_t keep : {0u, 96u, 97u, 99u, 109u, 110u}) {
      Runner straight(layer, 1, CpuFeatures::Detect()), truncated(layer, 1, CpuFeatures::Detect());
      if (keep > 0) straight.Run({{&straight.state(), keep}});
      truncated.InPieces(layer.n());
      truncated.backend().TruncateDeltaNetState(keep, truncated.state());
      EXPECT_EQ(truncated.state().n_tokens(), keep);
      EXPECT_EQ(truncated.Bytes(), straight.Bytes()) << keep;
      EXPECT_TRUE(SameBits(truncated.InPieces(5), straight.InPieces(200))) << keep;
    }
  }
}

TEST(DeltaNetTest, CopiesAndSavedStatesGoOnWithTheSameBits) {
  const Layer layer(Shapes()[1], 130, 5);
  Runner first(layer, 1, CpuFeatures::Detect()), copy(layer, 1, CpuFeatures::Detect()),
      loaded(layer, 1, CpuFeatures::Detect());
  first.Run({{&first.state(), 77}});
  copy.backend().CopyDeltaNetState(first.state(), copy.state());
  ASSERT_TRUE(loaded.backend().WriteDeltaNetState(first.Bytes(), loaded.state()));
  EXPECT_EQ(loaded.state().n_tokens(), 77u);
  EXPECT_EQ(loaded.Bytes(), first.Bytes());
  const std::vector<float> want = first.InPieces(200);
  EXPECT_TRUE(SameBits(copy.InPieces(3), want));
  EXPECT_TRUE(SameBits(loaded.InPieces(20), want));
}

TEST(DeltaNetTest, BytesThatAreNoStateAreRefused) {
  const Layer layer(Shapes()[0], 50, 6);
  Runner runner(layer, 1, CpuFeatures::Detect());
  runner.InPieces(50);
  const std::vector<std::byte> good = runner.Bytes();
  const auto refused = [&](std::vector<std::byte> bytes) {
    const Status status = runner.backend().WriteDeltaNetState(bytes, runner.state());
    EXPECT_EQ(runner.Bytes(), good);  // Nothing half-written.
    return !status && status.error().code == ErrorCode::kCorruptData;
  };
  EXPECT_TRUE(refused({}));
  std::vector<std::byte> bytes = good;
  bytes.pop_back();
  EXPECT_TRUE(refused(bytes));
  for (std::size_t i = 0; i < 64; ++i) {  // Any bit of the header but the number of tokens.
    if (i >= 56) continue;
    bytes = good;
    bytes[i] ^= std::byte{1};
    EXPECT_TRUE(refused(bytes)) << i;
  }
  for (const std::uint64_t n : {0ull, 5ull, 33ull, 1ull << 40, ~0ull}) {  // Rows where none are.
    bytes = good;
    std::memcpy(&bytes[56], &n, sizeof(n));
    EXPECT_TRUE(refused(bytes)) << n;
  }
  bytes = good;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[64 + 4 * 100], &nan, sizeof(nan));
  EXPECT_TRUE(refused(bytes));
  EXPECT_FALSE(refused(good));
}

TEST(DeltaNetTest, AllVariantsGiveTheSameBits) {
  for (const DeltaNetShape& shape : Shapes()) {
    const Layer layer(shape, 75, 7);
    Runner scalar(layer, 1, {});
    const std::vector<float> want = scalar.InPieces(10);
    for (const DeltaNetVariant& variant : DeltaNetVariants()) {
      if (!CpuFeatures::Detect().Has(variant.needs)) continue;
      Runner runner(layer, 1, variant.needs);
      EXPECT_TRUE(SameBits(runner.InPieces(10), want))
          << variant.name << " dims " << shape.key_dim << " " << shape.value_dim;
    }
  }
}

TEST(DeltaNetTest, StrongAndNoDecayStayExact) {
  Layer layer(Shapes()[0], 100, 8);
  layer.decay = {-1000.0f, -50.0f, -1e-6f, 0.0f};
  Runner runner(layer, 1, CpuFeatures::Detect());
  const std::vector<float> got = runner.InPieces(100);
  const std::vector<double> want = Exact(layer);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << i;
}

}  // namespace
}  // namespace lattice::kernels
