#include "kernels/cpu/worker_scratch.h"

#include <utility>

namespace lattice::kernels {
namespace {

// By half more than asked for, so that a text that grows asks seldom.
void Grow(AlignedBuffer& memory, std::size_t size_bytes) {
  if (memory.size() < size_bytes) memory = AlignedBuffer(size_bytes + size_bytes / 2);
}

}  // namespace

std::unique_ptr<CallScratch> ScratchKeeper::Take(std::size_t n_workers, std::size_t worker_bytes,
                                                 std::size_t shared_bytes) {
  std::unique_ptr<CallScratch> scratch;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      scratch = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (scratch == nullptr) scratch = std::make_unique<CallScratch>();
  if (scratch->workers.size() < n_workers) scratch->workers.resize(n_workers);
  for (std::size_t w = 0; w < n_workers; ++w) Grow(scratch->workers[w], worker_bytes);
  Grow(scratch->shared, shared_bytes);
  return scratch;
}

void ScratchKeeper::GiveBack(std::unique_ptr<CallScratch> scratch) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(scratch));
}

}  // namespace lattice::kernels
