#pragma once

#include <span>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/delta_net/delta_net_state.h"
#include "kernels/cpu/delta_net/variants.h"
#include "kernels/cpu/worker_scratch.h"

namespace lattice::kernels {

struct DeltaNetVariant {
  const char* name;
  CpuFeatures needs;
  const DeltaNetKernels* run;
};

/// Fastest first; the last row runs anywhere. All rows give the same bits.
std::span<const DeltaNetVariant> DeltaNetVariants();
const DeltaNetKernels& SelectDeltaNet(CpuFeatures features);

/// The gated delta rule: see Backend::DeltaNet. A unit of work is one key head of one text with its
/// value heads: from the convolution of their channels to their rows of the output. Thread-safe for
/// calls that share no state.
class CpuDeltaNet {
 public:
  explicit CpuDeltaNet(CpuFeatures features) : kernels_(SelectDeltaNet(features)) {}

  void Run(ThreadPool& pool, const DeltaNetArgs& args, CpuBuffer& out);

 private:
  const DeltaNetKernels& kernels_;
  ScratchKeeper scratch_;
};

}  // namespace lattice::kernels
