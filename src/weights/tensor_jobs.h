#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "base/log.h"
#include "base/thread_pool.h"
#include "lattice/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf_writer.h"
#include "weights/safetensors_writer.h"

namespace lattice::weights {

/// A tensor on its way from a checkpoint into a GGUF file.
struct TensorJob {
  TensorSpec spec;    ///< As it is written: name, dtype (CanNarrow, or the source's), shape.
  TensorView source;  ///< Of a checkpoint that outlives the job.
  /// More of the source's shape and dtype, whose results follow: experts that become one tensor.
  std::vector<TensorView> more = {};

  /// Row i of the result is row row_order[i] of the source; empty: the same. A vector's elements
  /// are its rows.
  std::vector<std::uint32_t> row_order = {};
  /// The same for the elements of each row.
  std::vector<std::uint32_t> column_order = {};
  float added = 0;                   ///< To each value.
  bool negated_exponential = false;  ///< -exp(value) instead of each value.

  /// Nothing changes: the source's bytes are the result's.
  bool IsCopy() const;
  std::size_t n_elements() const { return (1 + more.size()) * source.n_elements(); }
  std::size_t source_bytes() const { return (1 + more.size()) * source.bytes.size(); }
};

struct TensorJobOptions {
  std::stop_token stop = {};
  ProgressSink progress = {};  ///< Bytes of the sources, `what` as below.
  std::string_view what;
};

/// Runs the jobs in order and appends their bytes to `writer`, whose tensors are theirs. Slices of
/// some megabytes are read, converted by all of the pool's threads and written, and their pages let
/// go: memory does not grow with the model. The bytes do not depend on the number of threads.
///
/// Errors  kCorruptData names tensor, place and value where it cannot be stored (see
///         FindUnstorable; copies are not looked at); kUnsupported a source that is no IsWeight;
///         kCancelled; and the writer's.
Status RunTensorJobs(std::span<const TensorJob> jobs, const Checkpoint& checkpoint,
                     ThreadPool& pool, const TensorJobOptions& options, GgufWriter& writer);

}  // namespace lattice::weights
