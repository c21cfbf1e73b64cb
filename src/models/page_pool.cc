#include "models/page_pool.h"

#include "lattice/check.h"

namespace lattice::models {

PagePool::PagePool(std::size_t n_pages) : counts_(n_pages), free_(n_pages) {
  for (std::size_t i = 0; i < n_pages; ++i) {
    free_[i] = static_cast<std::uint32_t>(n_pages - 1 - i);
  }
}

std::uint32_t PagePool::Take() {
  LATTICE_CHECK(!free_.empty());
  const std::uint32_t page = free_.back();
  free_.pop_back();
  counts_[page] = 1;
  return page;
}

void PagePool::Share(std::uint32_t page) {
  LATTICE_CHECK(counts_.at(page) > 0);
  ++counts_[page];
}

bool PagePool::IsShared(std::uint32_t page) const { return counts_.at(page) > 1; }

void PagePool::Drop(std::uint32_t page) {
  LATTICE_CHECK(counts_.at(page) > 0);
  if (--counts_[page] == 0) free_.push_back(page);
}

}  // namespace lattice::models
