#include <algorithm>
#include <cmath>
#include <string>

#include "base/checked_math.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "lattice/vectors.h"
#include "vectors/dot/dot.h"
#include "vectors/similarity.h"
#include "vectors/top_k.h"

namespace lattice {
namespace {

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Status CheckFinite(std::string_view what, std::span<const float> x) {
  const auto bad = std::ranges::find_if(x, [](float v) { return !std::isfinite(v); });
  if (bad == x.end()) return Ok();
  return Invalid(std::string(what) + ": element " + std::to_string(bad - x.begin()) +
                 " is not finite");
}

// Why there is no result of a and b.
Result<float> NoResult(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) {
    return Invalid("vectors of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                   " elements");
  }
  LATTICE_TRY_VOID(CheckFinite("first vector", a));
  LATTICE_TRY_VOID(CheckFinite("second vector", b));
  return Invalid("a product or a sum is too large for f32");
}

// A result of finite vectors is finite unless it is too large; one of others never is. So the
// inputs need a look only when the result is not finite.
template <typename Compare>
Result<float> OfPair(std::span<const float> a, std::span<const float> b, Compare compare) {
  if (a.size() == b.size()) {
    const float result = compare();
    if (std::isfinite(result)) return result;
  }
  return NoResult(a, b);
}

Status CheckRows(std::span<const float> matrix, std::size_t dims, std::string_view what) {
  if (dims == 0) return Invalid("query has no elements");
  if (matrix.size() % dims == 0) return Ok();
  return Invalid(std::string(what) + " of " + std::to_string(matrix.size()) +
                 " elements has no whole rows of " + std::to_string(dims));
}

Status CheckQueries(std::span<const float> queries, std::size_t dims,
                    std::span<const float> matrix) {
  LATTICE_TRY_VOID(CheckRows(matrix, dims, "matrix"));
  LATTICE_TRY_VOID(CheckRows(queries, dims, "queries"));
  for (std::size_t q = 0; q * dims < queries.size(); ++q) {
    const std::string which = queries.size() == dims ? "query" : "query " + std::to_string(q);
    LATTICE_TRY_VOID(CheckFinite(which, queries.subspan(q * dims, dims)));
  }
  return Ok();
}

Result<std::size_t> CheckedThreads(std::size_t n_threads) {
  constexpr std::size_t kMaxThreads = 1024;
  if (n_threads > kMaxThreads) {
    return Invalid(std::to_string(n_threads) + " threads asked for, at most " +
                   std::to_string(kMaxThreads));
  }
  return n_threads == 0 ? ThreadPool::DefaultThreads() : n_threads;
}

}  // namespace

VectorOps::VectorOps() : kernels_(&vectors::SelectDot(CpuFeatures::Detect())) {}

Result<VectorOps> VectorOps::WithInstructionSet(std::string_view name) {
  LATTICE_TRY(const CpuFeatures features, CpuFeatures::Named(name));
  return VectorOps(vectors::SelectDot(features));
}

std::string_view VectorOps::instruction_set() const { return kernels_->name; }

Result<float> VectorOps::Dot(std::span<const float> a, std::span<const float> b) const {
  return OfPair(a, b, [&] { return kernels_->fns->dot(a.data(), b.data(), a.size()); });
}

Result<float> VectorOps::SquaredEuclidean(std::span<const float> a,
                                          std::span<const float> b) const {
  return OfPair(a, b,
                [&] { return kernels_->fns->squared_distance(a.data(), b.data(), a.size()); });
}

Result<float> VectorOps::Euclidean(std::span<const float> a, std::span<const float> b) const {
  return OfPair(a, b, [&] { return vectors::Euclidean(*kernels_->fns, a, b); });
}

Result<float> VectorOps::Cosine(std::span<const float> a, std::span<const float> b) const {
  if (a.size() == b.size()) {
    const float cosine = vectors::Cosine(*kernels_->fns, a, b);
    if (!std::isnan(cosine)) return cosine;  // Never infinite.
  }
  return NoResult(a, b);
}

Status VectorOps::Normalise(std::span<float> x) const {
  if (vectors::Normalise(*kernels_->fns, x)) return Ok();
  return CheckFinite("vector", x);
}

Status VectorOps::NormaliseRows(std::span<float> matrix, std::size_t dims) const {
  LATTICE_TRY_VOID(CheckRows(matrix, dims, "matrix"));
  for (std::size_t r = 0; r * dims < matrix.size(); ++r) {
    auto status = Normalise(matrix.subspan(r * dims, dims));
    if (!status) return std::move(status).error().Within("row " + std::to_string(r));
  }
  return Ok();
}

Status VectorOps::Scores(std::span<const float> queries, std::size_t dims,
                         std::span<const float> matrix, Metric metric, std::span<float> out,
                         std::size_t n_threads) const {
  LATTICE_TRY_VOID(CheckQueries(queries, dims, matrix));
  const auto wanted = CheckedMul(queries.size() / dims, matrix.size() / dims);
  if (!wanted || out.size() != *wanted) {
    return Invalid(std::to_string(queries.size() / dims) + " queries and " +
                   std::to_string(matrix.size() / dims) + " rows, but room for " +
                   std::to_string(out.size()) + " scores");
  }
  LATTICE_TRY(const std::size_t n, CheckedThreads(n_threads));
  ThreadPool pool(n);
  return vectors::Scores(*kernels_->fns, pool, queries, dims, matrix, metric, out);
}

Result<std::vector<Neighbour>> VectorOps::TopK(std::span<const float> query,
                                               std::span<const float> matrix, std::size_t k,
                                               Metric metric, std::size_t n_threads) const {
  LATTICE_TRY(auto found, TopKMany(query, query.size(), matrix, k, metric, n_threads));
  return std::move(found.front());
}

Result<std::vector<std::vector<Neighbour>>> VectorOps::TopKMany(std::span<const float> queries,
                                                                std::size_t dims,
                                                                std::span<const float> matrix,
                                                                std::size_t k, Metric metric,
                                                                std::size_t n_threads) const {
  LATTICE_TRY_VOID(CheckQueries(queries, dims, matrix));
  LATTICE_TRY(const std::size_t n, CheckedThreads(n_threads));
  ThreadPool pool(n);
  return vectors::TopK(*kernels_->fns, pool, queries, dims, matrix, k, metric);
}

}  // namespace lattice
