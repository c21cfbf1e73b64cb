#include "kernels/cpu/gemm_f32/gemm_f32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/aligned_buffer.h"

namespace lattice::kernels {
namespace {

// A product with operands in blocks of exactly their size, so that a sanitizer sees any step
// outside.
class Problem {
 public:
  Problem(std::size_t m, std::size_t n, std::size_t k, unsigned seed)
      : m_(m), n_(n), k_(k), panels_((n + 31) / 32), w_(panels_ * k * 32 * sizeof(float)) {
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal;
    x_ = std::make_unique<float[]>(m * k);
    residual_ = std::make_unique<float[]>(m * n);
    bias_ = std::make_unique<float[]>(panels_ * 32);
    plain_w_.resize(n * k);
    for (std::size_t i = 0; i < m * k; ++i) x_[i] = normal(rng);
    for (std::size_t i = 0; i < m * n; ++i) residual_[i] = normal(rng);
    for (std::size_t i = 0; i < panels_ * 32; ++i) bias_[i] = i < n ? normal(rng) : 0.0f;
    for (float& w : plain_w_) w = normal(rng);
    for (std::size_t j = 0; j < panels_ * 32; ++j) {
      for (std::size_t t = 0; t < k; ++t) {
        w_.As<float>()[(j / 32 * k + t) * 32 + j % 32] = j < n ? plain_w_[j * k + t] : 0.0f;
      }
    }
  }

  std::vector<float> Run(GemmF32Fn run, bool with_residual) const {
    return RunRows(run, with_residual, 0, m_);
  }

  std::vector<float> RunRows(GemmF32Fn run, bool with_residual, std::size_t begin,
                             std::size_t end) const {
    auto y = std::make_unique<float[]>((end - begin) * n_);
    run({.x = x_.get() + begin * k_,
         .x_stride = k_,
         .m = end - begin,
         .k = k_,
         .w = w_.As<const float>().data(),
         .bias = bias_.get(),
         .residual = with_residual ? residual_.get() + begin * n_ : nullptr,
         .residual_stride = n_,
         .y = y.get(),
         .y_stride = n_,
         .n = n_});
    return {y.get(), y.get() + (end - begin) * n_};
  }

  // In f64 and in no particular order; `magnitude` is the sum of absolute terms.
  double Exact(std::size_t i, std::size_t j, double& magnitude) const {
    double sum = bias_[j];
    magnitude = std::fabs(sum);
    for (std::size_t t = 0; t < k_; ++t) {
      const double term = static_cast<double>(x_[i * k_ + t]) * plain_w_[j * k_ + t];
      sum += term;
      magnitude += std::fabs(term);
    }
    return sum;
  }

 private:
  std::size_t m_, n_, k_, panels_;
  AlignedBuffer w_;
  std::vector<float> plain_w_;
  std::unique_ptr<float[]> x_, residual_, bias_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(GemmF32Test, EveryVariantGivesTheBitsOfScalar) {
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const GemmF32Variant& variant : GemmF32Variants()) {
    if (!cpu.Has(variant.needs)) continue;
    for (std::size_t m = 1; m <= 33; ++m) {
      for (const std::size_t n : {1u, 15u, 16u, 31u, 32u, 33u, 77u, 96u}) {
        for (const std::size_t k : {1u, 2u, 3u, 7u, 64u, 255u, 256u, 257u, 300u, 517u}) {
          if (k > 64 && (m * 7 + n) % 5 != 0)
            continue;  // A fifth of the large ones: seconds, not minutes.
          const Problem problem(m, n, k, static_cast<unsigned>(m * 1000 + n * 31 + k));
          for (const bool residual : {false, true}) {
            ASSERT_TRUE(
                SameBits(problem.Run(variant.run, residual), problem.Run(GemmF32Scalar, residual)))
                << variant.name << " m " << m << " n " << n << " k " << k;
          }
        }
      }
    }
  }
}

TEST(GemmF32Test, ARowAloneHasTheBitsOfTheRowInABatch) {
  const CpuFeatures cpu = CpuFeatures::Detect();
  const std::size_t m = 29, n = 70, k = 390;
  const Problem problem(m, n, k, 5);
  for (const GemmF32Variant& variant : GemmF32Variants()) {
    if (!cpu.Has(variant.needs)) continue;
    const std::vector<float> all = problem.Run(variant.run, true);
    for (std::size_t i = 0; i < m; ++i) {
      const std::vector<float> row(all.begin() + static_cast<std::ptrdiff_t>(i * n),
                                   all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
      ASSERT_TRUE(SameBits(problem.RunRows(variant.run, true, i, i + 1), row)) << variant.name;
    }
  }
}

TEST(GemmF32Test, ScalarIsCloseToTheExactSum) {
  for (const std::size_t k : {1u, 100u, 384u, 1536u, 3072u}) {
    const std::size_t m = 3, n = 40;
    const Problem problem(m, n, k, static_cast<unsigned>(k));
    const std::vector<float> y = problem.Run(GemmF32Scalar, false);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double magnitude = 0;
        const double exact = problem.Exact(i, j, magnitude);
        // Each of at most 256 + k / 256 + 1 additions in a row errs by half an ulp of a partial
        // sum; the errors cancel, so far less than that bound is seen.
        EXPECT_NEAR(y[i * n + j], exact, 8 * 6e-8 * magnitude) << k;
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
