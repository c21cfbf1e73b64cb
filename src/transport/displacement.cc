#include "transport/displacement.h"

namespace lattice::transport {

// C[i][j] = row_part[i] + q[j] - epsilon z[i][j] with q[j] = column_part[j] + epsilon h[j].
std::vector<double> MeanCosts(const Engine& engine, const CostRows& cost, std::span<const double> b,
                              std::span<const double> target, double epsilon) {
  const std::vector<double> log_b = Logarithms(b);
  PlanPass pass(cost, log_b, engine.kernels, engine.pool);
  std::vector<double> means(cost.n_rows());
  pass.Run(epsilon, target, true, [&](const PlanTile& tile, std::size_t) {
    for (std::size_t r = 0; r < tile.n_rows; ++r) {
      const float* const e = tile.e + r * tile.stride;
      double separate = 0;
      for (std::size_t j = 0; j < tile.stride; ++j) {
        if (e[j] == 0) continue;  // Where b is zero, h is not finite.
        separate += static_cast<double>(e[j]) *
                    (cost.column_part()[j] + epsilon * static_cast<double>(tile.column_term[j]));
      }
      const std::size_t i = tile.first + r;
      means[i] = cost.row_part()[i] - epsilon * tile.max[r] +
                 (separate - epsilon * tile.moment[r]) / tile.sum[r];
    }
  });
  return means;
}

}  // namespace lattice::transport
