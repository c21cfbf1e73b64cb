#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/weight_memory.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/stored/input_rows.h"
#include "kernels/cpu/stored/stored_product.h"

namespace lattice::kernels {

struct ExpertScratch;

/// A mixture's experts, each a StoredProduct or three. An expert's weights are read once a call,
/// whatever the number of tokens that chose it.
class CpuExperts : public ExpertWeights {
 public:
  struct Expert {
    StoredProduct gate, up, down;
  };
  CpuExperts(std::vector<Expert> experts, const StoredKernels& kernels);

  std::size_t n_experts() const override { return experts_.size(); }

  /// See Backend::Experts. Sets the shape of out.
  void Run(ThreadPool& pool, const CpuBuffer& x, const CpuBuffer& router,
           const ExpertChoice& choice, CpuBuffer& out) const;

 private:
  void Route(ThreadPool& pool, const CpuBuffer& router, const ExpertChoice& choice,
             const ExpertScratch& scratch) const;
  void GateAndUp(ThreadPool& pool, const InputRows& rows, GateFn gate,
                 const ExpertScratch& scratch) const;
  void Down(ThreadPool& pool, const InputRows& rows, const ExpertScratch& scratch) const;

  std::vector<Expert> experts_;
  std::size_t inputs_, hidden_;
  std::size_t weight_bytes_ = 0;  // scratch memory of a worker's chunks
  StoredKernels kernels_;
  InputPlan outer_, inner_;  // what gate and up read, and what down reads
};

/// See Backend::MakeExperts. kInvalidArgument when shapes do not fit each other.
Result<std::unique_ptr<ExpertWeights>> MakeCpuExperts(ThreadPool& pool, WeightMemory& memory,
                                                      std::span<const ExpertTensors> experts,
                                                      Precision precision, CpuFeatures features);

}  // namespace lattice::kernels
