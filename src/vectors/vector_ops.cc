#include <algorithm>
#include <cmath>
#include <string>

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

Status CheckLengths(std::span<const float> a, std::span<const float> b) {
  if (a.size() == b.size()) return Ok();
  return Invalid("vectors of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                 " elements");
}

Status CheckFinite(std::string_view what, std::span<const float> x) {
  const auto bad = std::ranges::find_if(x, [](float v) { return !std::isfinite(v); });
  if (bad == x.end()) return Ok();
  return Invalid(std::string(what) + ": element " + std::to_string(bad - x.begin()) +
                 " is not finite");
}

// A result of finite vectors is finite unless it is too large; one of others never is. So the
// inputs need a look only when the result is not finite.
Result<float> Checked(float result, std::span<const float> a, std::span<const float> b) {
  if (std::isfinite(result)) return result;
  LATTICE_TRY_VOID(CheckFinite("first vector", a));
  LATTICE_TRY_VOID(CheckFinite("second vector", b));
  return Invalid("a product or a sum is too large for f32");
}

Status CheckMatrix(std::span<const float> query, std::span<const float> matrix) {
  if (query.empty()) return Invalid("query has no elements");
  if (matrix.size() % query.size() != 0) {
    return Invalid("matrix of " + std::to_string(matrix.size()) +
                   " elements has no whole rows of " + std::to_string(query.size()));
  }
  return CheckFinite("query", query);
}

}  // namespace

VectorOps::VectorOps() : kernels_(&vectors::SelectDot(CpuFeatures::Detect())) {}

Result<VectorOps> VectorOps::WithInstructionSet(std::string_view name) {
  LATTICE_TRY(const CpuFeatures features, CpuFeatures::Named(name));
  return VectorOps(vectors::SelectDot(features));
}

std::string_view VectorOps::instruction_set() const { return kernels_->name; }

Result<float> VectorOps::Dot(std::span<const float> a, std::span<const float> b) const {
  LATTICE_TRY_VOID(CheckLengths(a, b));
  return Checked(kernels_->fns->dot(a.data(), b.data(), a.size()), a, b);
}

Result<float> VectorOps::SquaredEuclidean(std::span<const float> a,
                                          std::span<const float> b) const {
  LATTICE_TRY_VOID(CheckLengths(a, b));
  return Checked(kernels_->fns->squared_distance(a.data(), b.data(), a.size()), a, b);
}

Result<float> VectorOps::Euclidean(std::span<const float> a, std::span<const float> b) const {
  LATTICE_TRY_VOID(CheckLengths(a, b));
  return Checked(vectors::Euclidean(*kernels_->fns, a, b), a, b);
}

Result<float> VectorOps::Cosine(std::span<const float> a, std::span<const float> b) const {
  LATTICE_TRY_VOID(CheckLengths(a, b));
  return Checked(vectors::Cosine(*kernels_->fns, a, b), a, b);
}

Status VectorOps::Normalise(std::span<float> x) const {
  if (vectors::Normalise(*kernels_->fns, x)) return Ok();
  return CheckFinite("vector", x);
}

Status VectorOps::CosineMany(std::span<const float> query, std::span<const float> matrix,
                             std::span<float> out) const {
  LATTICE_TRY_VOID(CheckMatrix(query, matrix));
  const std::size_t n_rows = matrix.size() / query.size();
  if (out.size() != n_rows) {
    return Invalid(std::to_string(n_rows) + " rows, but room for " + std::to_string(out.size()) +
                   " results");
  }
  const auto& fns = *kernels_->fns;
  const float norm = fns.dot(query.data(), query.data(), query.size());
  for (std::size_t r = 0; r < n_rows; ++r) {
    const auto row = matrix.subspan(r * query.size(), query.size());
    out[r] = vectors::CosineWithNorm(fns, query, norm, row);
    if (!std::isfinite(out[r])) return CheckFinite("row " + std::to_string(r), row);
  }
  return Ok();
}

Result<std::vector<Neighbour>> VectorOps::TopK(std::span<const float> query,
                                               std::span<const float> matrix, std::size_t k,
                                               Metric metric, std::size_t n_threads) const {
  LATTICE_TRY_VOID(CheckMatrix(query, matrix));
  constexpr std::size_t kMaxThreads = 1024;
  if (n_threads > kMaxThreads) {
    return Invalid(std::to_string(n_threads) + " threads asked for, at most " +
                   std::to_string(kMaxThreads));
  }
  ThreadPool pool(n_threads == 0 ? ThreadPool::DefaultThreads() : n_threads);
  return vectors::TopK(*kernels_->fns, pool, query, matrix, k, metric);
}

}  // namespace lattice
