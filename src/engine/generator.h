#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "decoding/log_probabilities.h"
#include "engine/answer.h"
#include "engine/context_cache.h"
#include "engine/generation.h"
#include "engine/text_model.h"
#include "lattice/result.h"
#include "models/model.h"

namespace lattice::engine {

/// A whole answer.
struct Generation {
  std::vector<TokenId> ids;  ///< Without the stop token.
  std::string text;
  std::vector<decoding::LogProbabilities> log_probabilities;  ///< One for each id, if asked for.
  FinishReason finish = FinishReason::kStop;
  GenerationUsage usage;
};

/// Answers prompts with one model, one at a time. Memory is kept from call to call: a step of
/// decoding allocates none.
class Generator {
 public:
  /// Both must outlive it.
  ///
  /// prompt_chunk  rows of one pass over a prompt, at least 1; also how soon a stop request is
  /// seen.
  Generator(const TextModel& model, kernels::Backend& backend, std::size_t prompt_chunk = 512);

  /// Reads the part of `prompt` that `context` has not read, then generates. `context` has read the
  /// prompt and all of the answer before the last token that was drawn afterwards, also after a
  /// stop request.
  ///
  /// Errors  kInvalidArgument (an option, an id, an empty prompt), kResourceExhausted (the prompt
  ///         does not fit: both numbers), kCancelled (a stop before the first token), what the sink
  ///         says.
  Result<Generation> Run(std::span<const TokenId> prompt, const GenerationOptions& options,
                         ContextCache& context, TokenSink sink);

 private:
  /// Reads ids; the logits of the last one are in logits_ then.
  Status Read(std::span<const TokenId> ids, const std::stop_token& stop, ContextCache& context);
  Status Step(std::span<const TokenId> ids, bool wants_logits, ContextCache& context);

  const TextModel& model_;
  kernels::Backend& backend_;
  std::size_t prompt_chunk_;
  models::Workspace workspace_;
  std::vector<float> logits_;
  std::vector<std::uint32_t> last_row_;
};

}  // namespace lattice::engine
