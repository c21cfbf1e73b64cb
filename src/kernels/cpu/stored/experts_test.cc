#include "kernels/cpu/stored/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/stored/random_weights.h"
#include "kernels/cpu/stored/routing.h"

namespace lattice::kernels {
namespace {

using Floats = std::vector<float>;

TEST(RoutingTest, TheLargestAreTakenAndOfEqualOnesTheLowerIndex) {
  const Floats logits = {1, 3, 2, 3, -1};
  Floats p(5), weights(3);
  std::vector<std::uint32_t> experts(3);
  RouteToken(logits, /*renormalise=*/false, nullptr, p, experts, weights);
  EXPECT_EQ(experts, (std::vector<std::uint32_t>{1, 3, 2}));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(weights[i], std::exp(double{logits[experts[i]]}) / sum, 1e-6);
  }
  const Floats scale = {1, 2, 3, 4, 5};
  const Floats plain = weights;
  RouteToken(logits, /*renormalise=*/true, scale.data(), p, experts, weights);
  const float total = plain[0] + plain[1] + plain[2];
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(weights[i], plain[i] / total * scale[experts[i]], 1e-6);
  }
}

TEST(RoutingTest, LogitsThatAreNoNumbersStillGiveDifferentExperts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Floats& logits :
       {Floats{nan, nan, nan}, {nan, 1, nan}, {-infinity, -infinity, 0}, {infinity, infinity, 1}}) {
    Floats p(3), weights(3);
    std::vector<std::uint32_t> experts(3);
    RouteToken(logits, true, nullptr, p, experts, weights);
    std::ranges::sort(experts);
    EXPECT_EQ(experts, (std::vector<std::uint32_t>{0, 1, 2}));
  }
}

constexpr std::size_t kExperts = 6, kInputs = 256, kHidden = 256, kUsed = 3;

// Experts of one dtype and the calls of a test.
class Mixture {
 public:
  Mixture(Dtype dtype, Precision precision, std::size_t n_threads) : pool_(n_threads) {
    for (unsigned e = 0; e < kExperts; ++e) {
      gates_.emplace_back(dtype, kHidden, kInputs, 3 * e);
      ups_.emplace_back(dtype, kHidden, kInputs, 3 * e + 1);
      downs_.emplace_back(dtype, kInputs, kHidden, 3 * e + 2);
    }
    std::vector<ExpertTensors> tensors;
    for (std::size_t e = 0; e < kExperts; ++e) {
      tensors.push_back({gates_[e].tensor(), ups_[e].tensor(), downs_[e].tensor()});
    }
    experts_ = MakeCpuExperts(pool_, memory_, tensors, precision, CpuFeatures::Detect()).value();
  }

  Floats Run(std::span<const float> x, std::span<const float> logits) {
    CpuBuffer in, router, out;
    const std::size_t rows = x.size() / kInputs;
    in.Reshape(rows, kInputs);
    std::ranges::copy(x, in.data());
    router.Reshape(rows, kExperts);
    std::ranges::copy(logits, router.data());
    const ExpertChoice choice = {kUsed, true, Activation::kSilu, nullptr};
    static_cast<const CpuExperts&>(*experts_).Run(pool_, in, router, choice, out);
    return {out.data(), out.data() + x.size()};
  }

  // One token in f64, with the weights of RouteToken.
  std::vector<double> Exact(std::span<const float> x, std::span<const float> logits) const {
    Floats p(kExperts), weights(kUsed);
    std::vector<std::uint32_t> chosen(kUsed);
    RouteToken(logits, true, nullptr, p, chosen, weights);
    std::vector<double> sum(kInputs);
    for (std::size_t i = 0; i < kUsed; ++i) {
      const Floats gate = gates_[chosen[i]].Values(), up = ups_[chosen[i]].Values(),
                   down = downs_[chosen[i]].Values();
      std::vector<double> hidden(kHidden);
      for (std::size_t j = 0; j < kHidden; ++j) {
        double g = 0, u = 0;
        for (std::size_t t = 0; t < kInputs; ++t) {
          g += double{x[t]} * gate[j * kInputs + t];
          u += double{x[t]} * up[j * kInputs + t];
        }
        hidden[j] = g / (1 + std::exp(-g)) * u;
      }
      for (std::size_t c = 0; c < kInputs; ++c) {
        double y = 0;
        for (std::size_t j = 0; j < kHidden; ++j) y += hidden[j] * down[c * kHidden + j];
        sum[c] += weights[i] * y;
      }
    }
    return sum;
  }

 private:
  ThreadPool pool_;
  ProcessWeightMemory memory_;
  std::vector<RandomWeights> gates_, ups_, downs_;
  std::unique_ptr<ExpertWeights> experts_;
};

TEST(ExpertsTest, OutputsAreThoseOfTheDefinition) {
  constexpr std::size_t kRows = 4;
  const Floats x = RandomFloats(kRows * kInputs, 100), logits = RandomFloats(kRows * kExperts, 101);
  for (const Dtype dtype : {Dtype::kF32, Dtype::kBf16, Dtype::kQ4K}) {
    const struct {
      Precision precision;
      double tolerance;
    } cases[] = {{Precision::kF32, 2e-6},
                 {Precision::kBf16, 0.006},
                 {Precision::kInt8, 0.015},
                 {Precision::kInt16, IsBlock(dtype) ? 1e-4 : 0.006}};
    for (const auto& [precision, tolerance] : cases) {
      Mixture mixture(dtype, precision, 2);
      const Floats got = mixture.Run(x, logits);
      double error = 0, size = 0;
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto exact = mixture.Exact(std::span(x).subspan(r * kInputs, kInputs),
                                         std::span(logits).subspan(r * kExperts, kExperts));
        for (std::size_t c = 0; c < kInputs; ++c) {
          error += std::pow(got[r * kInputs + c] - exact[c], 2);
          size += exact[c] * exact[c];
        }
      }
      EXPECT_LT(std::sqrt(error / size), tolerance) << DtypeName(dtype);
    }
  }
}

TEST(ExpertsTest, BitsOfATokenDoNotDependOnTheOthersOrOnThreads) {
  constexpr std::size_t kRows = 65;
  const Floats x = RandomFloats(kRows * kInputs, 100), logits = RandomFloats(kRows * kExperts, 101);
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16, Dtype::kQ4_0, Dtype::kQ6K}) {
    for (const Precision precision :
         {Precision::kF32, Precision::kBf16, Precision::kInt8, Precision::kInt16}) {
      const Floats want = Mixture(dtype, precision, 1).Run(x, logits);
      for (const std::size_t n_threads : {1, 2, 3}) {
        Mixture mixture(dtype, precision, n_threads);
        for (const std::size_t n : {1, 5, 33, 64, 65}) {
          const Floats got =
              mixture.Run(std::span(x).last(n * kInputs), std::span(logits).last(n * kExperts));
          EXPECT_TRUE(std::ranges::equal(got, std::span(want).last(n * kInputs)))
              << DtypeName(dtype) << ", " << n << " rows, " << n_threads << " threads";
        }
      }
    }
  }
}

TEST(ExpertsTest, ShapesThatDoNotFitAreRefused) {
  const RandomWeights wide(Dtype::kF32, 4, 8, 1), tall(Dtype::kF32, 8, 4, 1);
  const auto make = [](std::vector<ExpertTensors> experts) {
    ThreadPool pool(1);
    ProcessWeightMemory memory;
    return MakeCpuExperts(pool, memory, experts, Precision::kF32, CpuFeatures::Detect())
        .has_value();
  };
  const ExpertTensors good = {wide.tensor(), wide.tensor(), tall.tensor()};
  EXPECT_TRUE(make({good, good}));
  EXPECT_FALSE(make({}));
  EXPECT_FALSE(make({good, {tall.tensor(), tall.tensor(), wide.tensor()}}));
  EXPECT_FALSE(make({{wide.tensor(), wide.tensor(), wide.tensor()}}));
}

}  // namespace
}  // namespace lattice::kernels
