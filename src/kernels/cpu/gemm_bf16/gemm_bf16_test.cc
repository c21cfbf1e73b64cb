#include "kernels/cpu/gemm_bf16/gemm_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/aligned_buffer.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

// A product with operands in blocks of exactly their size, so that a sanitizer sees any step
// outside.
class Problem {
 public:
  Problem(std::size_t m, std::size_t n, std::size_t k, unsigned seed)
      : m_(m), n_(n), k_(k), padded_n_((n + 31) / 32 * 32), x_(m * k * 2), plain_w_(n * k) {
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal;
    for (auto& v : x_.As<std::uint16_t>()) v = F32ToBf16(normal(rng));
    for (auto& v : plain_w_) v = F32ToBf16(normal(rng));
    residual_ = std::make_unique<float[]>(m * n);
    bias_ = std::make_unique<float[]>(padded_n_);
    for (std::size_t i = 0; i < m * n; ++i) residual_[i] = normal(rng);
    for (std::size_t j = 0; j < n; ++j) bias_[j] = normal(rng);
  }

  std::vector<float> Run(const GemmBf16Variant& variant, bool with_residual) const {
    return RunRows(variant, with_residual, 0, m_);
  }

  std::vector<float> RunRows(const GemmBf16Variant& variant, bool with_residual, std::size_t begin,
                             std::size_t end) const {
    const std::size_t g = variant.group;
    AlignedBuffer w(padded_n_ * k_ * 2);
    std::memset(w.data(), 0, w.size());
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t t = 0; t < k_; ++t) {
        w.As<std::uint16_t>()[j / 32 * 32 * k_ + t / g * g * 32 + j % 32 * g + t % g] =
            plain_w_[j * k_ + t];
      }
    }
    auto y = std::make_unique<float[]>((end - begin) * n_);
    variant.run({.x = x_.As<const std::uint16_t>().data() + begin * k_,
                 .m = end - begin,
                 .k = k_,
                 .w = w.As<const std::uint16_t>().data(),
                 .bias = bias_.get(),
                 .residual = with_residual ? residual_.get() + begin * n_ : nullptr,
                 .residual_stride = n_,
                 .y = y.get(),
                 .y_stride = n_,
                 .n = n_});
    return {y.get(), y.get() + (end - begin) * n_};
  }

  // In f64; `magnitude` is the sum of absolute terms.
  double Exact(std::size_t i, std::size_t j, double& magnitude) const {
    double sum = bias_[j];
    magnitude = std::fabs(sum);
    for (std::size_t t = 0; t < k_; ++t) {
      const double term = static_cast<double>(Bf16ToF32(x_.As<const std::uint16_t>()[i * k_ + t])) *
                          Bf16ToF32(plain_w_[j * k_ + t]);
      sum += term;
      magnitude += std::fabs(term);
    }
    return sum;
  }

 private:
  std::size_t m_, n_, k_, padded_n_;
  AlignedBuffer x_;
  std::vector<std::uint16_t> plain_w_;
  std::unique_ptr<float[]> bias_, residual_;
};

TEST(GemmBf16Test, EveryVariantIsCloseToTheExactSum) {
  for (const GemmBf16Variant& variant : GemmBf16Variants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const std::size_t k : {32u, 384u, 1536u}) {
      const std::size_t m = 13, n = 70;
      const Problem problem(m, n, k, static_cast<unsigned>(k));
      const std::vector<float> y = problem.Run(variant, false);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double magnitude = 0;
          const double exact = problem.Exact(i, j, magnitude);
          // One chain of k additions in f32; products of bf16 numbers are exact in f32.
          EXPECT_NEAR(y[i * n + j], exact, 10 * 6e-8 * magnitude) << variant.name << " " << k;
        }
      }
    }
  }
}

TEST(GemmBf16Test, VariantsWithoutBf16InstructionsGiveTheBitsOfScalar) {
  const GemmBf16Variant& scalar = GemmBf16Variants().back();
  for (const GemmBf16Variant& variant : GemmBf16Variants()) {
    if (!CpuFeatures::Detect().Has(variant.needs) || !variant.exact_order) continue;
    for (std::size_t m = 1; m <= 33; ++m) {
      for (const std::size_t n : {1u, 15u, 32u, 33u, 77u}) {
        const std::size_t k = (m + n) % 5 == 0 ? 256 : 64;
        const Problem problem(m, n, k, static_cast<unsigned>(m * 1000 + n));
        for (const bool residual : {false, true}) {
          ASSERT_EQ(problem.Run(variant, residual), problem.Run(scalar, residual))
              << variant.name << " m " << m << " n " << n << " k " << k;
        }
      }
    }
  }
}

TEST(GemmBf16Test, ARowAloneHasTheBitsOfTheRowInABatch) {
  for (const GemmBf16Variant& variant : GemmBf16Variants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const std::size_t m : {2u, 7u, 29u, 33u}) {
      const std::size_t n = 70;
      const Problem problem(m, n, 384, 5);
      const std::vector<float> all = problem.Run(variant, true);
      for (std::size_t i = 0; i < m; ++i) {
        const std::vector<float> row(all.begin() + static_cast<std::ptrdiff_t>(i * n),
                                     all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
        ASSERT_EQ(problem.RunRows(variant, true, i, i + 1), row) << variant.name;
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
