#pragma once

#include <cstddef>

#include "kernels/api/state.h"

namespace lattice::kernels {

/// A block of rows of one text, for the query heads of one key head, against some segments.
struct PagedUnit {
  const PagedSpan* span;
  std::size_t kv_head;
  std::size_t row_begin, row_end;          // Of the call.
  std::size_t segment_begin, segment_end;  // All that its rows see, or one of them.
  /// Place of a lone segment's sums among those of the call; those of one block and key head lie
  /// together in rising order.
  std::size_t slot;
  bool alone;  // One segment of several: the sums wait for the others.

  std::size_t n_rows() const { return row_end - row_begin; }
};

/// How a call is cut into units: no part of the result depends on it. Counts instead of lists, so
/// that planning allocates nothing. Units are numbered text by text; in a text the last rows, which
/// see the most keys, come first.
class PagedPlan {
 public:
  PagedPlan(const PagedAttentionArgs& args, std::size_t n_kv_heads, std::size_t head_dim,
            std::size_t n_threads);

  std::size_t n_units() const { return n_units_; }
  /// Blocks and key heads whose segments are units of their own.
  std::size_t n_cut() const { return n_cut_; }
  std::size_t n_slots() const { return n_slots_; }
  std::size_t max_pairs() const { return max_pairs_; }
  double total_ns() const { return total_ns_; }

 private:
  friend class PagedCursor;
  struct Block {
    std::size_t row_begin, row_end, segment_begin, segment_end;
    double ns;  // For all key heads.
    bool cut;
    std::size_t n_segments() const { return segment_end - segment_begin; }
  };
  Block BlockOf(const PagedSpan& span, std::size_t i) const;
  std::size_t NBlocks(const PagedSpan& span) const;
  template <typename Seen>
  void ForBlocks(Seen seen) const;

  const PagedAttentionArgs& args_;
  std::size_t n_kv_heads_, head_dim_, rows_a_block_, max_pairs_ = 0;
  double total_ns_ = 0, cut_ns_;
  std::size_t n_units_ = 0, n_cut_ = 0, n_slots_ = 0;
};

/// Finds units by their number, which may only rise from call to call.
class PagedCursor {
 public:
  explicit PagedCursor(const PagedPlan& plan);

  PagedUnit unit(std::size_t i);
  /// All segments of the i-th cut block and key head; its slots start at `slot`. A cursor serves
  /// either numbering, not both.
  PagedUnit cut(std::size_t i);

 private:
  void ToBlock();
  void Next(std::size_t n_counted);
  std::size_t n_slots() const { return block_.cut ? plan_->n_kv_heads_ * block_.n_segments() : 0; }
  PagedUnit Make(std::size_t kv_head, std::size_t slot) const;

  const PagedPlan* plan_;
  std::size_t span_ = 0, block_index_ = 0;
  std::size_t counted_ = 0, slots_ = 0;  // Before the block.
  PagedPlan::Block block_ = {};
};

}  // namespace lattice::kernels
