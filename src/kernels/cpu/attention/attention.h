#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/attention/variants.h"
#include "kernels/cpu/cpu_buffer.h"

namespace lattice::kernels {

struct AttentionVariant {
  const char* name;
  CpuFeatures needs;
  const AttentionKernels* run;
};

/// Fastest first; the last row runs anywhere. Rows of f32 give the same bits.
std::span<const AttentionVariant> AttentionVariants();
/// The first row for `features` that computes in f32, or for other precisions the first of all.
const AttentionKernels& SelectAttention(CpuFeatures features, Precision precision);

/// Attention over packed texts: see Backend::Attention. Softmax as in Milakov and Gimelshein 2018,
/// "Online normalizer calculation for softmax", over tiles of 64 keys (AMX: 512): memory grows with
/// the keys of a text, not with their square. Work is cut into a text, a key head and a block of
/// queries; one key head is packed once for the blocks that a worker takes in a row. Thread-safe.
class CpuAttention {
 public:
  explicit CpuAttention(CpuFeatures features)
      : exact_(SelectAttention(features, Precision::kF32)),
        rounded_(SelectAttention(features, Precision::kBf16)) {}

  void Run(ThreadPool& pool, const AttentionArgs& args, CpuBuffer& out);

 private:
  /// Memory of one call: a buffer for each worker. Kept between calls, as many as ran at once.
  using Scratch = std::vector<AlignedBuffer>;
  std::unique_ptr<Scratch> TakeScratch(std::size_t n_workers, std::size_t worker_bytes);
  void GiveBack(std::unique_ptr<Scratch> scratch);

  const AttentionKernels& exact_;
  const AttentionKernels& rounded_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;  // under mutex_
};

}  // namespace lattice::kernels
