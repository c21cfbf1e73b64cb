#include "weights/tensor_jobs.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>

#include "lattice/check.h"
#include "numeric/narrow.h"
#include "weights/json_scanner.h"

namespace lattice::weights {
namespace {

constexpr std::size_t kSliceElements = std::size_t{1} << 22;
constexpr std::size_t kChunkElements = std::size_t{1} << 15;  // 128 KiB of f32: stays in a cache
constexpr std::size_t kCopyBytes = std::size_t{16} << 20;

/// A value that the result cannot hold.
struct BadValue {
  std::size_t element = 0;
  float value = 0;
};

/// A tensor as rows that can be converted one by one.
struct RowShape {
  std::size_t n_rows = 0, width = 0;
};

/// Where rows keep their places, their borders are free: short ones keep the slices small, however
/// long those of the tensor are.
RowShape RowsOf(const TensorJob& job) {
  const std::size_t n = job.source.n_elements();
  const std::size_t row = job.spec.shape.size() < 2 ? 1 : job.spec.shape.back();
  if (!job.row_order.empty() || !job.column_order.empty()) return {row == 0 ? 0 : n / row, row};
  for (const std::size_t width : {std::size_t{256}, std::size_t{32}}) {
    if (n % width == 0 && row % width == 0) return {n / width, width};
  }
  return {n, 1};
}

class Converter {
 public:
  Converter(const TensorJob& job, RowShape rows) : job_(job), rows_(rows) {}

  /// Rows [begin, end) of the result. Of all that cannot be stored, the first is kept.
  void Convert(std::size_t begin, std::size_t end, std::span<std::byte> out) {
    std::vector<float> values((end - begin) * rows_.width);
    Widen(begin, end, values);
    if (!job_.column_order.empty()) OrderColumns(values);
    if (job_.negated_exponential) {
      for (float& v : values) v = -std::exp(v);
    }
    if (job_.added != 0) {
      for (float& v : values) v += job_.added;
    }
    if (const auto bad = FindUnstorable(job_.spec.dtype, values)) {
      Keep({begin * rows_.width + *bad, values[*bad]});
    } else {
      NarrowFromF32(job_.spec.dtype, values, out);
    }
  }

  const std::optional<BadValue>& bad() const { return bad_; }

 private:
  void Widen(std::size_t begin, std::size_t end, std::span<float> values) const {
    const Dtype dtype = job_.source.dtype;
    if (job_.row_order.empty()) {
      return WidenToF32(dtype, job_.source.bytes.subspan(StorageBytes(dtype, begin * rows_.width)),
                        values);
    }
    const std::size_t stride = StorageBytes(dtype, rows_.width);
    for (std::size_t i = begin; i < end; ++i) {
      WidenToF32(dtype, job_.source.bytes.subspan(job_.row_order[i] * stride, stride),
                 values.subspan((i - begin) * rows_.width, rows_.width));
    }
  }

  void OrderColumns(std::span<float> values) const {
    std::vector<float> row(rows_.width);
    for (std::size_t at = 0; at < values.size(); at += row.size()) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(at), row.size(), row.begin());
      for (std::size_t i = 0; i < row.size(); ++i) values[at + i] = row[job_.column_order[i]];
    }
  }

  void Keep(BadValue bad) {
    const std::lock_guard lock(mutex_);
    if (!bad_ || bad.element < bad_->element) bad_ = bad;
  }

  const TensorJob& job_;
  RowShape rows_;
  std::mutex mutex_;
  std::optional<BadValue> bad_;
};

class Run {
 public:
  Run(const Checkpoint& checkpoint, ThreadPool& pool, const TensorJobOptions& options,
      GgufWriter& writer, std::size_t total)
      : checkpoint_(checkpoint), pool_(pool), options_(options), writer_(writer), total_(total) {}

  Status Copy(const TensorView& source) {
    for (std::size_t at = 0; at < source.bytes.size(); at += kCopyBytes) {
      const std::size_t n = std::min(kCopyBytes, source.bytes.size() - at);
      LATTICE_TRY_VOID(writer_.Append(source.bytes.subspan(at, n)));
      LATTICE_TRY_VOID(EndSlice(source.bytes.subspan(at, n)));
    }
    return Ok();
  }

  Status Convert(const TensorJob& job) {
    const RowShape rows = RowsOf(job);
    const std::size_t slice =
        std::max<std::size_t>(1, kSliceElements / std::max(rows.width, std::size_t{1}));
    for (std::size_t begin = 0; begin < rows.n_rows; begin += slice) {
      const std::size_t end = std::min(begin + slice, rows.n_rows);
      LATTICE_TRY_VOID(ConvertSlice(job, rows, begin, end));
    }
    return Ok();
  }

 private:
  Status ConvertSlice(const TensorJob& job, RowShape rows, std::size_t begin, std::size_t end) {
    const std::size_t row_bytes = StorageBytes(job.spec.dtype, rows.width);
    const std::size_t chunk = std::max<std::size_t>(1, kChunkElements / rows.width);
    out_.resize((end - begin) * row_bytes);
    Converter converter(job, rows);
    pool_.ParallelEach((end - begin + chunk - 1) / chunk, [&](std::size_t i) {
      const std::size_t first = begin + i * chunk, last = std::min(first + chunk, end);
      converter.Convert(
          first, last,
          std::span(out_).subspan((first - begin) * row_bytes, (last - first) * row_bytes));
    });
    if (converter.bad()) return Unstorable(job, *converter.bad());
    LATTICE_TRY_VOID(writer_.Append(out_));
    // Rows in another order come from anywhere: what was read counts, not what is let go.
    const std::size_t stride = StorageBytes(job.source.dtype, rows.width);
    return EndSlice(job.source.bytes.subspan(begin * stride, (end - begin) * stride));
  }

  static Error Unstorable(const TensorJob& job, const BadValue& bad) {
    return Error{ErrorCode::kCorruptData,
                 "tensor " + Quoted(job.spec.name) + ": element " + std::to_string(bad.element) +
                     " is " + std::to_string(bad.value) + ", which " +
                     std::string(DtypeName(job.spec.dtype)) + " cannot hold"};
  }

  Status EndSlice(std::span<const std::byte> read) {
    checkpoint_.Release(read);
    done_ += read.size();
    if (options_.progress) options_.progress(options_.what, done_, total_);
    if (options_.stop.stop_requested()) return Error{ErrorCode::kCancelled, "interrupted"};
    return Ok();
  }

  const Checkpoint& checkpoint_;
  ThreadPool& pool_;
  const TensorJobOptions& options_;
  GgufWriter& writer_;
  std::size_t total_, done_ = 0;
  std::vector<std::byte> out_;
};

}  // namespace

bool TensorJob::IsCopy() const {
  return spec.dtype == source.dtype && row_order.empty() && column_order.empty() && added == 0 &&
         !negated_exponential;
}

Status RunTensorJobs(std::span<const TensorJob> jobs, const Checkpoint& checkpoint,
                     ThreadPool& pool, const TensorJobOptions& options, GgufWriter& writer) {
  std::size_t total = 0;
  for (const TensorJob& job : jobs) total += job.source_bytes();
  Run run(checkpoint, pool, options, writer, total);
  for (const TensorJob& job : jobs) {
    if (!job.IsCopy() && !IsWeight(job.source.dtype)) {
      return Error{ErrorCode::kUnsupported, "tensor " + Quoted(job.spec.name) + " of " +
                                                std::string(DtypeName(job.source.dtype)) +
                                                " cannot become weights"};
    }
    LATTICE_CHECK(job.IsCopy() || CanNarrow(job.spec.dtype));
    TensorJob part = job;
    part.more.clear();
    for (std::size_t i = 0; i <= job.more.size(); ++i) {
      if (i > 0) part.source = job.more[i - 1];
      LATTICE_TRY_VOID(job.IsCopy() ? run.Copy(part.source) : run.Convert(part));
    }
  }
  return Ok();
}

}  // namespace lattice::weights
