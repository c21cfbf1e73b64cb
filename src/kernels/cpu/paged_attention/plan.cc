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
  ForBlocks([&](const Block& block) {
    total += block.ns;
    max_pairs_ =
        std::max(max_pairs_, (block.row_end - block.row_begin) * args.n_heads / n_kv_heads);
  });
  total_ns_ = total;
  // A unit above this share would leave other threads waiting for it.
  if (n_threads > 1) cut_ns_ = total / static_cast<double>(4 * n_threads);
  ForBlocks([&](const Block& block) {
    n_units_ += n_kv_heads_ * (block.cut ? block.n_segments() : 1);
    if (block.cut) {
      n_cut_ += n_kv_heads_;
      n_slots_ += n_kv_heads_ * block.n_segments();
    }
  });
}

std::size_t PagedPlan::NBlocks(const PagedSpan& span) const {
  return DivideUp(span.row_end - span.row_begin, rows_a_block_);
}

// The i-th block from the text's end.
PagedPlan::Block PagedPlan::BlockOf(const PagedSpan& span, std::size_t i) const {
  Block block;
  block.row_begin = span.row_begin + (NBlocks(span) - 1 - i) * rows_a_block_;
  block.row_end = std::min<std::size_t>(block.row_begin + rows_a_block_, span.row_end);
  const std::size_t first = span.first_position + (block.row_begin - span.row_begin);
  const std::size_t end = span.first_position + (block.row_end - span.row_begin);
  const std::size_t begin = args_.window != 0 && first > args_.window ? first - args_.window : 0;
  block.segment_begin = begin / kSegmentTokens;
  block.segment_end = DivideUp(end, kSegmentTokens);
  // Rough: what reading the keys and values takes, and the products of one thread.
  const auto keys = static_cast<double>(end - begin);
  const auto pairs = static_cast<double>((block.row_end - block.row_begin) * args_.n_heads);
  const auto dim = static_cast<double>(head_dim_);
  block.ns = keys * dim * (static_cast<double>(n_kv_heads_) / 8 + pairs / 50);
  block.cut = block.n_segments() > 1 && block.ns / static_cast<double>(n_kv_heads_) > cut_ns_;
  return block;
}

template <typename Seen>
void PagedPlan::ForBlocks(Seen seen) const {
  for (const PagedSpan& span : args_.spans) {
    for (std::size_t i = 0; i < NBlocks(span); ++i) seen(BlockOf(span, i));
  }
}

PagedCursor::PagedCursor(const PagedPlan& plan) : plan_(&plan) { ToBlock(); }

// Reads the block at hand; steps over texts without rows.
void PagedCursor::ToBlock() {
  const std::span<const PagedSpan> spans = plan_->args_.spans;
  while (span_ < spans.size() && block_index_ == plan_->NBlocks(spans[span_])) {
    ++span_;
    block_index_ = 0;
  }
  if (span_ < spans.size()) block_ = plan_->BlockOf(spans[span_], block_index_);
}

void PagedCursor::Next(std::size_t n_counted) {
  counted_ += n_counted;
  slots_ += n_slots();
  ++block_index_;
  ToBlock();
  LATTICE_DCHECK(span_ < plan_->args_.spans.size());
}

PagedUnit PagedCursor::Make(std::size_t kv_head, std::size_t slot) const {
  return {
      &plan_->args_.spans[span_], kv_head, block_.row_begin, block_.row_end, block_.segment_begin,
      block_.segment_end,         slot,    block_.cut};
}

PagedUnit PagedCursor::unit(std::size_t i) {
  const auto segments = [&] { return block_.cut ? block_.n_segments() : 1; };
  while (i - counted_ >= plan_->n_kv_heads_ * segments()) Next(plan_->n_kv_heads_ * segments());
  i -= counted_;
  PagedUnit unit = Make(i / segments(), slots_ + i);
  if (block_.cut) {
    unit.segment_begin += i % segments();
    unit.segment_end = unit.segment_begin + 1;
  }
  return unit;
}

PagedUnit PagedCursor::cut(std::size_t i) {
  const auto n = [&] { return block_.cut ? plan_->n_kv_heads_ : 0; };
  while (i - counted_ >= n()) Next(n());
  return Make(i - counted_, slots_ + (i - counted_) * block_.n_segments());
}

}  // namespace lattice::kernels
