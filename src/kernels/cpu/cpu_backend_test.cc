#include "kernels/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

Floats Random(std::size_t n, unsigned seed, float size = 1.0f) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, size);
  Floats values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

HostTensor F32Tensor(const Floats& values, std::size_t rows, std::size_t cols) {
  return {Dtype::kF32, rows, cols, std::as_bytes(std::span(values))};
}

double Activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh: {
      const double y = 2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
      return x / (1 + std::exp(-y));
    }
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
  }
  return 0;
}

constexpr Activation kAllActivations[] = {Activation::kNone,     Activation::kGeluErf,
                                          Activation::kGeluTanh, Activation::kRelu,
                                          Activation::kSilu,     Activation::kTanh};

void ExpectNear(const Floats& got, const Doubles& want, double absolute, double relative) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], absolute + relative * std::abs(want[i])) << "element " << i;
  }
}

class CpuBackendTest : public testing::Test {
 protected:
  std::unique_ptr<Buffer> Upload(const Floats& values, std::size_t rows) {
    auto buffer = backend_->MakeBuffer();
    backend_->Write(values, rows, rows == 0 ? 0 : values.size() / rows, *buffer);
    return buffer;
  }
  Floats Download(const Buffer& buffer) {
    Floats values(buffer.rows() * buffer.cols());
    backend_->Read(buffer, values);
    return values;
  }

  ThreadPool pool_{2};
  std::unique_ptr<Backend> backend_ = MakeCpuBackend(pool_, CpuFeatures::Detect());
  std::unique_ptr<Buffer> out_ = backend_->MakeBuffer();
};

TEST_F(CpuBackendTest, EmbedAddsScaledRowsOfEveryDtype) {
  constexpr std::size_t kRows = 5, kCols = 37;
  const Floats a = Random(kRows * kCols, 1), b = Random(kRows * kCols, 2);
  std::vector<std::uint16_t> bf16, f16;
  for (float v : b) bf16.push_back(F32ToBf16(v));
  for (float v : b) f16.push_back(F32ToF16(v));
  const auto f32_table = backend_->MakeTable(F32Tensor(a, kRows, kCols)).value();
  const std::vector<std::int32_t> first = {4, 0, 2, 2}, second = {1, 1, 3, 0};
  for (Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    const auto& bits = dtype == Dtype::kBf16 ? bf16 : f16;
    const auto table =
        backend_->MakeTable({dtype, kRows, kCols, std::as_bytes(std::span(bits))}).value();
    backend_->Embed(std::vector<Lookup>{{f32_table.get(), first}, {table.get(), second}}, 2.5f,
                    *out_);
    Doubles want;
    for (std::size_t r = 0; r < first.size(); ++r) {
      for (std::size_t c = 0; c < kCols; ++c) {
        const auto x = a[static_cast<std::size_t>(first[r]) * kCols + c];
        const auto y = bits[static_cast<std::size_t>(second[r]) * kCols + c];
        want.push_back(2.5f * (x + (dtype == Dtype::kBf16 ? Bf16ToF32(y) : F16ToF32(y))));
      }
    }
    ExpectNear(Download(*out_), want, 0, 0);
  }
}

TEST_F(CpuBackendTest, LayerNormIsItsDefinition) {
  for (std::size_t n : {1u, 7u, 32u, 100u, 384u, 1000u}) {
    constexpr std::size_t kRows = 3;
    Floats x = Random(kRows * n, 1);
    for (float& v : x) v += 100.0f;  // A large mean: mean(x^2) - mean^2 would lose all digits.
    const Floats residual = Random(kRows * n, 2), gain = Random(n, 3), bias = Random(n, 4);
    for (int form = 0; form < 4; ++form) {
      const bool has_residual = form % 2 == 1, has_bias = form / 2 == 1;
      Doubles want;
      for (std::size_t r = 0; r < kRows; ++r) {
        Doubles v(n);
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < n; ++i) {
          v[i] = has_residual ? x[r * n + i] + residual[r * n + i] : x[r * n + i];
          mean += v[i] / static_cast<double>(n);
        }
        for (double e : v) variance += (e - mean) * (e - mean) / static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i) {
          want.push_back((v[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] +
                         (has_bias ? bias[i] : 0));
        }
      }
      const auto in = Upload(x, kRows), add = Upload(residual, kRows);
      const auto g = backend_->MakeVector(gain), b = backend_->MakeVector(bias);
      backend_->LayerNorm(*in, has_residual ? add.get() : nullptr, *g, has_bias ? b.get() : nullptr,
                          1e-5f, *in);
      // The mean near 100 is good to 2^-24 * 100 times a little.
      ExpectNear(Download(*in), want, n == 1 ? 1e-2 : 5e-5, 1e-5);
    }
  }
}

Doubles RmsNormed(const Floats& x, const Floats& gain, double eps) {
  Doubles want;
  const std::size_t n = gain.size();
  for (std::size_t r = 0; r < x.size() / n; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += double{x[r * n + i]} * x[r * n + i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(n) + eps);
    for (std::size_t i = 0; i < n; ++i) want.push_back(x[r * n + i] * scale * gain[i]);
  }
  return want;
}

TEST_F(CpuBackendTest, RmsNormIsItsDefinitionInEveryForm) {
  for (std::size_t n : {1u, 7u, 32u, 100u, 384u, 1000u}) {
    constexpr std::size_t kRows = 3;
    const Floats x = Random(kRows * n, 1), other = Random(kRows * n, 2), gain = Random(n, 3);
    const auto in = Upload(x, kRows), add = Upload(other, kRows);
    const auto g = backend_->MakeVector(gain);
    Doubles want = RmsNormed(x, gain, 1e-6);
    backend_->RmsNorm(*in, *g, 1e-6f, *out_);
    ExpectNear(Download(*out_), want, 1e-6, 1e-6);
    // As heads two and three of rows of four heads.
    Floats wide = Random(kRows * 4 * n, 5);
    Doubles wide_want(wide.begin(), wide.end());
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t h = 1; h < 3; ++h) {
        const auto begin = wide.begin() + static_cast<std::ptrdiff_t>((r * 4 + h) * n);
        const Doubles head =
            RmsNormed(Floats(begin, begin + static_cast<std::ptrdiff_t>(n)), gain, 1e-6);
        std::copy(head.begin(), head.end(),
                  wide_want.begin() + static_cast<std::ptrdiff_t>((r * 4 + h) * n));
      }
    }
    const auto heads = Upload(wide, kRows);
    backend_->HeadRmsNorm(*heads, {.first_col = n, .n_heads = 2, .head_dim = n}, *g, 1e-6f);
    ExpectNear(Download(*heads), wide_want, 1e-6, 1e-6);
    backend_->RmsNormAdd(*add, *in, *g, 1e-6f, *add);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += other[i];
    ExpectNear(Download(*add), want, 1e-6, 1e-6);
  }
}

TEST_F(CpuBackendTest, LinearStacksMatricesAndAppliesTheEpilogue) {
  constexpr std::size_t kRows = 21, kInputs = 45, kFirst = 33, kSecond = 8;
  const Floats w1 = Random(kFirst * kInputs, 1), w2 = Random(kSecond * kInputs, 2);
  const Floats b2 = Random(kSecond, 3), x = Random(kRows * kInputs, 4);
  const Floats residual = Random(kRows * (kFirst + kSecond), 5);
  const auto w =
      backend_
          ->MakeLinear(std::vector{F32Tensor(w1, kFirst, kInputs), F32Tensor(w2, kSecond, kInputs)},
                       std::vector{HostTensor{}, F32Tensor(b2, 1, kSecond)}, Precision::kF32)
          .value();
  EXPECT_EQ(w->inputs(), kInputs);
  EXPECT_EQ(w->outputs(), kFirst + kSecond);
  const auto in = Upload(x, kRows);
  for (Activation activation : kAllActivations) {
    for (bool add : {false, true}) {
      const auto y = Upload(residual, kRows);
      backend_->Linear(*in, *w, {activation, add ? y.get() : nullptr}, *y);
      Doubles want;
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t o = 0; o < kFirst + kSecond; ++o) {
          double sum = o < kFirst ? 0.0 : b2[o - kFirst];
          for (std::size_t i = 0; i < kInputs; ++i) {
            sum += double{x[r * kInputs + i]} *
                   (o < kFirst ? w1[o * kInputs + i] : w2[(o - kFirst) * kInputs + i]);
          }
          want.push_back(Activated(activation, sum) +
                         (add ? residual[r * (kFirst + kSecond) + o] : 0.0f));
        }
      }
      ExpectNear(Download(*y), want, 1e-5, 1e-5);
    }
  }
}

TEST_F(CpuBackendTest, GateAndActivateAreTheirDefinitions) {
  constexpr std::size_t kRows = 3, kCols = 45;
  const Floats x = Random(kRows * 2 * kCols, 1, 3.0f);
  const auto in = Upload(x, kRows);
  for (Activation activation : kAllActivations) {
    if (activation != Activation::kNone) {
      for (GateHalf half : {GateHalf::kFirst, GateHalf::kSecond}) {
        Doubles want;
        for (std::size_t r = 0; r < kRows; ++r) {
          for (std::size_t c = 0; c < kCols; ++c) {
            const double a = x[r * 2 * kCols + c], b = x[r * 2 * kCols + kCols + c];
            want.push_back(half == GateHalf::kFirst ? Activated(activation, a) * b
                                                    : Activated(activation, b) * a);
          }
        }
        backend_->Gate(*in, activation, half, *out_);
        ExpectNear(Download(*out_), want, 1e-6, 1e-6);
      }
    }
    Doubles want;
    for (float v : x) want.push_back(Activated(activation, v));
    const auto y = Upload(x, kRows);
    backend_->Activate(activation, *y);
    ExpectNear(Download(*y), want, 1e-6, 1e-6);
  }
}

TEST_F(CpuBackendTest, RopeTurnsPairsOfTheNamedColumnsOnly) {
  constexpr std::size_t kRows = 4, kDim = 24, kHalf = 9, kHeads = 3, kFirstCol = 5;
  constexpr std::size_t kCols = kFirstCol + kHeads * kDim + 2;
  const Floats x = Random(kRows * kCols, 1);
  const std::vector<std::int32_t> positions = {0, 1, 511, 32767};
  Floats inv_freq;
  for (std::size_t i = 0; i < kHalf; ++i) {
    inv_freq.push_back(std::pow(10000.0f, -static_cast<float>(i) / kHalf));
  }
  Doubles want(x.begin(), x.end());
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t i = 0; i < kHalf; ++i) {
        // The angle is an f32 product in the reference implementation too.
        const double angle = static_cast<float>(positions[r]) * inv_freq[i];
        const double c = 1.5 * std::cos(angle), s = 1.5 * std::sin(angle);
        const std::size_t at = r * kCols + kFirstCol + h * kDim + i;
        want[at] = x[at] * c - x[at + kHalf] * s;
        want[at + kHalf] = x[at + kHalf] * c + x[at] * s;
      }
    }
  }
  const auto in = Upload(x, kRows);
  backend_->ApplyRope(*in, {kFirstCol, kHeads, kDim}, positions, {inv_freq, 1.5f});
  ExpectNear(Download(*in), want, 1e-6, 1e-6);
}

TEST_F(CpuBackendTest, GatherRowsPicksRows) {
  const Floats x = Random(6 * 5, 1);
  const auto in = Upload(x, 6);
  const std::vector<std::uint32_t> rows = {0, 3, 3, 5};
  backend_->GatherRows(*in, rows, *out_);
  Doubles want;
  for (std::uint32_t r : rows) want.insert(want.end(), &x[r * 5], &x[r * 5] + 5);
  ExpectNear(Download(*out_), want, 0, 0);
}

// Packed texts whose queries may be fewer than their keys.
struct AttentionCase {
  std::size_t n_heads, n_kv_heads, dim;
  std::vector<std::size_t> lengths;
  std::size_t skip;  // Only every skip-th row of a text asks.
  bool causal;
  std::uint32_t window;
};

Doubles Attended(const AttentionArgs& args, const Floats& q, const Floats& kv) {
  const std::size_t dim = args.head_dim, q_cols = args.q->cols(), kv_cols = args.kv->cols();
  Doubles out(args.q->rows() * args.n_heads * dim);
  for (const AttentionSpan& span : args.spans) {
    for (std::size_t r = span.query_begin; r < span.query_end; ++r) {
      for (std::size_t h = 0; h < args.n_heads; ++h) {
        const std::size_t g = h / (args.n_heads / args.n_kv_heads);
        double sum = 0;
        Doubles weighted(dim);
        for (std::size_t j = 0; j < span.key_end - span.key_begin; ++j) {
          const auto distance = static_cast<double>(args.query_index[r]) - static_cast<double>(j);
          if (args.causal && distance < 0) continue;
          if (args.window != 0 && std::abs(distance) > args.window) continue;
          const float* key = &kv[(span.key_begin + j) * kv_cols + args.k_col + g * dim];
          const float* value = &kv[(span.key_begin + j) * kv_cols + args.v_col + g * dim];
          double dot = 0;
          for (std::size_t d = 0; d < dim; ++d) {
            dot += double{q[r * q_cols + args.q_col + h * dim + d]} * key[d];
          }
          const double p = std::exp(dot * args.scale);
          sum += p;
          for (std::size_t d = 0; d < dim; ++d) weighted[d] += p * value[d];
        }
        for (std::size_t d = 0; d < dim; ++d) {
          out[(r * args.n_heads + h) * dim + d] = weighted[d] / sum;
        }
      }
    }
  }
  return out;
}

TEST_F(CpuBackendTest, AttentionIsItsDefinition) {
  const AttentionCase cases[] = {
      {2, 2, 32, {1, 10, 64, 65, 200}, 1, false, 0},
      {4, 2, 64, {5, 130}, 1, true, 0},
      {2, 1, 128, {70, 3}, 1, true, 16},
      {2, 2, 32, {150, 1, 17}, 1, false, 12},
      {3, 1, 256, {33, 90}, 7, true, 0},
      {3, 3, 24, {40, 129}, 5, false, 0},
      {2, 1, 5, {40, 66}, 1, false, 0},
  };
  for (const AttentionCase& c : cases) {
    std::vector<AttentionSpan> spans;
    std::vector<std::uint32_t> query_index;
    std::uint32_t keys = 0;
    for (std::size_t length : c.lengths) {
      AttentionSpan span;
      span.query_begin = static_cast<std::uint32_t>(query_index.size());
      for (std::size_t i = 0; i < length; i += c.skip) {
        query_index.push_back(static_cast<std::uint32_t>(i));
      }
      span.query_end = static_cast<std::uint32_t>(query_index.size());
      span.key_begin = keys;
      keys += static_cast<std::uint32_t>(length);
      span.key_end = keys;
      spans.push_back(span);
    }
    const std::size_t q_cols = c.n_heads * c.dim + 3, kv_cols = 2 * c.n_kv_heads * c.dim + 2;
    const Floats q = Random(query_index.size() * q_cols, 1), kv = Random(keys * kv_cols, 2);
    const auto q_buffer = Upload(q, query_index.size()), kv_buffer = Upload(kv, keys);
    AttentionArgs args;
    args.q = q_buffer.get();
    args.kv = kv_buffer.get();
    args.q_col = 3;
    args.k_col = 1;
    args.v_col = 1 + c.n_kv_heads * c.dim;
    args.n_heads = c.n_heads;
    args.n_kv_heads = c.n_kv_heads;
    args.head_dim = c.dim;
    args.scale = 1.0f / std::sqrt(static_cast<float>(c.dim));
    args.spans = spans;
    args.query_index = query_index;
    args.causal = c.causal;
    args.window = c.window;
    backend_->Attention(args, *out_);
    SCOPED_TRACE("head_dim " + std::to_string(c.dim));
    ExpectNear(Download(*out_), Attended(args, q, kv), 2e-6, 2e-6);
  }
}

}  // namespace
}  // namespace lattice::kernels
