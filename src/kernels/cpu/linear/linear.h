#pragma once

#include <memory>
#include <span>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/linear/panel_arena.h"

namespace lattice::kernels {

/// A linear layer of CpuBackend, packed for one set of kernels.
class CpuLinear : public LinearWeights {
 public:
  /// See Backend::Linear. Sets the shape of y.
  virtual void Run(ThreadPool& pool, const CpuBuffer& x, const Epilogue& epilogue,
                   CpuBuffer& y) const = 0;

  /// See Backend::GatedLinear. False when these weights are not kept so that both halves of a part
  /// of y can be made together: nothing is done then.
  virtual bool RunGated(ThreadPool& /*pool*/, const CpuBuffer& /*x*/, Activation /*activation*/,
                        CpuBuffer& /*y*/) const {
    return false;
  }

  /// See Backend::MakeTable; `self` is this layer.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): a layer that has a table keeps it.
  virtual std::unique_ptr<CpuTable> MakeTable(std::shared_ptr<const CpuLinear> /*self*/) const {
    return nullptr;
  }
};

/// See Backend::MakeLinear. Weights are packed on `pool` into memory of `arena`.
Result<std::unique_ptr<LinearWeights>> MakeCpuLinear(ThreadPool& pool, PanelArena& arena,
                                                     std::span<const HostTensor> matrices,
                                                     std::span<const HostTensor> biases,
                                                     Precision precision, CpuFeatures features);

}  // namespace lattice::kernels
