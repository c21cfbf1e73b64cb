#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "lattice/vectors.h"

namespace lattice::vectors {

inline bool IsDistance(Metric metric) {
  return metric == Metric::kSquaredEuclidean || metric == Metric::kEuclidean;
}

/// Says that a comes before b.
struct IsBetter {
  Metric metric;
  bool operator()(const Neighbour& a, const Neighbour& b) const {
    if (a.score == b.score) return a.index < b.index;
    return IsDistance(metric) ? a.score < b.score : a.score > b.score;
  }
};

/// The best k of the rows that were offered.
class Selection {
 public:
  Selection(Metric metric, std::size_t k) : better_{metric}, k_(k) { heap_.reserve(k); }

  void Offer(const Neighbour& row) {
    if (heap_.size() == k_) {  // The worst of the chosen is at the front.
      if (!better_(row, heap_.front())) return;
      std::ranges::pop_heap(heap_, better_);
      heap_.back() = row;
    } else {
      heap_.push_back(row);
    }
    std::ranges::push_heap(heap_, better_);
  }

  const std::vector<Neighbour>& chosen() const { return heap_; }

  std::vector<Neighbour> Sorted() && {
    std::ranges::sort(heap_, better_);
    return std::move(heap_);
  }

 private:
  IsBetter better_;
  std::size_t k_;
  std::vector<Neighbour> heap_;
};

}  // namespace lattice::vectors
