#include "embed/text_batches.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "lattice/check.h"

namespace lattice::embed {
namespace {

constexpr std::size_t kWindowTexts = 1024;
constexpr std::size_t kWindowBytes = std::size_t{4} << 20;
// Less text than this is tokenised sooner than a second thread wakes up.
constexpr std::size_t kSerialBytes = 2048;

Error Cancelled() { return Error{ErrorCode::kCancelled, "embedding was cancelled"}; }

Error InText(std::size_t text, Error error) {
  return std::move(error).Within("text " + std::to_string(text));
}

// Packs texts of a window one after another.
class Packer {
 public:
  void Clear() {
    ids_.clear();
    type_ids_.clear();
    sequences_.clear();
    texts_.clear();
    second_segment_ = false;
  }
  void Add(std::size_t text, const tokenizers::Encoding& encoding) {
    const auto begin = static_cast<std::uint32_t>(ids_.size());
    ids_.insert(ids_.end(), encoding.ids.begin(), encoding.ids.end());
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      // A tokenizer whose template says nothing of segments may leave them out.
      const std::uint8_t type = i < encoding.type_ids.size() ? encoding.type_ids[i] : 0;
      second_segment_ |= type != 0;
      type_ids_.push_back(type);
    }
    sequences_.push_back({begin, static_cast<std::uint32_t>(ids_.size())});
    texts_.push_back(text);
  }
  std::size_t n_rows() const { return ids_.size(); }
  TextBatch batch() const {
    TextBatch batch;
    batch.rows.ids = ids_;
    if (second_segment_) batch.rows.type_ids = type_ids_;
    batch.rows.sequences = sequences_;
    batch.texts = texts_;
    return batch;
  }

 private:
  std::vector<TokenId> ids_;
  std::vector<std::uint8_t> type_ids_;
  std::vector<models::SequenceRows> sequences_;
  std::vector<std::size_t> texts_;
  bool second_segment_ = false;
};

Status CheckIds(const tokenizers::Encoding& encoding, std::size_t vocab) {
  for (const TokenId id : encoding.ids) {
    if (id >= 0 && static_cast<std::size_t>(id) < vocab) continue;
    return Error{ErrorCode::kCorruptData, "the tokenizer gives id " + std::to_string(id) +
                                              ", the model has " + std::to_string(vocab)};
  }
  for (const std::uint8_t type : encoding.type_ids) {
    if (type > 1) {
      return Error{ErrorCode::kCorruptData, "the tokenizer gives segment " + std::to_string(type)};
    }
  }
  return Ok();
}

// One run of ForEachTextBatch.
class Run {
 public:
  Run(const BatchingOptions& options, FunctionRef<Status(const TextBatch&)> compute)
      : options_(options), compute_(compute) {}

  // Computes texts [begin, begin + encodings.size()).
  Status Window(std::size_t begin, std::span<const tokenizers::Encoding> encodings) {
    order_.resize(encodings.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return encodings[a].ids.size() > encodings[b].ids.size();
    });
    for (const std::size_t i : order_) {
      const std::size_t n = encodings[i].ids.size();
      if (n == 0) {
        ++n_done_;  // Nothing to compute; the caller's row stays as it is.
        continue;
      }
      if (packer_.n_rows() != 0 && packer_.n_rows() + n > options_.max_batch_tokens) {
        LATTICE_TRY_VOID(Flush());
      }
      packer_.Add(begin + i, encodings[i]);
    }
    return packer_.n_rows() == 0 ? Ok() : Flush();
  }

 private:
  Status Flush() {
    if (options_.stop.stop_requested()) return Cancelled();
    const TextBatch batch = packer_.batch();
    LATTICE_TRY_VOID(compute_(batch));
    n_done_ += batch.texts.size();
    packer_.Clear();
    if (options_.progress != nullptr && *options_.progress) {
      (*options_.progress)(n_done_, options_.n_texts);
    }
    return Ok();
  }

  const BatchingOptions& options_;
  FunctionRef<Status(const TextBatch&)> compute_;
  Packer packer_;
  std::vector<std::size_t> order_;
  std::size_t n_done_ = 0;
};

}  // namespace

Status ForEachTextBatch(const BatchingOptions& options, ThreadPool& pool,
                        FunctionRef<std::size_t(std::size_t)> n_bytes,
                        FunctionRef<Result<tokenizers::Encoding>(std::size_t)> encode,
                        FunctionRef<Status(const TextBatch&)> compute, std::span<TextUsage> usage) {
  LATTICE_CHECK(usage.size() == options.n_texts);
  Run run(options, compute);
  std::vector<tokenizers::Encoding> encodings;
  std::vector<std::optional<Error>> errors;
  for (std::size_t begin = 0; begin < options.n_texts;) {
    if (options.stop.stop_requested()) return Cancelled();
    std::size_t end = begin;
    std::size_t bytes = 0;
    while (end < options.n_texts && end - begin < kWindowTexts &&
           (end == begin || bytes + n_bytes(end) <= kWindowBytes)) {
      bytes += n_bytes(end++);
    }
    encodings.assign(end - begin, {});
    errors.assign(end - begin, std::nullopt);
    const auto encode_one = [&](std::size_t i) {
      auto encoding = encode(begin + i);
      if (encoding) {
        encodings[i] = *std::move(encoding);
      } else {
        errors[i] = std::move(encoding).error();
      }
    };
    if (bytes <= kSerialBytes) {
      for (std::size_t i = 0; i < end - begin; ++i) encode_one(i);
    } else {
      pool.ParallelEach(end - begin, encode_one);
    }
    for (std::size_t i = 0; i < end - begin; ++i) {
      if (errors[i]) return InText(begin + i, *std::move(errors[i]));
      if (const Status ids = CheckIds(encodings[i], options.vocab); !ids) {
        return InText(begin + i, ids.error());
      }
      usage[begin + i] = {encodings[i].ids.size(), encodings[i].n_tokens_untruncated};
    }
    LATTICE_TRY_VOID(run.Window(begin, encodings));
    begin = end;
  }
  return Ok();
}

}  // namespace lattice::embed
