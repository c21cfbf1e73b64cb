#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "decoding/candidates.h"
#include "decoding/dry.h"
#include "decoding/history.h"
#include "decoding/logit_mask.h"
#include "decoding/penalties.h"
#include "decoding/philox.h"
#include "decoding/sampling_options.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

/// Draws the tokens of one text. Used by one thread at a time; nothing is shared between samplers.
///
///     sampler.AcceptPrompt(prompt_ids);
///     for each step: LATTICE_TRY(id, sampler.Sample(logits));
///     LATTICE_TRY_VOID(sampler.Accept(id));
///
/// The n-th call of Sample uses the n-th random numbers of the seed, so a text depends on seed,
/// options, prompt and logits alone.
class Sampler {
 public:
  /// tokenizer  finds DRY's sequence breakers; may be null when DRY is off or has none.
  /// Errors     kInvalidArgument names a field of the options and its range.
  static Result<Sampler> Create(const SamplingOptions& options, std::size_t vocab_size,
                                std::shared_ptr<const tokenizers::Tokenizer> tokenizer = nullptr);

  /// Tokens before the answer, for penalties and DRY.
  void AcceptPrompt(std::span<const TokenId> ids);

  /// A mask for the steps from now on, or null. It outlives its use.
  void SetMask(LogitMask* mask) { mask_ = mask; }

  /// Draws a token. Nothing is allocated after the first steps.
  ///
  /// logits  [vocab_size] f32, finite: one row of the model's output.
  /// Errors  kInvalidArgument when a logit is NaN or infinite, when bans and mask leave no token,
  ///         or what the mask says. The random numbers of the step are not used up then.
  Result<TokenId> Sample(std::span<const float> logits);

  /// Draws without logits where the mask leaves one token; absent where a row is needed. Sampler
  /// and random numbers are afterwards as if Sample had drawn it. Errors  what the mask says.
  Result<std::optional<TokenId>> SampleForced();

  /// The token that the text goes on with: the one drawn, or one that the caller forced.
  /// Errors  what the mask says.
  Status Accept(TokenId id);

  const SamplingOptions& options() const { return options_; }
  std::uint64_t n_sampled() const { return n_sampled_; }

 private:
  Sampler(SamplingOptions options, std::size_t vocab_size,
          std::shared_ptr<const tokenizers::Tokenizer> tokenizer);

  Status Restrict();
  void ApplyStep(SamplingStep step, double xtc_uniform);
  TokenId DrawMirostat(double uniform);
  void NoteSurprise(double surprise);

  SamplingOptions options_;
  std::size_t vocab_size_;
  Philox random_;
  std::uint64_t n_sampled_ = 0;
  History history_;
  Penalties penalties_;
  Dry dry_;
  LogitMask* mask_ = nullptr;
  std::vector<std::uint64_t> allowed_;
  Candidates candidates_;
  double mirostat_mu_;  // bits: the largest surprise that is let through
};

}  // namespace lattice::decoding
