#include "kernels/cpu/attention/attention.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "kernels/cpu/row_split.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

constexpr AttentionVariant kVariants[] = {
#if defined(__x86_64__)
    {"amx_bf16", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Bf16 | CpuFeature::kAmxBf16,
     &kAttentionAmxBf16},
    {"avx512bf16", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Bf16,
     &kAttentionAvx512Bf16},
    {"avx512", CpuFeature::kAvx512, &kAttentionAvx512},
    {"avx2", CpuFeature::kAvx2, &kAttentionAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kAttentionNeon},
#endif
    {"scalar", {}, &kAttentionScalar},
};

// Most queries of one unit of work: enough to make packing the keys cheap.
constexpr std::size_t kUnitQueries = 192;

// Floats until the next multiple of 64 bytes.
std::size_t Aligned(std::size_t n_floats) { return (n_floats + 15) / 16 * 16; }

std::size_t BytesFor(const AttentionArgs& args, const AttentionKernels& kernels,
                     std::size_t n_keys) {
  return (Aligned(kernels.key_floats(n_keys, args.head_dim)) +
          Aligned(kernels.value_floats(n_keys, args.head_dim)) +
          kernels.scratch_floats(args.head_dim)) *
         sizeof(float);
}

// The kernels for a call, and for its texts of few keys.
struct KernelChoice {
  const AttentionKernels& many;
  const AttentionKernels& few;

  const AttentionKernels& For(std::size_t n_keys) const {
    return n_keys <= many.few_keys ? few : many;
  }
};

// What a worker needs for the longest text.
std::size_t WorkerBytes(const AttentionArgs& args, const KernelChoice& kernels) {
  std::size_t n_keys = 0;
  for (const AttentionSpan& span : args.spans) {
    n_keys = std::max<std::size_t>(n_keys, span.key_end - span.key_begin);
  }
  return std::max(BytesFor(args, kernels.many, n_keys),
                  BytesFor(args, kernels.few, std::min(n_keys, kernels.many.few_keys)));
}

// A block of queries of one text, for all query heads of one key head.
struct Unit {
  const AttentionSpan* span;
  std::size_t kv_head;
  std::size_t query_begin, query_end;
};

// The units of a call in order, cut into pieces of nearly equal time.
class Plan {
 public:
  Plan(const AttentionArgs& args, std::size_t n_workers) : args_(args) {
    for (const AttentionSpan& span : args.spans) total_ns_ += SpanNs(span);
    // Some pieces a worker, so that a disturbed one leaves work to the others.
    constexpr double kPieceNs = 20000;
    if (n_workers > 1 && total_ns_ > kInlineNanoseconds) {
      n_pieces_ =
          std::clamp(static_cast<std::size_t>(total_ns_ / kPieceNs), n_workers, 4 * n_workers);
    }
  }

  std::size_t n_pieces() const { return n_pieces_; }

  /// Calls body(unit) for the units whose middle, in time, lies in the piece.
  template <typename Body>
  void ForPiece(std::size_t piece, Body body) const {
    const double begin = Border(piece), end = Border(piece + 1);
    double at = 0;
    for (const AttentionSpan& span : args_.spans) {
      const double span_ns = SpanNs(span);
      const std::size_t n_blocks = NBlocks(span), n_queries = span.query_end - span.query_begin;
      const double unit_ns = span_ns / static_cast<double>(n_blocks * args_.n_kv_heads);
      if (at + span_ns > begin && at < end) {
        for (std::size_t u = 0; u < n_blocks * args_.n_kv_heads; ++u) {
          const double middle = at + (static_cast<double>(u) + 0.5) * unit_ns;
          if (middle < begin || middle >= end) continue;
          const std::size_t block = u % n_blocks;
          body(Unit{&span, u / n_blocks, span.query_begin + n_queries * block / n_blocks,
                    span.query_begin + n_queries * (block + 1) / n_blocks});
        }
      }
      at += span_ns;
    }
  }

 private:
  double Border(std::size_t piece) const {
    if (piece == n_pieces_) return 2 * total_ns_ + 1;  // Beyond any rounding.
    return total_ns_ * static_cast<double>(piece) / static_cast<double>(n_pieces_);
  }
  static std::size_t NBlocks(const AttentionSpan& span) {
    const std::size_t n_queries = span.query_end - span.query_begin;
    return std::max<std::size_t>(1, (n_queries + kUnitQueries - 1) / kUnitQueries);
  }
  // Rough: 30 multiply-adds a nanosecond, and the packing.
  double SpanNs(const AttentionSpan& span) const {
    const std::size_t n_keys = span.key_end - span.key_begin;
    const std::size_t n_queries = span.query_end - span.query_begin;
    if (n_keys == 0 || n_queries == 0) return 0;
    const std::size_t seen =
        args_.window == 0 ? n_keys : std::min<std::size_t>(n_keys, 2 * args_.window + kTileKeys);
    const double products = static_cast<double>(n_queries) * static_cast<double>(seen) *
                            static_cast<double>(args_.n_heads * (args_.head_dim + 16));
    const double packing = 8.0 * static_cast<double>(n_keys * args_.n_kv_heads * args_.head_dim);
    return (products + packing) / 15;
  }

  const AttentionArgs& args_;
  double total_ns_ = 0;
  std::size_t n_pieces_ = 1;
};

// Does the units of one worker.
class Worker {
 public:
  Worker(const KernelChoice& choice, const AttentionArgs& args, CpuBuffer& out,
         AlignedBuffer& memory)
      : choice_(choice), args_(args), out_(out), memory_(memory) {}
  ~Worker() { Use(nullptr); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Run(const Unit& unit) {
    if (unit.span != span_ || unit.kv_head != kv_head_) Pack(unit);
    const CpuBuffer& q = AsCpu(*args_.q);
    const std::size_t dim = args_.head_dim, group = args_.n_heads / args_.n_kv_heads;
    for (std::size_t head = unit.kv_head * group; head < (unit.kv_head + 1) * group; ++head) {
      const HeadQueries queries = {.q = q.row(unit.query_begin) + args_.q_col + head * dim,
                                   .q_stride = q.cols(),
                                   .n_queries = unit.query_end - unit.query_begin,
                                   .index = args_.query_index.data() + unit.query_begin,
                                   .scale = args_.scale,
                                   .causal = args_.causal,
                                   .window = args_.window,
                                   .out = out_.row(unit.query_begin) + head * dim,
                                   .out_stride = out_.cols()};
      kernels_->attend(queries, packed_, scratch_);
    }
  }

 private:
  void Use(const AttentionKernels* kernels) {
    if (kernels == kernels_) return;
    if (kernels_ != nullptr && kernels_->leave != nullptr) kernels_->leave();
    if (kernels != nullptr && kernels->enter != nullptr) kernels->enter();
    kernels_ = kernels;
  }

  void Pack(const Unit& unit) {
    span_ = unit.span;
    kv_head_ = unit.kv_head;
    const std::size_t n_keys = span_->key_end - span_->key_begin, dim = args_.head_dim;
    Use(&choice_.For(n_keys));
    const std::size_t key_floats = Aligned(kernels_->key_floats(n_keys, dim));
    const std::size_t value_floats = Aligned(kernels_->value_floats(n_keys, dim));
    float* keys = memory_.As<float>().data();
    float* values = keys + key_floats;
    scratch_ = values + value_floats;
    const CpuBuffer& kv = AsCpu(*args_.kv);
    const float* k = kv.row(span_->key_begin) + args_.k_col + kv_head_ * dim;
    const float* v = kv.row(span_->key_begin) + args_.v_col + kv_head_ * dim;
    kernels_->pack_keys(k, kv.cols(), n_keys, dim, keys);
    if (kernels_->per_slot == 1 && dim % 16 == 0 &&
        n_keys <= kTileKeys) {  // Read too seldom to be worth a copy.
      packed_ = {keys, v, kv.cols(), n_keys, dim};
    } else {
      kernels_->pack_values(v, kv.cols(), n_keys, dim, values);
      packed_ = {keys, values, Aligned(dim), n_keys, dim};
    }
  }

  const KernelChoice& choice_;
  const AttentionKernels* kernels_ = nullptr;
  const AttentionArgs& args_;
  CpuBuffer& out_;
  AlignedBuffer& memory_;
  const AttentionSpan* span_ = nullptr;
  std::size_t kv_head_ = 0;
  PackedKeys packed_ = {};
  float* scratch_ = nullptr;
};

void CheckShapes(const AttentionArgs& args) {
  LATTICE_CHECK(args.n_kv_heads > 0 && args.n_heads % args.n_kv_heads == 0 && args.head_dim > 0);
  LATTICE_CHECK(args.q_col + args.n_heads * args.head_dim <= args.q->cols());
  LATTICE_CHECK(std::max(args.k_col, args.v_col) + args.n_kv_heads * args.head_dim <=
                args.kv->cols());
  LATTICE_CHECK(args.query_index.size() == args.q->rows());
  for (const AttentionSpan& span : args.spans) {
    LATTICE_CHECK(span.query_begin <= span.query_end && span.query_end <= args.q->rows());
    LATTICE_CHECK(span.key_begin <= span.key_end && span.key_end <= args.kv->rows());
    for (std::size_t r = span.query_begin; r < span.query_end; ++r) {
      LATTICE_CHECK(args.query_index[r] < span.key_end - span.key_begin);
    }
  }
}

}  // namespace

std::span<const AttentionVariant> AttentionVariants() { return kVariants; }

const AttentionKernels& SelectAttention(CpuFeatures features, Precision precision) {
  std::size_t i = 0;
  while (!features.Has(kVariants[i].needs) ||
         (precision == Precision::kF32 && kVariants[i].run->per_slot != 1)) {
    ++i;
  }
  return *kVariants[i].run;
}

void CpuAttention::Run(ThreadPool& pool, const AttentionArgs& args, CpuBuffer& out) {
  CheckShapes(args);
  const KernelChoice kernels = {args.precision == Precision::kF32 ? exact_ : rounded_, exact_};
  out.Reshape(args.q->rows(), args.n_heads * args.head_dim);
  const Plan plan(args, pool.n_threads());
  const std::size_t n_workers = plan.n_pieces() == 1 ? 1 : pool.n_threads();
  std::unique_ptr<Scratch> scratch = TakeScratch(n_workers, WorkerBytes(args, kernels));
  std::atomic<std::size_t> next{0};
  const auto work = [&](std::size_t w) {
    Worker worker(kernels, args, out, (*scratch)[w]);
    for (std::size_t p = next.fetch_add(1); p < plan.n_pieces(); p = next.fetch_add(1)) {
      plan.ForPiece(p, [&](const Unit& unit) { worker.Run(unit); });
    }
  };
  if (n_workers == 1) {
    work(0);
  } else {
    pool.Share(work);
  }
  GiveBack(std::move(scratch));
}

std::unique_ptr<CpuAttention::Scratch> CpuAttention::TakeScratch(std::size_t n_workers,
                                                                 std::size_t worker_bytes) {
  std::unique_ptr<Scratch> scratch;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      scratch = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (scratch == nullptr) scratch = std::make_unique<Scratch>();
  if (scratch->size() < n_workers) scratch->resize(n_workers);
  for (AlignedBuffer& memory : *scratch) {
    if (memory.size() < worker_bytes) memory = AlignedBuffer(worker_bytes);
  }
  return scratch;
}

void CpuAttention::GiveBack(std::unique_ptr<Scratch> scratch) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(scratch));
}

}  // namespace lattice::kernels
