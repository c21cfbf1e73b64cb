#include "kernels/cpu/linear/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

using Floats = std::vector<float>;

Floats Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

HostTensor F32Tensor(const Floats& values, std::size_t rows, std::size_t cols) {
  return {Dtype::kF32, rows, cols, std::as_bytes(std::span(values))};
}

// One layer on a pool of its own.
class Layer {
 public:
  Layer(std::span<const HostTensor> matrices, std::span<const HostTensor> biases,
        Precision precision, std::size_t n_threads, CpuFeatures features = CpuFeatures::Detect())
      : pool_(n_threads),
        weights_(MakeCpuLinear(pool_, arena_, matrices, biases, precision, features).value()) {}

  Floats Run(const Floats& x, Activation activation = Activation::kNone,
             const Floats* residual = nullptr) {
    const std::size_t rows = x.size() / weights_->inputs();
    CpuBuffer in, add, out;
    in.Reshape(rows, weights_->inputs());
    std::memcpy(in.data(), x.data(), x.size() * sizeof(float));
    if (residual != nullptr) {
      add.Reshape(rows, weights_->outputs());
      std::memcpy(add.data(), residual->data(), residual->size() * sizeof(float));
    }
    static_cast<const CpuLinear&>(*weights_).Run(
        pool_, in, {activation, residual == nullptr ? nullptr : &add}, out);
    return {out.data(), out.data() + rows * weights_->outputs()};
  }

 private:
  ThreadPool pool_;
  PanelArena arena_;
  std::unique_ptr<LinearWeights> weights_;
};

constexpr Precision kPrecisions[] = {Precision::kF32, Precision::kBf16, Precision::kInt8};

TEST(LinearTest, BitsDoNotDependOnThreadsOrOnTheBatch) {
  constexpr std::size_t kRows = 230, kInputs = 300, kOutputs = 145;
  const Floats w = Random(kOutputs * kInputs, 1), b = Random(kOutputs, 2);
  const Floats x = Random(kRows * kInputs, 3), residual = Random(kRows * kOutputs, 4);
  const HostTensor matrix = F32Tensor(w, kOutputs, kInputs), bias = F32Tensor(b, 1, kOutputs);
  for (const Precision precision : kPrecisions) {
    for (const Activation activation : {Activation::kNone, Activation::kGeluErf}) {
      Layer one({&matrix, 1}, {&bias, 1}, precision, 1);
      const Floats want = one.Run(x, activation, &residual);
      for (const std::size_t n_threads : {2, 3}) {
        Layer layer({&matrix, 1}, {&bias, 1}, precision, n_threads);
        EXPECT_EQ(layer.Run(x, activation, &residual), want);
        for (const std::size_t n : {1, 2, 5, 33, 90}) {
          const auto begin = static_cast<std::ptrdiff_t>(kRows - n);
          const Floats part(x.begin() + begin * static_cast<std::ptrdiff_t>(kInputs), x.end());
          const auto cut = begin * static_cast<std::ptrdiff_t>(kOutputs);
          const Floats part_residual(residual.begin() + cut, residual.end());
          EXPECT_EQ(layer.Run(part, activation, &part_residual),
                    Floats(want.begin() + cut, want.end()))
              << n << " rows, " << n_threads << " threads";
        }
      }
    }
  }
}

TEST(LinearTest, WeightsOfEveryDtypeArePackedExactly) {
  constexpr std::size_t kInputs = 70, kOutputs = 50, kRows = 3;
  const Floats x = Random(kRows * kInputs, 1);
  std::vector<std::uint16_t> bf16, f16;
  std::vector<double> f64;
  Floats from_bf16, from_f16;
  for (const float v : Random(kInputs * kOutputs, 2)) {
    bf16.push_back(F32ToBf16(v));
    from_bf16.push_back(Bf16ToF32(bf16.back()));
    f16.push_back(F32ToF16(v));
    from_f16.push_back(F16ToF32(f16.back()));
    f64.push_back(from_bf16.back());
  }
  const auto run = [&](Dtype dtype, std::span<const std::byte> bytes) {
    const HostTensor matrix = {dtype, kOutputs, kInputs, bytes};
    return Layer({&matrix, 1}, {}, Precision::kF32, 2).Run(x);
  };
  const Floats want = run(Dtype::kF32, std::as_bytes(std::span(from_bf16)));
  EXPECT_EQ(run(Dtype::kBf16, std::as_bytes(std::span(bf16))), want);
  EXPECT_EQ(run(Dtype::kF64, std::as_bytes(std::span(f64))), want);
  EXPECT_EQ(run(Dtype::kF16, std::as_bytes(std::span(f16))),
            run(Dtype::kF32, std::as_bytes(std::span(from_f16))));
}

// Relative to the size of the exact result, over random rows and weights of normal distribution.
double RelativeError(Precision precision) {
  constexpr std::size_t kInputs = 384, kOutputs = 96, kRows = 20;
  const Floats w = Random(kInputs * kOutputs, 1), x = Random(kRows * kInputs, 2);
  const HostTensor matrix = F32Tensor(w, kOutputs, kInputs);
  const Floats y = Layer({&matrix, 1}, {}, precision, 2).Run(x);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kOutputs; ++j) {
      double exact = 0;
      for (std::size_t t = 0; t < kInputs; ++t) {
        exact += double{x[i * kInputs + t]} * w[j * kInputs + t];
      }
      error += (y[i * kOutputs + j] - exact) * (y[i * kOutputs + j] - exact);
      size += exact * exact;
    }
  }
  return std::sqrt(error / size);
}

TEST(LinearTest, ErrorsAreThoseOfThePrecision) {
  EXPECT_LT(RelativeError(Precision::kF32), 5e-7);
  // Two roundings to 8 bits of mantissa, each uniform within 2^-9 of a value.
  EXPECT_LT(RelativeError(Precision::kBf16), 0.0025);
  // Steps of 1/127 of the largest weight and of 1/255 of a row's range, both about three deviations
  // wide: a uniform error of 0.7 % of a deviation each.
  EXPECT_LT(RelativeError(Precision::kInt8), 0.012);
}

TEST(LinearTest, Int8KeepsARowWithAnOutlier) {
  constexpr std::size_t kInputs = 200, kOutputs = 200, kAt = 77;
  Floats w = Random(kInputs * kOutputs, 1);
  for (std::size_t j = 0; j < kOutputs; ++j) w[j * kInputs + kAt] *= 1e-3f;
  const HostTensor matrix = F32Tensor(w, kOutputs, kInputs);
  for (const float outlier : {1000.0f, -1000.0f}) {
    Floats x = Random(kInputs, 2);
    x[kAt] = outlier;
    const Floats y = Layer({&matrix, 1}, {}, Precision::kInt8, 1).Run(x);
    const Floats exact = Layer({&matrix, 1}, {}, Precision::kF32, 1).Run(x);
    double squares = 0;
    for (std::size_t j = 0; j < kOutputs; ++j) squares += (y[j] - exact[j]) * (y[j] - exact[j]);
    // Outputs are about 14. Weights are rounded to 1/127 of about 3: 0.1 with the plain inputs and
    // 0.43 with the outlier, which equalising makes 16 times smaller. Steps of 1/255 of the outlier
    // would add 1.0.
    EXPECT_LT(std::sqrt(squares / kOutputs), 0.7);
  }
}

TEST(LinearTest, Int8RefusesWeightsThatAreNotFinite) {
  Floats w = Random(40 * 3, 1);
  w[3 * 33 + 1] = std::numeric_limits<float>::infinity();
  const HostTensor matrix = F32Tensor(w, 40, 3);
  ThreadPool pool(2);
  PanelArena arena;
  const auto made = MakeCpuLinear(pool, arena, {&matrix, 1}, {}, Precision::kInt8, CpuFeatures());
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kCorruptData);
  EXPECT_NE(made.error().message.find("33"), std::string::npos) << made.error().message;
}

TEST(LinearTest, ShapesThatDoNotFitAreRefused) {
  const Floats w = Random(12, 1);
  ThreadPool pool(1);
  PanelArena arena;
  const auto error = [&](std::vector<HostTensor> matrices, std::vector<HostTensor> biases) {
    const auto made =
        MakeCpuLinear(pool, arena, matrices, biases, Precision::kF32, CpuFeatures::Detect());
    return made ? "made" : made.error().message;
  };
  const HostTensor good = F32Tensor(w, 4, 3);
  EXPECT_EQ(error({good}, {}), "made");
  EXPECT_NE(error({}, {}), "made");
  EXPECT_NE(error({F32Tensor(w, 4, 4)}, {}), "made");              // bytes
  EXPECT_NE(error({good, F32Tensor(w, 3, 4)}, {}), "made");        // width
  EXPECT_NE(error({good}, {F32Tensor(w, 1, 12)}), "made");         // bias
  EXPECT_NE(error({good}, {HostTensor{}, HostTensor{}}), "made");  // number of biases
  EXPECT_NE(error({{Dtype::kI8, 4, 3, std::as_bytes(std::span(w)).first(12)}}, {}), "made");
}

}  // namespace
}  // namespace lattice::kernels
