#include "kernels/cpu/paged_attention/plan.h"

#include <algorithm>
#include <limits>

#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Pairs of a row and a query head that read a tile of keys together: their sums and the tile fit
// the second cache.
constexpr std::size_t kBlockPairs = 48;

std::size_t DivideUp(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

}  // namespace

PagedPlan::PagedPlan(const PagedAttentionArgs& args, std::size_t n_kv_heads, std::size_t head_dim,
                     std::size_t n_threads)
    : args_(args),
      n_kv_heads_(n_kv_heads),
      head_dim_(head_dim),
      rows_a_block_(std::max<std::size_t>(1, kBlockPairs / (args.n_heads / n_kv_heads))),
      cut_ns_(std::numeric_limits<double>::infinity()) {
  double total = 0;
  ForBlocks([&](const PagedSpan&, const Block& block) {
    total += block.ns;
    max_pairs_ =
        std::max(max_pairs_, (block.row_end - block.row_begin) * args.n_heads / n_kv_heads);
    return true;
  });
  total_ns_ = total;
  // A unit above this share would leave other threads waiting for it.
  if (n_threads > 1) cut_ns_ = total / static_cast<double>(4 * n_threads);
  ForBlocks([&](const PagedSpan&, const Block& block) {
    n_units_ += n_kv_heads_ * (block.cut ? block.n_segments() : 1);
    if (block.cut) {
      n_cut_ += n_kv_heads_;
      n_slots_ += n_kv_heads_ * block.n_segments();
    }
    return true;
  });
}

std::size_t PagedPlan::NBlocks(const PagedSpan& span) const {
  return DivideUp(span.row_end - span.row_begin, rows_a_block_);
}

PagedPlan::Block PagedPlan::BlockOf(const PagedSpan& span, std::size_t i) const {
  Block block;
  block.row_begin = span.row_begin + i * rows_a_block_;
  block.row_end = std::min<std::size_t>(block.row_begin + rows_a_block_, span.row_end);
  const std::size_t first = span.first_position + (block.row_begin - span.row_begin);
  const std::size_t end = span.first_position + (block.row_end - span.row_begin);
  const std::size_t begin = args_.window != 0 && first > args_.window ? first - args_.window : 0;
  block.segment_begin = begin / kSegmentTokens;
  block.segment_end = DivideUp(end, kSegmentTokens);
  // Rough: 20 multiply-adds a nanosecond, and what reading keys and values costs one row.
  const auto keys = static_cast<double>(end - begin);
  const double one_row = keys * static_cast<double>(n_kv_heads_ * head_dim_) / 5;
  block.ns =
      one_row +
      keys * static_cast<double>((block.row_end - block.row_begin) * args_.n_heads * head_dim_) /
          10;
  block.cut = block.n_segments() > 1 && block.ns / static_cast<double>(n_kv_heads_) > cut_ns_;
  return block;
}

// Calls seen(span, block) in order until it returns false.
template <typename Seen>
void PagedPlan::ForBlocks(Seen seen) const {
  for (const PagedSpan& span : args_.spans) {
    for (std::size_t i = 0; i < NBlocks(span); ++i) {
      if (!seen(span, BlockOf(span, i))) return;
    }
  }
}

PagedUnit PagedPlan::unit(std::size_t i) const {
  PagedUnit unit = {};
  std::size_t slot = 0;
  ForBlocks([&](const PagedSpan& span, const Block& block) {
    const std::size_t n_segments = block.cut ? block.n_segments() : 1;
    if (i < n_kv_heads_ * n_segments) {
      unit = {&span,
              i / n_segments,
              block.row_begin,
              block.row_end,
              block.segment_begin,
              block.segment_end,
              slot + i,
              block.cut};
      if (block.cut) {
        unit.segment_begin += i % n_segments;
        unit.segment_end = unit.segment_begin + 1;
      }
      return false;
    }
    i -= n_kv_heads_ * n_segments;
    if (block.cut) slot += n_kv_heads_ * n_segments;
    return true;
  });
  LATTICE_DCHECK(unit.span != nullptr);
  return unit;
}

PagedUnit PagedPlan::cut(std::size_t i) const {
  PagedUnit unit = {};
  std::size_t slot = 0;
  ForBlocks([&](const PagedSpan& span, const Block& block) {
    if (!block.cut) return true;
    if (i < n_kv_heads_) {
      unit = {&span,
              i,
              block.row_begin,
              block.row_end,
              block.segment_begin,
              block.segment_end,
              slot + i * block.n_segments(),
              true};
      return false;
    }
    i -= n_kv_heads_;
    slot += n_kv_heads_ * block.n_segments();
    return true;
  });
  LATTICE_DCHECK(unit.span != nullptr);
  return unit;
}

}  // namespace lattice::kernels
