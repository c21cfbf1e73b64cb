#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "transport/cost_rows.h"
#include "transport/kernels.h"

namespace lattice::transport {

/// Some rows of a plan, as a pass over it shows them:
///   plan[first + r][j] = weight[r] * e[r * stride + j]
/// weight may leave f64's range when mass is relaxed: it is given as its logarithm.
struct PlanTile {
  std::size_t first = 0, n_rows = 0;
  const float* e = nullptr;  ///< [n_rows, stride], in [0, 1]; the largest of a row is 1.
  std::size_t stride = 0;
  const double* sum = nullptr;         ///< [n_rows] of e.
  const double* exact = nullptr;       ///< [n_rows] fbar: the potential that sends all of a row.
  const double* moment = nullptr;      ///< [n_rows] sum of e * (z - max), if asked for.
  const double* max = nullptr;         ///< [n_rows] of z.
  std::span<const float> column_term;  ///< h: see PlanPass.
};

/// Reads the costs once and gives, for potentials `target` of the columns, each row's log-sum-exp:
///   z[i][j]  = h[j] + factor / epsilon * s[i][j],  h[j] = (target[j] - column_part[j]) / epsilon
///              + log b[j] - shift
///   exact[i] = row_part[i] - epsilon * (shift + log sum over j of e^z[i][j])
/// Rows are visited in tiles; tiles of one chunk in rising order by one thread. Chunks depend on
/// the problem's size only, so that sums over them have one order.
class PlanPass {
 public:
  PlanPass(const CostRows& cost, std::span<const double> log_b, const Kernels& kernels,
           ThreadPool& pool);

  std::size_t n_chunks() const { return n_chunks_; }
  using Visit = FunctionRef<void(const PlanTile& tile, std::size_t chunk)>;
  void Run(double epsilon, std::span<const double> target, bool with_moments, Visit visit);

 private:
  void RunTile(double epsilon, std::size_t first, std::size_t n, bool with_moments, float* z,
               std::size_t chunk, Visit visit) const;

  const CostRows& cost_;
  std::span<const double> log_b_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  std::size_t chunk_rows_, n_chunks_;
  std::vector<float> h_;
  double shift_ = 0;
  std::vector<AlignedBuffer> scratch_;  // of each worker: s and z of a tile
};

/// log of the sum over i of e^(log_a[i] + (f[i] - row_part[i] + factor s[i][j]) / epsilon), in f64
/// without a range to leave: what column j gets where a pass over rows lost its terms.
double LogSumOfColumn(const CostRows& cost, std::span<const double> log_a,
                      std::span<const double> f, double epsilon, std::size_t j);

/// A column's sum of e, times weights, may have lost terms to f32's smallest number when it is
/// below this part of what it should be.
inline constexpr double kLeastPart = 1e-30;

}  // namespace lattice::transport
