#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "lattice/result.h"
#include "lattice/vectors.h"
#include "vectors/dot/dot.h"

namespace lattice::vectors {

/// The min(k, n_rows) best rows of `matrix` [n_rows, query.size()] for `query`, best first, of
/// equal scores the lower index first. Exact, and the same for any pool. Preconditions: query is
/// not empty and finite; matrix.size() is a multiple of query.size(). Errors  kInvalidArgument when
/// a row's score is not finite: names the first such row.
Result<std::vector<Neighbour>> TopK(const DotFns& fns, ThreadPool& pool,
                                    std::span<const float> query, std::span<const float> matrix,
                                    std::size_t k, Metric metric);

}  // namespace lattice::vectors
