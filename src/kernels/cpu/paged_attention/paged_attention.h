#pragma once

#include <span>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/paged_attention/kv_pages.h"
#include "kernels/cpu/paged_attention/variants.h"
#include "kernels/cpu/worker_scratch.h"

namespace lattice::kernels {

struct PagedAttentionVariant {
  const char* name;
  CpuFeatures needs;
  const PagedAttentionKernels* run;
};

/// Fastest first; the last row runs anywhere. All rows give the same bits.
std::span<const PagedAttentionVariant> PagedAttentionVariants();
const PagedAttentionKernels& SelectPagedAttention(CpuFeatures features);

/// Attention over paged keys: see Backend::PagedAttention. Softmax as in Milakov and Gimelshein
/// 2018, "Online normalizer calculation for softmax". Work is cut into a text, a block of its rows
/// and a key head; where that leaves one such unit most of the work, also into segments, whose sums
/// are merged afterwards. Thread-safe.
class CpuPagedAttention {
 public:
  explicit CpuPagedAttention(CpuFeatures features) : kernels_(SelectPagedAttention(features)) {}

  void Store(ThreadPool& pool, const CpuBuffer& kv, std::size_t k_col, std::size_t v_col,
             std::span<const std::uint32_t> slots, CpuKvPages& pages) const;
  void Run(ThreadPool& pool, const PagedAttentionArgs& args, CpuBuffer& out);

 private:
  const PagedAttentionKernels& kernels_;
  ScratchKeeper scratch_;
};

}  // namespace lattice::kernels
