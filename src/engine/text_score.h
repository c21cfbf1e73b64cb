#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/log.h"
#include "base/token_id.h"
#include "engine/text_model.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"

namespace lattice::engine {

/// How a long text is cut: windows of `window` tokens, each `stride` further on; a token counts in
/// the first window that holds it as a token to be guessed, with all the window's tokens before it
/// as context. The first token of the text is never guessed.
struct ScoreOptions {
  std::size_t window = 512;
  std::size_t stride = 256;
  kernels::KvType kv_type = kernels::KvType::kF32;
  std::stop_token stop;
  ProgressSink progress;  ///< Tokens.
};

struct TextScore {
  std::size_t n_tokens = 0;  ///< That were guessed.
  std::size_t n_windows = 0;
  double mean_nll = 0;        ///< Natural logarithm.
  double standard_error = 0;  ///< Of the mean, over tokens.
  double perplexity() const;

  /// Beside a reference model, over the same places.
  struct Comparison {
    double reference_mean_nll = 0;
    double mean_kl = 0;  ///< KL(reference || model), in nats.
    double largest_kl = 0;
    double same_best = 0;  ///< Share of places where both have the same likeliest token.
  };
  std::optional<Comparison> comparison;
};

/// Scores ids with `model`, and `reference` beside it when not null (same vocabulary). Logits are
/// looked at a few rows at a time: memory does not grow with the window times the vocabulary.
///
/// Errors  kInvalidArgument (fewer than two ids, window or stride out of range, vocabularies that
///         differ), kResourceExhausted, kCancelled.
Result<TextScore> ScoreText(const TextModel& model, const TextModel* reference,
                            std::span<const TokenId> ids, const ScoreOptions& options,
                            kernels::Backend& backend);

}  // namespace lattice::engine
