#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice {

namespace vectors {
struct DotVariant;
}

/// How a row compares with a query. Best first: large cosine, large dot, small distance.
enum class Metric { kCosine, kDot, kSquaredEuclidean, kEuclidean };

struct Neighbour {
  std::size_t index = 0;  ///< Of the row.
  float score = 0;        ///< In the unit of the metric.
  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

/// Arithmetic on f32 vectors with the fastest instructions of the processor, chosen once when the
/// object is made. Small, immutable, free to copy; any number of threads may share one.
///
/// Every instruction set gives the same bits, and so do a pair alone, the pair as a row of a
/// matrix, and any number of threads.
///
/// A matrix is row-major without gaps: [n_rows, query.size()].
///
/// Errors  kInvalidArgument: lengths that do not match, a value that is not finite (the message
/// gives
///         its place), a result too large for f32.
class VectorOps {
 public:
  VectorOps();
  /// Pins the kernels: "avx512", "avx2", "neon", "scalar". kInvalidArgument when the name is
  /// unknown, kUnsupported when the processor lacks it.
  static Result<VectorOps> WithInstructionSet(std::string_view name);

  std::string_view instruction_set() const;

  /// sum a[i] b[i]
  Result<float> Dot(std::span<const float> a, std::span<const float> b) const;
  /// sum (a[i] - b[i])^2
  Result<float> SquaredEuclidean(std::span<const float> a, std::span<const float> b) const;
  Result<float> Euclidean(std::span<const float> a, std::span<const float> b) const;
  /// a.b / (|a| |b|), in [-1, 1]; 0 when a vector is zero.
  Result<float> Cosine(std::span<const float> a, std::span<const float> b) const;

  /// x / max(|x|, 1e-12), in place: a zero vector stays zero. x is unchanged after an error.
  Status Normalise(std::span<float> x) const;
  /// The same for each row of a matrix; rows before a bad one are changed.
  Status NormaliseRows(std::span<float> matrix, std::size_t dims) const;

  /// out [n_queries, n_rows]: each row of queries [n_queries, dims] with each row of the matrix, as
  /// the functions above compare them. Undefined after an error. Threads as for TopK.
  Status Scores(std::span<const float> queries, std::size_t dims, std::span<const float> matrix,
                Metric metric, std::span<float> out, std::size_t n_threads = 1) const;

  /// The min(k, n_rows) best rows, best first; of equal scores the lower index first. Exact: every
  /// row is read. n_threads counts the caller; 0 = the processors that this process may use. The
  /// threads live for the call.
  Result<std::vector<Neighbour>> TopK(std::span<const float> query, std::span<const float> matrix,
                                      std::size_t k, Metric metric = Metric::kCosine,
                                      std::size_t n_threads = 1) const;
  /// The same for each row of queries [n_queries, dims], the matrix read once for all of them.
  /// `k` places are kept for each query and thread.
  Result<std::vector<std::vector<Neighbour>>> TopKMany(std::span<const float> queries,
                                                       std::size_t dims,
                                                       std::span<const float> matrix, std::size_t k,
                                                       Metric metric = Metric::kCosine,
                                                       std::size_t n_threads = 1) const;

 private:
  explicit VectorOps(const vectors::DotVariant& kernels) : kernels_(&kernels) {}
  const vectors::DotVariant* kernels_;  // a row of the constant table
};

}  // namespace lattice
