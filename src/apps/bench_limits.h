#pragma once

#include <optional>

#include "apps/command.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"
#include "models/model.h"
#include "weights/checkpoint.h"

namespace lattice::apps {

/// What the weights of a generator ask of the machine for every token; 0: not one number, since a
/// mixture uses the experts that it chooses.
struct TokenWork {
  double bytes = 0;  ///< Read, when tokens come one by one.
  double operations =
      0;  ///< Of the products of a prompt's token; the head reads its last one only.
  kernels::Precision precision = kernels::Precision::kF32;  ///< Of most of those products.
};
TokenWork WorkOf(const weights::Checkpoint& checkpoint, const models::LoadOptions& options);

/// What this machine reaches; 0: not measured.
struct MachineLimits {
  double bytes_per_s = 0;       ///< Read from memory by all threads.
  double operations_per_s = 0;  ///< By the instruction that such products use.
};
Result<MachineLimits> MeasureLimits(ThreadPool& pool, kernels::Precision precision,
                                    const AppContext& context);

}  // namespace lattice::apps
