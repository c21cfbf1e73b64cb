#include "kernels/cpu/paged_attention/paged_attention.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/paged_attention/plan.h"
#include "kernels/cpu/row_split.h"
#include "kernels/cpu/select.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

constexpr PagedAttentionVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kPagedAttentionAvx512},
    {"avx2", CpuFeature::kAvx2, &kPagedAttentionAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kPagedAttentionNeon},
#endif
    {"scalar", {}, &kPagedAttentionScalar},
};

constexpr double kStoreNs = 0.4;  // A number.
// Later rows of a text meet the lines of the first.
constexpr std::size_t kFetchedRows = 1;

std::size_t RoundUp(std::size_t n) { return (n + 15) / 16 * 16; }

std::size_t PartialFloats(std::size_t n_pairs, std::size_t padded_dim) {
  return 2 * RoundUp(n_pairs) + n_pairs * padded_dim;
}

PagedPartial PartialAt(float* memory, std::size_t n_pairs) {
  return {memory, memory + RoundUp(n_pairs), memory + 2 * RoundUp(n_pairs)};
}

void CheckShapes(const PagedAttentionArgs& args, const CpuKvPages& pages) {
  const KvShape& shape = pages.shape();
  LATTICE_CHECK(args.n_heads > 0 && args.n_heads % shape.n_kv_heads == 0);
  LATTICE_CHECK(args.q_col + args.n_heads * shape.head_dim <= args.q->cols());
  std::size_t row = 0;
  for (const PagedSpan& span : args.spans) {
    LATTICE_CHECK(span.row_begin == row && span.row_end >= row);
    const std::size_t n_rows = span.row_end - span.row_begin;
    LATTICE_CHECK(n_rows == 0 || span.pages.size() * kPageTokens >= span.first_position + n_rows);
    row = span.row_end;
    for (const std::uint32_t page : span.pages) LATTICE_CHECK(page < pages.n_pages());
  }
  LATTICE_CHECK(row == args.q->rows());
}

// What the workers of one call share.
class Call {
 public:
  Call(const PagedAttentionKernels& kernels, const PagedAttentionArgs& args, const PagedPlan& plan,
       CpuBuffer& out, float* slots)
      : kernels_(kernels),
        args_(args),
        pages_(AsCpu(*args.kv)),
        out_(out),
        slots_(slots),
        slot_floats_(PartialFloats(plan.max_pairs(), pages_.layout().padded_dim)) {}

  static std::size_t WorkerFloats(const PagedAttentionKernels& kernels, const PagedPlan& plan,
                                  const KvLayout& layout) {
    return 2 * PartialFloats(plan.max_pairs(), layout.padded_dim) +
           kernels.scratch_floats(layout, plan.max_pairs());
  }

  void RunUnit(const PagedUnit& unit, float* scratch) const {
    const PagedBlock block = BlockOf(unit);
    const std::size_t n_pairs = block.n_rows * block.n_heads;
    float* kernel_scratch = scratch + 2 * slot_floats_;
    if (unit.alone) {
      kernels_.segment(block, unit.segment_begin, kernel_scratch, Slot(unit.slot, n_pairs));
      return;
    }
    const PagedPartial next = PartialAt(scratch, n_pairs);
    const PagedPartial sum = PartialAt(scratch + slot_floats_, n_pairs);
    kernels_.clear(n_pairs, block.layout->padded_dim, sum);
    for (std::size_t s = unit.segment_begin; s < unit.segment_end; ++s) {
      kernels_.segment(block, s, kernel_scratch, next);
      kernels_.merge(next, n_pairs, block.layout->padded_dim, sum);
    }
    Finish(unit, block, sum);
  }

  void MergeCut(const PagedUnit& cut, float* scratch) const {
    const PagedBlock block = BlockOf(cut);
    const std::size_t n_pairs = block.n_rows * block.n_heads;
    const PagedPartial sum = PartialAt(scratch, n_pairs);
    kernels_.clear(n_pairs, block.layout->padded_dim, sum);
    for (std::size_t s = 0; s < cut.segment_end - cut.segment_begin; ++s) {
      kernels_.merge(Slot(cut.slot + s, n_pairs), n_pairs, block.layout->padded_dim, sum);
    }
    Finish(cut, block, sum);
  }

 private:
  std::size_t Group() const { return args_.n_heads / pages_.shape().n_kv_heads; }
  PagedPartial Slot(std::size_t slot, std::size_t n_pairs) const {
    return PartialAt(slots_ + slot * slot_floats_, n_pairs);
  }

  PagedBlock BlockOf(const PagedUnit& unit) const {
    const CpuBuffer& q = AsCpu(*args_.q);
    const KvLayout& layout = pages_.layout();
    const std::size_t before = unit.row_begin - unit.span->row_begin;
    return {.q = q.row(unit.row_begin) + args_.q_col + unit.kv_head * Group() * layout.dim,
            .q_stride = q.cols(),
            .n_rows = unit.n_rows(),
            .n_heads = Group(),
            .first_position = unit.span->first_position + static_cast<std::uint32_t>(before),
            .scale = args_.scale,
            .soft_cap = args_.soft_cap,
            .window = args_.window,
            .pages = pages_.page(0).data() + unit.kv_head * layout.head_bytes,
            .page_bytes = pages_.page_bytes(),
            .page_of = unit.span->pages.data(),
            .layout = &layout};
  }

  void Finish(const PagedUnit& unit, const PagedBlock& block, const PagedPartial& sum) const {
    kernels_.finish(sum, block,
                    out_.row(unit.row_begin) + unit.kv_head * Group() * pages_.layout().dim,
                    out_.cols());
  }

  const PagedAttentionKernels& kernels_;
  const PagedAttentionArgs& args_;
  const CpuKvPages& pages_;
  CpuBuffer& out_;
  float* slots_;
  std::size_t slot_floats_;
};

}  // namespace

std::span<const PagedAttentionVariant> PagedAttentionVariants() { return kVariants; }

const PagedAttentionKernels& SelectPagedAttention(CpuFeatures features) {
  return *SelectVariant(PagedAttentionVariants(), features).run;
}

void CpuPagedAttention::Store(ThreadPool& pool, const CpuBuffer& kv, std::size_t k_col,
                              std::size_t v_col, std::span<const std::uint32_t> slots,
                              CpuKvPages& pages) const {
  const std::size_t width = pages.shape().n_kv_heads * pages.shape().head_dim;
  LATTICE_CHECK(slots.size() == kv.rows() && std::max(k_col, v_col) + width <= kv.cols());
  for (const std::uint32_t slot : slots) LATTICE_CHECK(slot / kPageTokens < pages.n_pages());
  ForRows(pool, slots.size(), kStoreNs * 2 * static_cast<double>(width),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t r = begin; r < std::min(end, begin + kFetchedRows); ++r) {
              pages.FetchKeys(slots[r]);
            }
            for (std::size_t r = begin; r < end; ++r) {
              pages.Store(kernels_, kv.row(r) + k_col, kv.row(r) + v_col, slots[r]);
            }
          });
}

void CpuPagedAttention::Run(ThreadPool& pool, const PagedAttentionArgs& args, CpuBuffer& out) {
  const CpuKvPages& pages = AsCpu(*args.kv);
  CheckShapes(args, pages);
  const KvLayout& layout = pages.layout();
  out.Reshape(args.q->rows(), args.n_heads * layout.dim);
  const PagedPlan plan(args, pages.shape().n_kv_heads, layout.dim, pool.n_threads());
  const bool alone = plan.total_ns() <= kInlineNanoseconds;
  const std::size_t n_workers = alone ? 1 : pool.n_threads();
  std::unique_ptr<CallScratch> scratch = scratch_.Take(
      n_workers, Call::WorkerFloats(kernels_, plan, layout) * sizeof(float),
      plan.n_slots() * PartialFloats(plan.max_pairs(), layout.padded_dim) * sizeof(float));
  const Call call(kernels_, args, plan, out, scratch->shared.As<float>().data());
  ForEachUnit(pool, plan.n_units(), n_workers, *scratch, [&](float* memory) {
    return [&, memory, at = PagedCursor(plan)](std::size_t i) mutable {
      call.RunUnit(at.unit(i), memory);
    };
  });
  constexpr std::size_t kFewSlots = 64;  // Merged sooner than a thread wakes.
  const std::size_t n_mergers = plan.n_slots() < kFewSlots ? 1 : n_workers;
  if (plan.n_cut() > 0) {
    ForEachUnit(pool, plan.n_cut(), n_mergers, *scratch, [&](float* memory) {
      return [&, memory, at = PagedCursor(plan)](std::size_t i) mutable {
        call.MergeCut(at.cut(i), memory);
      };
    });
  }
  scratch_.GiveBack(std::move(scratch));
}

}  // namespace lattice::kernels
