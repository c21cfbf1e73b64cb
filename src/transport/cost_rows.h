#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "lattice/transport.h"
#include "transport/kernels.h"

namespace lattice::transport {

/// The costs of a problem in the one form that the solver reads:
///   C[i][j] = row_part[i] + column_part[j] - factor * s[i][j]
/// with s the inner products of points (each set less its own mean, or of unit length), or the
/// matrix. s is kept when it fits the budget, else its rows are computed when they are wanted.
///
/// s is in f32: exponents C / epsilon are good to about 1e-7 of the largest, and so are plans.
class CostRows {
 public:
  /// Checks that everything is finite. Points are copied (O((n + m) dims)); a matrix is borrowed.
  static Result<CostRows> Make(const Cost& cost, const Kernels& kernels, ThreadPool& pool,
                               std::size_t budget_bytes);

  std::size_t n_rows() const { return row_part_.size(); }
  std::size_t n_columns() const { return column_part_.size(); }
  std::span<const double> row_part() const { return row_part_; }
  std::span<const double> column_part() const { return column_part_; }
  double factor() const { return factor_; }
  bool is_stored() const { return !stored_.empty(); }
  /// How many rows are best read at once.
  std::size_t tile_rows() const { return is_stored() ? 16 : 64; }

  /// Rows [begin, begin + n) of s, [n, n_columns] without gaps: the kept ones, or `scratch` filled.
  const float* Rows(std::size_t begin, std::size_t n, float* scratch) const;
  /// Column j of s, from the same arithmetic: the same values.
  void Column(std::size_t j, std::span<float> out) const;

  double CostOf(std::size_t i, std::size_t j, double s) const {
    return row_part_[i] + column_part_[j] - factor_ * s;
  }
  /// Mean and largest cost over at most some thousand pairs, evenly spread: what epsilon is chosen
  /// by.
  struct Scale {
    double mean = 0, most = 0;
  };
  Scale EstimateScale() const;

  /// The points as s uses them (for squared distances, less the centres), or empty.
  std::span<const float> source() const { return source_; }
  std::span<const float> target() const { return target_; }
  std::span<const double> source_centre() const { return source_centre_; }
  std::span<const double> target_centre() const { return target_centre_; }
  std::size_t dims() const { return dims_; }

 private:
  CostRows() = default;
  static Result<CostRows> FromPoints(const Cost& cost, const Kernels& kernels);
  void Store(ThreadPool& pool);
  void ComputeRows(std::size_t begin, std::size_t n, float* out) const;
  float Value(std::size_t i, std::size_t j) const;

  Kernels kernels_;
  std::vector<double> row_part_, column_part_;
  double factor_ = 1;
  std::size_t dims_ = 0;
  std::vector<float> source_, target_;  // points, centred or scaled
  std::vector<double> source_centre_, target_centre_;
  AlignedBuffer panels_;           // of target_
  AlignedBuffer own_;              // s, where it is ours
  std::span<const float> stored_;  // s, where it is kept
  std::function<float(std::size_t, std::size_t)> function_;
};

}  // namespace lattice::transport
