#pragma once

#include <span>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/delta_net/delta_net_state.h"
#include "kernels/cpu/delta_net/variants.h"
#include "kernels/cpu/norm/norm.h"
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

/// All that a layer is computed with.
struct DeltaNetKernelSet {
  const DeltaNetKernels& rule;
  const NormKernels& norm;
  const ActivationKernels& activation;
};

/// The gated delta rule: see Backend::DeltaNet. A unit of work is one key head of one text with its
/// value heads: from the convolution of their channels to their rows of the output. Thread-safe for
/// calls that share no state.
class CpuDeltaNet {
 public:
  explicit CpuDeltaNet(CpuFeatures features)
      : kernels_{SelectDeltaNet(features), SelectNorm(features), SelectActivation(features)} {}

  void Run(ThreadPool& pool, const DeltaNetArgs& args, CpuBuffer& out);

 private:
  const DeltaNetKernelSet kernels_;
  ScratchKeeper scratch_;
};

}  // namespace lattice::kernels
