#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lattice::models {

/// Which pages are free and how many sequences use each of the others.
class PagePool {
 public:
  explicit PagePool(std::size_t n_pages);

  std::size_t n_pages() const { return counts_.size(); }
  std::size_t n_free() const { return free_.size(); }

  /// The free page that was given back last, else the lowest one; counted once. n_free() > 0.
  std::uint32_t Take();
  void Share(std::uint32_t page);
  bool IsShared(std::uint32_t page) const;
  /// One user less; the last one frees the page.
  void Drop(std::uint32_t page);

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> free_;  // the next one last
};

}  // namespace lattice::models
