#include "transport/mean_targets.h"

namespace lattice::transport {

void MeanTargets(const Engine& engine, const CostRows& rows, std::span<const double> a,
                 std::span<const double> b, const Transport& solution, std::span<float> out) {
  const std::size_t dims = rows.dims();
  VisitPlan(engine, rows, a, b, solution, [&](const PlanTile& tile, const double*, std::size_t) {
    float* const to = out.data() + tile.first * dims;
    engine.kernels.product({.a = tile.e,
                            .a_row_stride = tile.stride,
                            .a_col_stride = 1,
                            .b = rows.target().data(),
                            .b_stride = dims,
                            .c = to,
                            .c_stride = dims,
                            .m = tile.n_rows,
                            .n = dims,
                            .k = tile.stride});
    for (std::size_t r = 0; r < tile.n_rows; ++r) {
      for (std::size_t t = 0; t < dims; ++t) {
        to[r * dims + t] = static_cast<float>(static_cast<double>(to[r * dims + t]) / tile.sum[r]);
      }
    }
  });
}

}  // namespace lattice::transport
