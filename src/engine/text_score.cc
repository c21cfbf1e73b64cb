#include "engine/text_score.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "models/model.h"
#include "models/sequence.h"

namespace lattice::engine {
namespace {

constexpr std::size_t kChunk = 512;     // rows of one pass
constexpr std::size_t kLogitRows = 32;  // rows of logits held at once

/// One model reading window after window.
class WindowReader {
 public:
  static Result<WindowReader> Make(const TextModel& model, const ScoreOptions& options,
                                   kernels::Backend& backend) {
    LATTICE_TRY(auto store, models::SequenceStore::Make(model.model->state_shape(), backend,
                                                        {options.kv_type, options.window}));
    return WindowReader(model, std::move(store), backend);
  }

  /// Starts a window.
  void Begin() { sequence_ = store_->New(); }

  /// Reads ids; the hidden states of those from `first` on can be asked for then.
  Status Read(std::span<const TokenId> ids, std::size_t first) {
    LATTICE_TRY_VOID(sequence_->Reserve(ids.size()));
    const models::SequenceRows rows{0, static_cast<std::uint32_t>(ids.size())};
    wanted_.resize(ids.size() - first);
    std::iota(wanted_.begin(), wanted_.end(), static_cast<std::uint32_t>(first));
    models::Sequence* const states[] = {sequence_.get()};
    hidden_ = &model_->Forward({ids, {}, {&rows, 1}, wanted_, states}, *workspace_);
    return Ok();
  }

  /// Logits of n of those rows, from `begin` on: [n, vocab].
  std::span<const float> Logits(std::size_t begin, std::size_t n) {
    rows_.resize(n);
    std::iota(rows_.begin(), rows_.end(), static_cast<std::uint32_t>(begin));
    backend_->GatherRows(*hidden_, rows_, *some_);
    const kernels::Buffer& logits = model_->Logits(*some_, {}, *workspace_);
    values_.resize(logits.rows() * logits.cols());
    backend_->Read(logits, values_);
    return values_;
  }

 private:
  WindowReader(const TextModel& model, std::shared_ptr<models::SequenceStore> store,
               kernels::Backend& backend)
      : model_(model.model),
        backend_(&backend),
        store_(std::move(store)),
        workspace_(std::make_unique<models::Workspace>(backend)),
        some_(backend.MakeBuffer()) {}

  std::shared_ptr<const models::Model> model_;
  kernels::Backend* backend_;
  std::shared_ptr<models::SequenceStore> store_;
  std::unique_ptr<models::Sequence> sequence_;
  std::unique_ptr<models::Workspace> workspace_;
  std::unique_ptr<kernels::Buffer> some_;
  const kernels::Buffer* hidden_ = nullptr;
  std::vector<std::uint32_t> wanted_, rows_;
  std::vector<float> values_;
};

double LogSumExp(std::span<const float> row) {
  const float largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x - largest));
  return static_cast<double>(largest) + std::log(sum);
}

/// Sums over all guessed tokens.
class Totals {
 public:
  Status Add(std::span<const float> logits, TokenId next) {
    const double nll =
        LogSumExp(logits) - static_cast<double>(logits[static_cast<std::size_t>(next)]);
    if (!std::isfinite(nll)) {
      return Error{ErrorCode::kCorruptData, "the model's logits are not finite"};
    }
    ++n_;
    nll_ += nll;
    nll_squares_ += nll * nll;
    return Ok();
  }

  Status Compare(std::span<const float> logits, std::span<const float> reference, TokenId next) {
    const double z = LogSumExp(logits), z_reference = LogSumExp(reference);
    double kl = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double log_p = static_cast<double>(reference[i]) - z_reference;
      kl += std::exp(log_p) * (log_p - (static_cast<double>(logits[i]) - z));
    }
    if (!std::isfinite(kl)) {
      return Error{ErrorCode::kCorruptData, "the models' logits are not finite"};
    }
    reference_nll_ += z_reference - static_cast<double>(reference[static_cast<std::size_t>(next)]);
    kl_ += kl;
    largest_kl_ = std::max(largest_kl_, kl);
    if (std::ranges::max_element(logits) - logits.begin() ==
        std::ranges::max_element(reference) - reference.begin()) {
      ++n_same_;
    }
    return Ok();
  }

  TextScore Score(std::size_t n_windows, bool compared) const {
    const auto n = static_cast<double>(n_);
    TextScore score;
    score.n_tokens = n_;
    score.n_windows = n_windows;
    score.mean_nll = nll_ / n;
    const double variance = std::max(0.0, nll_squares_ / n - score.mean_nll * score.mean_nll);
    score.standard_error = std::sqrt(variance / n);
    if (compared) {
      score.comparison = TextScore::Comparison{reference_nll_ / n, kl_ / n, largest_kl_,
                                               static_cast<double>(n_same_) / n};
    }
    return score;
  }

 private:
  std::size_t n_ = 0, n_same_ = 0;
  double nll_ = 0, nll_squares_ = 0, reference_nll_ = 0, kl_ = 0, largest_kl_ = 0;
};

Status Check(const TextModel& model, const TextModel* reference, std::span<const TokenId> ids,
             const ScoreOptions& options) {
  const auto complain = [](const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, what};
  };
  const models::ModelInfo& info = model.model->info();
  if (ids.size() < 2) return complain("a text of fewer than two tokens has nothing to guess");
  if (options.window < 2 || options.window > info.max_tokens) {
    return complain("window " + std::to_string(options.window) + " is not in 2 to " +
                    std::to_string(info.max_tokens) + ", what the model reads");
  }
  if (options.stride < 1 || options.stride >= options.window) {
    return complain("stride " + std::to_string(options.stride) + " is not in 1 to " +
                    std::to_string(options.window - 1) + ", below the window");
  }
  if (reference != nullptr && reference->model->info().vocab != info.vocab) {
    return complain("the models' vocabularies differ: " + std::to_string(info.vocab) + " and " +
                    std::to_string(reference->model->info().vocab) + " entries");
  }
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= info.vocab) {
      return complain("token " + std::to_string(id) + " is outside the vocabulary");
    }
  }
  return Ok();
}

/// Both models, window after window.
class Scorer {
 public:
  Scorer(WindowReader model, std::optional<WindowReader> reference, const ScoreOptions& options)
      : model_(std::move(model)), reference_(std::move(reference)), options_(options) {}

  /// Guesses ids[from + 1, end) of the window ids[begin, end); from >= begin.
  Status ScoreWindow(std::span<const TokenId> ids, std::size_t begin, std::size_t from,
                     std::size_t end) {
    model_.Begin();
    if (reference_) reference_->Begin();
    for (std::size_t at = begin; at + 1 < end; at += kChunk) {
      if (options_.stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
      const std::size_t chunk_end = std::min(at + kChunk, end - 1);
      const auto chunk = ids.subspan(at, chunk_end - at);
      const std::size_t first = std::min(chunk.size() - 1, from > at ? from - at : 0);
      LATTICE_TRY_VOID(model_.Read(chunk, first));
      if (reference_) LATTICE_TRY_VOID(reference_->Read(chunk, first));
      if (chunk_end <= from) continue;
      LATTICE_TRY_VOID(ScoreRows(ids.subspan(at + first + 1, chunk.size() - first)));
    }
    ++n_windows_;
    return Ok();
  }

  TextScore Score() const { return totals_.Score(n_windows_, reference_.has_value()); }

 private:
  /// Rows of the last Read: what each of them should have guessed.
  Status ScoreRows(std::span<const TokenId> next) {
    for (std::size_t begin = 0; begin < next.size(); begin += kLogitRows) {
      const std::size_t n = std::min(kLogitRows, next.size() - begin);
      const auto logits = model_.Logits(begin, n);
      const std::size_t vocab = logits.size() / n;
      const auto reference = reference_ ? reference_->Logits(begin, n) : std::span<const float>();
      for (std::size_t i = 0; i < n; ++i) {
        const auto row = logits.subspan(i * vocab, vocab);
        LATTICE_TRY_VOID(totals_.Add(row, next[begin + i]));
        if (!reference_) continue;
        LATTICE_TRY_VOID(
            totals_.Compare(row, reference.subspan(i * vocab, vocab), next[begin + i]));
      }
    }
    return Ok();
  }

  WindowReader model_;
  std::optional<WindowReader> reference_;
  const ScoreOptions& options_;
  Totals totals_;
  std::size_t n_windows_ = 0;
};

}  // namespace

double TextScore::perplexity() const { return std::exp(mean_nll); }

Result<TextScore> ScoreText(const TextModel& model, const TextModel* reference,
                            std::span<const TokenId> ids, const ScoreOptions& options,
                            kernels::Backend& backend) {
  LATTICE_TRY_VOID(Check(model, reference, ids, options));
  LATTICE_TRY(WindowReader reader, WindowReader::Make(model, options, backend));
  std::optional<WindowReader> beside;
  if (reference != nullptr) {
    LATTICE_TRY(beside, WindowReader::Make(*reference, options, backend));
  }
  Scorer scorer(std::move(reader), std::move(beside), options);
  std::size_t scored = 0;  // ids[0, scored] have been guessed, or cannot be
  for (std::size_t begin = 0; scored + 1 < ids.size(); begin += options.stride) {
    const std::size_t end = std::min(begin + options.window, ids.size());
    LATTICE_TRY_VOID(scorer.ScoreWindow(ids, begin, scored, end));
    scored = end - 1;
    if (options.progress) options.progress("perplexity", end, ids.size());
  }
  return scorer.Score();
}

}  // namespace lattice::engine
