#include "kernels/cpu/gemm_int8/gemm_int8.h"

#include <gtest/gtest.h>

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
      : m_(m), n_(n), k_(k), padded_n_((n + 31) / 32 * 32), x_(m * k), plain_w_(n * k) {
    std::mt19937 rng(seed);
    const auto whole = [&](int from, int to) {
      return std::uniform_int_distribution<int>(from, to)(rng);
    };
    std::normal_distribution<float> normal;
    for (auto& v : x_.As<std::uint8_t>()) v = static_cast<std::uint8_t>(whole(0, 255));
    for (auto& v : plain_w_) v = static_cast<std::int8_t>(whole(-127, 127));
    // Rows and outputs of extremes: where a 16-bit sum would saturate.
    std::memset(x_.data(), 255, k);
    std::memset(plain_w_.data(), 127, k);
    std::memset(plain_w_.data() + (n - 1) * k, -127, k);
    x_row_ = std::make_unique<Int8Row[]>(m);
    residual_ = std::make_unique<float[]>(m * n);
    for (std::size_t i = 0; i < m; ++i) {
      x_row_[i] = {.scale = 0.01f + 0.001f * static_cast<float>(whole(0, 9)),
                   .zero = whole(0, 255),
                   .outlier = 5 * normal(rng),
                   .outlier_at = static_cast<std::uint32_t>(whole(0, static_cast<int>(k) - 1))};
    }
    for (std::size_t i = 0; i < m * n; ++i) residual_[i] = normal(rng);
    w_scale_ = std::make_unique<float[]>(padded_n_);
    bias_ = std::make_unique<float[]>(padded_n_);
    w_sum_ = std::make_unique<std::int32_t[]>(padded_n_);
    for (std::size_t j = 0; j < n; ++j) {
      w_scale_[j] = 0.003f * static_cast<float>(whole(1, 9));
      bias_[j] = normal(rng);
      for (std::size_t t = 0; t < k; ++t) w_sum_[j] += plain_w_[j * k + t];
    }
  }

  std::vector<float> Run(const GemmInt8Variant& variant, bool with_residual) const {
    return RunRows(variant, with_residual, 0, m_);
  }

  std::vector<float> RunRows(const GemmInt8Variant& variant, bool with_residual, std::size_t begin,
                             std::size_t end) const {
    const std::size_t g = variant.group;
    AlignedBuffer w(padded_n_ * k_);
    std::memset(w.data(), 0, w.size());
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t t = 0; t < k_; ++t) {
        w.As<std::int8_t>()[j / 32 * 32 * k_ + t / g * g * 32 + j % 32 * g + t % g] =
            plain_w_[j * k_ + t];
      }
    }
    AlignedBuffer x((end - begin) * k_ * variant.input.bytes);
    for (std::size_t i = begin; i < end; ++i) {
      auto* row = x.As<std::uint8_t>().data() + (i - begin) * k_ * variant.input.bytes;
      std::memcpy(row, x_.As<const std::uint8_t>().data() + i * k_, k_);
      if (variant.input.prepare != nullptr) variant.input.prepare(row, k_);
    }
    auto y = std::make_unique<float[]>((end - begin) * n_);
    variant.run({.x = x.As<const std::uint8_t>().data(),
                 .x_row = x_row_.get() + begin,
                 .m = end - begin,
                 .k = k_,
                 .w = w.As<const std::int8_t>().data(),
                 .w_sum = w_sum_.get(),
                 .w_scale = w_scale_.get(),
                 .bias = bias_.get(),
                 .residual = with_residual ? residual_.get() + begin * n_ : nullptr,
                 .residual_stride = n_,
                 .y = y.get(),
                 .y_stride = n_,
                 .n = n_});
    return {y.get(), y.get() + (end - begin) * n_};
  }

  double Exact(std::size_t i, std::size_t j) const {
    double sum = 0;
    for (std::size_t t = 0; t < k_; ++t) {
      sum += (x_.As<const std::uint8_t>()[i * k_ + t] - x_row_[i].zero) * plain_w_[j * k_ + t];
    }
    sum *= x_row_[i].scale;
    sum += static_cast<double>(x_row_[i].outlier) * plain_w_[j * k_ + x_row_[i].outlier_at];
    return sum * w_scale_[j] + bias_[j];
  }

 private:
  std::size_t m_, n_, k_, padded_n_;
  AlignedBuffer x_;
  std::vector<std::int8_t> plain_w_;
  std::unique_ptr<Int8Row[]> x_row_;
  std::unique_ptr<float[]> w_scale_, bias_, residual_;
  std::unique_ptr<std::int32_t[]> w_sum_;
};

const GemmInt8Variant& Scalar() { return GemmInt8Variants().back(); }

TEST(GemmInt8Test, EveryVariantGivesTheBitsOfScalar) {
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const GemmInt8Variant& variant : GemmInt8Variants()) {
    if (!cpu.Has(variant.needs)) continue;
    for (std::size_t m = 1; m <= 33; ++m) {
      for (const std::size_t n : {1u, 7u, 8u, 15u, 16u, 31u, 32u, 33u, 77u, 96u}) {
        const std::size_t k = (m + n) % 7 == 0 ? 384 : (m + n) % 3 == 0 ? 192 : 64;
        const Problem problem(m, n, k, static_cast<unsigned>(m * 1000 + n * 31 + k));
        for (const bool residual : {false, true}) {
          ASSERT_EQ(problem.Run(variant, residual), problem.Run(Scalar(), residual))
              << variant.name << " m " << m << " n " << n << " k " << k;
        }
      }
    }
  }
}

TEST(GemmInt8Test, ARowAloneHasTheBitsOfTheRowInABatch) {
  const CpuFeatures cpu = CpuFeatures::Detect();
  const std::size_t m = 29, n = 70;
  const Problem problem(m, n, 384, 5);
  for (const GemmInt8Variant& variant : GemmInt8Variants()) {
    if (!cpu.Has(variant.needs)) continue;
    const std::vector<float> all = problem.Run(variant, true);
    for (std::size_t i = 0; i < m; ++i) {
      const std::vector<float> row(all.begin() + static_cast<std::ptrdiff_t>(i * n),
                                   all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
      ASSERT_EQ(problem.RunRows(variant, true, i, i + 1), row) << variant.name;
    }
  }
}

TEST(GemmInt8Test, ScalarIsTheDefinition) {
  const std::size_t m = 3, n = 40;
  const Problem problem(m, n, 1536, 7);
  const std::vector<float> y = problem.Run(Scalar(), false);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double exact = problem.Exact(i, j);
      EXPECT_NEAR(y[i * n + j], exact, 1e-6 * (1 + std::abs(exact)));
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
