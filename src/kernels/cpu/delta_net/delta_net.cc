#include "kernels/cpu/delta_net/delta_net.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/row_split.h"
#include "kernels/cpu/select.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

constexpr DeltaNetVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kDeltaNetAvx512},
    {"avx2", CpuFeature::kAvx2, &kDeltaNetAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kDeltaNetNeon},
#endif
    {"scalar", {}, &kDeltaNetScalar},
};

void CheckShapes(const DeltaNetArgs& args) {
  const DeltaNetShape& shape = args.shape;
  LATTICE_CHECK(args.weights.conv->size() == shape.conv_width() * shape.conv_kernel);
  LATTICE_CHECK(args.weights.decay->size() == shape.n_value_heads);
  LATTICE_CHECK(args.weights.dt_bias->size() == shape.n_value_heads);
  LATTICE_CHECK(args.qkv_col + shape.conv_width() <= args.x->cols());
  LATTICE_CHECK(std::max(args.beta_col, args.decay_col) + shape.n_value_heads <= args.x->cols());
  LATTICE_CHECK(args.weights.gain == nullptr ||
                (args.weights.gain->size() == shape.value_dim &&
                 args.gate_col + shape.value_width() <= args.x->cols()));
  std::size_t row = 0;
  for (const DeltaNetSpan& span : args.spans) {
    LATTICE_CHECK(span.row_begin == row && span.row_end >= row && span.state->shape() == shape);
    row = span.row_end;
  }
  LATTICE_CHECK(row == args.x->rows());
}

// Up to so many rows the state comes from memory for them alone.
constexpr std::size_t kFewRows = 2;
constexpr std::size_t kLineFloats = 16, kStartFloats = 1024;

// One key head of one text, with its value heads.
class Unit {
 public:
  Unit(const DeltaNetKernelSet& kernels, const DeltaNetArgs& args, const DeltaNetSpan& span,
       std::size_t key_head, CpuBuffer& out, float* scratch)
      : kernels_(kernels),
        args_(args),
        shape_(args.shape),
        span_(span),
        state_(AsCpu(*span.state)),
        key_head_(key_head),
        out_(out),
        key_(state_.padded_key()),
        value_(state_.padded_value()),
        rows_(scratch),
        products_(rows_ + 2 * kChunkRows * key_),
        values_(products_ + 2 * kChunkRows * kChunkRows),
        beta_(values_ + kChunkRows * value_),
        kernel_scratch_(beta_ + kChunkRows) {}

  static std::size_t ScratchFloats(const DeltaNetShape& shape) {
    const std::size_t key = (shape.key_dim + 15) / 16 * 16,
                      value = (shape.value_dim + 15) / 16 * 16;
    return kChunkRows * (2 * key + 2 * kChunkRows + value + 1) + ValuesScratchFloats(key);
  }

  void Run() {
    std::size_t position = state_.n_tokens();
    for (std::size_t row = span_.row_begin; row < span_.row_end;) {
      const std::size_t first = position % kChunkRows;
      const std::size_t n = std::min(kChunkRows - first, span_.row_end - row);
      RunRows(row, first, n);
      row += n;
      position += n;
    }
  }

 private:
  // Rows [first, first + n) of a chunk, the row'th and following of the call.
  void RunRows(std::size_t row, std::size_t first, std::size_t n) {
    if (n <= kFewRows) Fetch(first);
    float* query_window = state_.query_window(key_head_);
    float* key_window = state_.key_window(key_head_);
    const std::size_t key_col = shape_.key_width() + key_head_ * shape_.key_dim;
    Convolve(row, first, n, key_head_ * shape_.key_dim, shape_.key_dim, query_window,
             rows_ + n * key_);
    Convolve(row, first, n, key_col, shape_.key_dim, key_window, rows_);
    kernels_.rule.keys({.key_dim = shape_.key_dim,
                        .padded = key_,
                        .first = first,
                        .n = n,
                        .rows = rows_,
                        .chunk_keys = state_.chunk_keys(key_head_),
                        .products = products_});
    for (std::size_t i = 0; i < Group(); ++i) {
      RunValueHead(row, first, n, ValueHead(i));
    }
  }

  std::size_t Group() const { return shape_.n_value_heads / shape_.n_key_heads; }
  // The i-th value head of the key head.
  std::size_t ValueHead(std::size_t i) const {
    return shape_.order == KeyHeadOrder::kBlocked ? key_head_ * Group() + i
                                                  : key_head_ + i * shape_.n_key_heads;
  }

  // Asks for what row `first` of a chunk reads beside the state proper, and for the state's start:
  // small pieces in many places, which would come from memory one after another.
  [[gnu::always_inline]] void Fetch(std::size_t first) {
    const std::size_t window = shape_.conv_kernel - 1;
    FetchFloats(state_.query_window(key_head_) + first * key_, window * key_);
    FetchFloats(state_.key_window(key_head_) + first * key_, window * key_);
    FetchFloats(state_.chunk_keys(key_head_), (first / 16 + 1) * 16 * shape_.key_dim);
    for (std::size_t i = 0; i < Group(); ++i) {
      const std::size_t head = ValueHead(i);
      FetchFloats(state_.value_window(head) + first * value_, window * value_);
      FetchFloats(state_.state(head), kStartFloats);
      for (std::size_t p = 0; p < value_; p += kDeltaPanel) {
        FetchFloats(state_.u(head) + p * kChunkRows, first * std::min(kDeltaPanel, value_ - p));
      }
    }
  }
  // Always inline: g++ 12 takes a function that only prefetches for one without effect.
  [[gnu::always_inline]] static void FetchFloats(const float* p, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kLineFloats) __builtin_prefetch(p + i);
  }

  void RunValueHead(std::size_t row, std::size_t first, std::size_t n, std::size_t head) {
    const CpuBuffer& x = AsCpu(*args_.x);
    Convolve(row, first, n, 2 * shape_.key_width() + head * shape_.value_dim, shape_.value_dim,
             state_.value_window(head), values_);
    kernels_.rule.gates({.beta = x.row(row) + args_.beta_col + head,
                         .decay = x.row(row) + args_.decay_col + head,
                         .x_stride = x.cols(),
                         .decay_scale = AsCpu(*args_.weights.decay).data()[head],
                         .dt_bias = AsCpu(*args_.weights.dt_bias).data()[head],
                         .n = n,
                         .beta_out = beta_,
                         .g_out = state_.g(head) + first});
    NextRows next = RowsAfter(row + n, head);
    const ValuesArgs values = {.key_dim = shape_.key_dim,
                               .padded_key = key_,
                               .value_dim = shape_.value_dim,
                               .padded_value = value_,
                               .first = first,
                               .n = n,
                               .rows = rows_,
                               .products = products_,
                               .chunk_keys = state_.chunk_keys(key_head_),
                               .values = values_,
                               .beta = beta_,
                               .g = state_.g(head),
                               .state = state_.state(head),
                               .u = state_.u(head),
                               .scratch = kernel_scratch_,
                               .out = out_.row(row) + head * shape_.value_dim,
                               .out_stride = out_.cols(),
                               .next = &next};
    kernels_.rule.values(values);
    if (first + n == kChunkRows) kernels_.rule.fold(values);
    if (args_.weights.gain != nullptr) NormAndGate(row, n, head * shape_.value_dim);
  }

  // The chunk from `row` on, for the value head and its key head.
  NextRows RowsAfter(std::size_t row, std::size_t head) const {
    NextRows next;
    next.n_rows = std::min(kChunkRows, span_.row_end - row);
    if (next.n_rows == 0) return next;
    const CpuBuffer& x = AsCpu(*args_.x);
    const auto add = [&](const CpuBuffer& buffer, std::size_t col, std::size_t n_floats) {
      next.pieces[next.n_pieces++] = {buffer.row(row) + col, buffer.cols(), n_floats};
    };
    const std::size_t key = args_.qkv_col + key_head_ * shape_.key_dim;
    const std::size_t value = head * shape_.value_dim;
    add(x, key, shape_.key_dim);
    add(x, key + shape_.key_width(), shape_.key_dim);
    add(x, args_.qkv_col + 2 * shape_.key_width() + value, shape_.value_dim);
    add(x, args_.beta_col + head, 1);
    add(x, args_.decay_col + head, 1);
    add(out_, value, shape_.value_dim);
    if (args_.weights.gain != nullptr) add(x, args_.gate_col + value, shape_.value_dim);
    return next;
  }

  // The value head at `col` of n rows of the output, which the cache still holds.
  void NormAndGate(std::size_t row, std::size_t n, std::size_t col) {
    const CpuBuffer& x = AsCpu(*args_.x);
    const std::size_t dim = shape_.value_dim;
    float* out = out_.row(row) + col;
    kernels_.norm.rms_norm(out, nullptr, AsCpu(*args_.weights.gain).data(), args_.norm_eps, n, dim,
                           out_.cols(), out);
    for (std::size_t r = row; r < row + n; ++r) {
      float* head = out_.row(r) + col;
      kernels_.activation.gate_silu(x.row(r) + args_.gate_col + col, head, dim, head);
    }
  }

  void Convolve(std::size_t row, std::size_t first, std::size_t n, std::size_t channel,
                std::size_t dim, float* window, float* out) {
    const CpuBuffer& x = AsCpu(*args_.x);
    kernels_.rule.convolve(
        {.x = x.row(row) + args_.qkv_col + channel,
         .x_stride = x.cols(),
         .taps_of = AsCpu(*args_.weights.conv).Transposed(shape_.conv_kernel) + channel,
         .taps_stride = shape_.conv_width(),
         .taps = shape_.conv_kernel,
         .dim = dim,
         .padded = dim == shape_.key_dim ? key_ : value_,
         .first = first,
         .n = n,
         .window = window,
         .out = out});
  }

  const DeltaNetKernelSet& kernels_;
  const DeltaNetArgs& args_;
  const DeltaNetShape& shape_;
  const DeltaNetSpan& span_;
  CpuDeltaNetState& state_;
  std::size_t key_head_;
  CpuBuffer& out_;
  std::size_t key_, value_;  // Padded dimensions.
  float* rows_;              // See variants.h.
  float* products_;
  float* values_;
  float* beta_;
  float* kernel_scratch_;
};

// Rough: what a row of one value head takes.
double HeadNs(const DeltaNetShape& shape) {
  return 200 + static_cast<double>(shape.key_dim * shape.value_dim) / 8;
}

}  // namespace

std::span<const DeltaNetVariant> DeltaNetVariants() { return kVariants; }

const DeltaNetKernels& SelectDeltaNet(CpuFeatures features) {
  return *SelectVariant(DeltaNetVariants(), features).run;
}

void CpuDeltaNet::Run(ThreadPool& pool, const DeltaNetArgs& args, CpuBuffer& out) {
  CheckShapes(args);
  out.Reshape(args.x->rows(), args.shape.value_width());
  const double total_ns =
      HeadNs(args.shape) * static_cast<double>(args.x->rows() * args.shape.n_value_heads);
  const std::size_t n_workers = total_ns <= kInlineNanoseconds ? 1 : pool.n_threads();
  std::unique_ptr<CallScratch> scratch =
      scratch_.Take(n_workers, Unit::ScratchFloats(args.shape) * sizeof(float), 0);
  const std::size_t n_heads = args.shape.n_key_heads;
  ForEachUnit(pool, args.spans.size() * n_heads, n_workers, *scratch, [&](float* memory) {
    return [&, memory](std::size_t i) {
      Unit(kernels_, args, args.spans[i / n_heads], i % n_heads, out, memory).Run();
    };
  });
  for (const DeltaNetSpan& span : args.spans) {
    AsCpu(*span.state).Advance(span.row_end - span.row_begin);
  }
  scratch_.GiveBack(std::move(scratch));
}

}  // namespace lattice::kernels
