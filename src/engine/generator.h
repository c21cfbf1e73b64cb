#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/token_id.h"
#include "decoding/log_probabilities.h"
#include "decoding/logit_mask.h"
#include "decoding/sampling_options.h"
#include "engine/context_cache.h"
#include "engine/text_model.h"
#include "lattice/result.h"
#include "models/model.h"

namespace lattice::engine {

/// Ends a model's thinking after so many tokens: it then reads `closing` as if it had said so.
struct ThinkingLimit {
  std::size_t max_tokens = 0;
  std::vector<TokenId> open;     ///< Begins thinking; empty: only the prompt does.
  TokenId close = -1;            ///< Ends it; -1: nothing does.
  bool begins_inside = false;    ///< The prompt has already opened it.
  std::vector<TokenId> closing;  ///< Ends with `close` or what follows it.
};

struct GenerationOptions {
  std::size_t max_tokens = 0;  ///< Of the answer; 0: as many as the context holds.
  decoding::SamplingOptions sampling;
  std::vector<std::string> stop_strings;
  bool ignore_stop_tokens = false;
  bool skip_special_tokens = true;     ///< Of the shown text,
  std::vector<TokenId> shown_special;  ///< but for these.
  std::optional<std::size_t> n_top_log_probabilities;
  std::optional<ThinkingLimit> thinking;
  decoding::LogitMask* mask = nullptr;
  std::size_t prompt_chunk = 512;  ///< Rows of one pass; also how soon a stop request is seen.
  std::stop_token stop;
};

enum class FinishReason {
  kStop,       ///< A stop token or stop string.
  kLength,     ///< max_tokens.
  kContext,    ///< No room for another token.
  kCancelled,  ///< The stop token; what was made until then stands.
};
std::string_view FinishReasonName(FinishReason reason);

struct GenerationUsage {
  std::size_t n_prompt = 0;
  std::size_t n_cached = 0;     ///< Of the prompt: read before.
  std::size_t n_generated = 0;  ///< With the stop token, if one came.
  double prompt_seconds = 0;    ///< Until the first logits.
  double first_token_seconds = 0;
  double decode_seconds = 0;  ///< After the first token.

  double prompt_tokens_per_second() const;
  double decode_tokens_per_second() const;
};

/// A step of the answer, as it comes. Borrowed for the call.
struct GeneratedToken {
  TokenId id = 0;
  std::string_view text;  ///< What became certain with it: whole characters, possibly none.
  const decoding::LogProbabilities* log_probabilities = nullptr;
};

struct Generation {
  std::vector<TokenId> ids;  ///< Without the stop token.
  std::string text;
  std::vector<decoding::LogProbabilities> log_probabilities;  ///< One for each id, if asked for.
  FinishReason finish = FinishReason::kStop;
  GenerationUsage usage;
};

/// Called for every token; and, when the end brings text that was held back, once more with id -1.
using TokenSink = FunctionRef<Status(const GeneratedToken&)>;

/// Answers prompts with one model, one at a time. Memory is kept from call to call: a step of
/// decoding allocates none.
class Generator {
 public:
  /// Both must outlive it.
  Generator(const TextModel& model, kernels::Backend& backend);

  /// Reads the part of `prompt` that `context` has not read, then generates. `context` has read the
  /// prompt and all but the last token of the answer afterwards, also after a stop request.
  ///
  /// Errors  kInvalidArgument (an option, an id, an empty prompt), kResourceExhausted (the prompt
  ///         does not fit: both numbers), kCancelled (a stop before the first token), what the sink
  ///         says.
  Result<Generation> Run(std::span<const TokenId> prompt, const GenerationOptions& options,
                         ContextCache& context, TokenSink sink);

 private:
  Status CheckPrompt(std::span<const TokenId> prompt, const ContextCache& context) const;
  /// Reads ids; the logits of the last one are in logits_ then.
  Status Read(std::span<const TokenId> ids, const GenerationOptions& options,
              ContextCache& context);
  Status Step(std::span<const TokenId> ids, bool wants_logits, ContextCache& context);

  const TextModel& model_;
  kernels::Backend& backend_;
  models::Workspace workspace_;
  std::vector<float> logits_;
  std::vector<std::uint32_t> last_row_;
};

}  // namespace lattice::engine
