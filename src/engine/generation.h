#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "decoding/log_probabilities.h"
#include "decoding/logit_mask.h"
#include "decoding/sampling_options.h"

namespace lattice::engine {

/// Ends a model's thinking after so many tokens: it then reads `closing` as if it had said so.
struct ThinkingLimit {
  std::size_t max_tokens = 0;
  std::vector<TokenId> open;     ///< Begins thinking; empty: only the prompt does.
  TokenId close = -1;            ///< Ends it; -1: nothing does.
  bool begins_inside = false;    ///< The prompt has already opened it.
  std::vector<TokenId> closing;  ///< Ends with `close` or what follows it.
};

/// What a caller asks of one answer.
struct GenerationOptions {
  std::size_t max_tokens = 0;  ///< Of the answer; 0: as many as the context holds.
  std::size_t min_tokens = 0;  ///< Before them no stop token is drawn; not with a mask.
  decoding::SamplingOptions sampling;
  std::vector<std::string> stop_strings;
  std::vector<TokenId> stop_tokens;    ///< Besides the model's own.
  bool ignore_stop_tokens = false;     ///< The model's own.
  bool skip_special_tokens = true;     ///< Of the shown text,
  std::vector<TokenId> shown_special;  ///< but for these.
  std::optional<std::size_t> n_top_log_probabilities;
  std::optional<ThinkingLimit> thinking;
  std::shared_ptr<decoding::LogitMask> mask;  ///< Of this answer alone; null: none.
  std::stop_token stop;
};

enum class FinishReason {
  kStop,       ///< A stop token or stop string.
  kLength,     ///< max_tokens.
  kContext,    ///< No room for another token.
  kCancelled,  ///< The stop token; what was made until then stands.
  kDeadline,   ///< The time was over; what was made until then stands.
};
std::string_view FinishReasonName(FinishReason reason);

struct GenerationUsage {
  std::size_t n_prompt = 0;
  std::size_t n_cached = 0;        ///< Of the prompt: read before.
  std::size_t n_generated = 0;     ///< With the stop token, if one came.
  std::size_t n_forced = 0;        ///< Of them: certain beforehand, no pass was made for each.
  double waiting_seconds = 0;      ///< Before anything was done for it.
  double prompt_seconds = 0;       ///< From then until the first logits.
  double first_token_seconds = 0;  ///< From the same moment until the first token was shown.
  double decode_seconds = 0;       ///< After the first token.

  double prompt_tokens_per_second() const;
  double decode_tokens_per_second() const;
};

/// A step of the answer, as it comes: once for every token; and, when the end brings text that was
/// held back, once more with id -1. Borrowed for the call.
struct GeneratedToken {
  TokenId id = 0;
  std::string_view text;  ///< What became certain with it: whole characters, possibly none.
  const decoding::LogProbabilities* log_probabilities = nullptr;
};

}  // namespace lattice::engine
