#include "transport/plan_pass.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

namespace lattice::transport {
namespace {

constexpr std::size_t kMostChunks = 64;
constexpr std::size_t kMostTileRows = 64;

}  // namespace

PlanPass::PlanPass(const CostRows& cost, std::span<const double> log_b, const Kernels& kernels,
                   ThreadPool& pool)
    : cost_(cost), log_b_(log_b), kernels_(kernels), pool_(pool), h_(cost.n_columns()) {
  const std::size_t tile = cost.tile_rows();
  const std::size_t wanted = (cost.n_rows() + kMostChunks - 1) / kMostChunks;
  chunk_rows_ = (wanted + tile - 1) / tile * tile;
  n_chunks_ = (cost.n_rows() + chunk_rows_ - 1) / chunk_rows_;
  // Where s is kept, only z needs room.
  const std::size_t floats = tile * cost.n_columns();
  for (std::size_t w = 0; w < pool.n_threads(); ++w) scratch_.emplace_back(floats * sizeof(float));
}

void PlanPass::Run(double epsilon, std::span<const double> target, bool with_moments, Visit visit) {
  const std::size_t m = cost_.n_columns();
  const auto term = [&](std::size_t j) {
    return (target[j] - cost_.column_part()[j]) / epsilon + log_b_[j];
  };
  shift_ = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < m; ++j) shift_ = std::max(shift_, term(j));
  for (std::size_t j = 0; j < m; ++j) h_[j] = static_cast<float>(term(j) - shift_);
  const std::size_t tile = cost_.tile_rows(), n = cost_.n_rows();
  std::atomic<std::size_t> next{0};
  pool_.Share([&](std::size_t worker) {
    float* const z = scratch_[worker].As<float>().data();
    for (std::size_t chunk; (chunk = next.fetch_add(1)) < n_chunks_;) {
      const std::size_t end = std::min(n, (chunk + 1) * chunk_rows_);
      for (std::size_t i = chunk * chunk_rows_; i < end; i += tile) {
        RunTile(epsilon, i, std::min(tile, end - i), with_moments, z, chunk, visit);
      }
    }
  });
}

void PlanPass::RunTile(double epsilon, std::size_t first, std::size_t n, bool with_moments,
                       float* z, std::size_t chunk, Visit visit) const {
  const std::size_t m = cost_.n_columns();
  const float* const s = cost_.Rows(first, n, z);  // z itself, where s is computed
  const auto scale = static_cast<float>(cost_.factor() / epsilon);
  std::array<double, kMostTileRows> sum, exact, moment, max;
  for (std::size_t r = 0; r < n; ++r) {
    float* const row = z + r * m;
    const float most = kernels_.rows->affine_max(s + r * m, h_.data(), scale, m, row);
    if (with_moments) {
      double sums[2];
      kernels_.rows->exp_sum_moment(row, most, m, sums);
      sum[r] = sums[0];
      moment[r] = sums[1];
    } else {
      sum[r] = kernels_.rows->exp_sum(row, most, m);
    }
    max[r] = static_cast<double>(most);
    exact[r] = cost_.row_part()[first + r] - epsilon * (shift_ + max[r] + std::log(sum[r]));
  }
  visit({.first = first,
         .n_rows = n,
         .e = z,
         .stride = m,
         .sum = sum.data(),
         .exact = exact.data(),
         .moment = moment.data(),
         .max = max.data(),
         .column_term = h_},
        chunk);
}

double LogSumOfColumn(const CostRows& cost, std::span<const double> log_a,
                      std::span<const double> f, double epsilon, std::size_t j) {
  std::vector<float> s(cost.n_rows());
  cost.Column(j, s);
  double most = -std::numeric_limits<double>::infinity();
  const auto term = [&](std::size_t i) {
    return log_a[i] +
           (f[i] - cost.row_part()[i] + cost.factor() * static_cast<double>(s[i])) / epsilon;
  };
  for (std::size_t i = 0; i < s.size(); ++i) most = std::max(most, term(i));
  double sum = 0;
  for (std::size_t i = 0; i < s.size(); ++i) sum += std::exp(term(i) - most);
  return most + std::log(sum);
}

}  // namespace lattice::transport
