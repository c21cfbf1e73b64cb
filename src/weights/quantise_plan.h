#pragma once

#include <cstddef>
#include <vector>

#include "lattice/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf_writer.h"
#include "weights/quantise_policy.h"
#include "weights/tensor_jobs.h"

namespace lattice::weights {

/// All that goes into a GGUF file.
struct GgufPlan {
  GgufPairs pairs;
  std::vector<TensorJob> jobs;

  std::size_t tensor_bytes() const;  ///< Of the results; the header and padding are small.
};

/// A copy of `checkpoint`, which is a GGUF file's: its keys, but for those about the parts that it
/// was split into and how it was quantised, and its tensors by layer and name.
GgufPlan PlanGgufCopy(const Checkpoint& checkpoint);

/// What a policy did to a plan, by the place of a job.
struct QuantiseNotes {
  std::vector<std::size_t> fell_back;    ///< Rows are not whole blocks of the type wanted.
  std::vector<std::size_t> requantised;  ///< From one block format to another: errors add up.
};

/// Gives every job the type that ChooseQuantisedType says, and the plan the keys that tell of it.
/// Layers and the head are counted here: the policy's n_blocks and tied_output are not looked at.
QuantiseNotes ApplyPolicy(QuantisePolicy policy, GgufPlan& plan);

/// Sorts by layer (what is outside of layers first) and name.
void SortJobs(std::vector<TensorJob>& jobs);

}  // namespace lattice::weights
