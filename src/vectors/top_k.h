#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "lattice/result.h"
#include "lattice/vectors.h"
#include "vectors/dot/dot.h"

namespace lattice::vectors {

/// For each row of `queries` [n_queries, dims] the min(k, n_rows) best rows of `matrix` [n_rows,
/// dims], best first, of equal scores the lower index first. Exact, and the same for any pool and
/// for a query alone. Rows are read once: each block of them meets all queries while it is in the
/// cache. Preconditions: dims > 0; queries are finite; whole rows. Errors  kInvalidArgument when a
/// row's score is not finite: names the first such row.
Result<std::vector<std::vector<Neighbour>>> TopK(const DotFns& fns, ThreadPool& pool,
                                                 std::span<const float> queries, std::size_t dims,
                                                 std::span<const float> matrix, std::size_t k,
                                                 Metric metric);

/// out [n_queries, n_rows]: the score of each row for each query. Otherwise as TopK.
Status Scores(const DotFns& fns, ThreadPool& pool, std::span<const float> queries, std::size_t dims,
              std::span<const float> matrix, Metric metric, std::span<float> out);

}  // namespace lattice::vectors
