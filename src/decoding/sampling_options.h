#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::decoding {

/// What can be done to a row of logits before a token is drawn. Each acts on what the one before
/// it has left; probabilities are those of the tokens still there.
enum class SamplingStep : std::uint8_t {
  kPenalties,    ///< repetition, presence, frequency
  kDry,          ///< dry_*
  kTopNSigma,    ///< top_n_sigma
  kTopK,         ///< top_k
  kTypical,      ///< typical_p
  kTopP,         ///< top_p
  kMinP,         ///< min_p
  kXtc,          ///< xtc_*
  kTemperature,  ///< temperature
};

std::string_view SamplingStepName(SamplingStep step);

struct LogitBias {
  TokenId id = 0;
  float bias = 0;
};

/// How tokens are drawn. The defaults draw from the model's own distribution; a step whose option
/// has its neutral value does nothing.
///
/// Always first: logit_bias, then banned tokens and the LogitMask. Then the steps, in `order`. Then
/// one token is drawn from what is left.
struct SamplingOptions {
  /// Logits are divided by it: 0 to 100. At 0 the best token is taken (the lowest id of equals),
  /// after bias, bans, mask, penalties and DRY; the other steps do nothing. Neutral: 1.
  float temperature = 1.0f;

  /// The k best tokens stay. Neutral: 0.
  std::size_t top_k = 0;
  /// The fewest best tokens whose probabilities sum to p stay: above 0 to 1. Neutral: 1.
  /// Source  Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration".
  float top_p = 1.0f;
  /// Tokens with at least this share of the best one's probability stay: 0 to 1. Neutral: 0.
  /// Source  Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling".
  float min_p = 0.0f;
  /// The fewest tokens whose probabilities sum to p stay, those first whose surprise is nearest to
  /// the expected one: above 0 to 1. Neutral: 1.
  /// Source  Meister et al. 2023, "Locally Typical Sampling".
  float typical_p = 1.0f;
  /// Tokens whose logit is at most n standard deviations (of the logits) below the best stay: 0 to
  /// 100. Neutral: 0. Source  Tang et al. 2024, "Top-n-sigma: Not All Logits Are You Need".
  float top_n_sigma = 0.0f;

  /// For tokens among the last `penalty_window`: a positive logit is divided by the repetition
  /// penalty (0.01 to 100; neutral: 1), a negative one multiplied; then presence_penalty and
  /// times-seen x frequency_penalty (-100 to 100; neutral: 0) are taken off.
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  std::size_t penalty_window = 64;  ///< Tokens, of prompt and answer: 0 to 65536.

  /// "Don't repeat yourself": a token that would extend a repetition of n >= dry_allowed_length
  /// tokens loses dry_multiplier * dry_base^(n - dry_allowed_length). A repetition never reaches
  /// back over a sequence breaker, and a token that contains one is never penalised.
  float dry_multiplier = 0.0f;  ///< 0 to 100. Neutral: 0.
  float dry_base = 1.75f;       ///< 1 to 10.
  std::size_t dry_allowed_length = 2;
  std::size_t dry_window = 1024;  ///< Tokens looked back over: 0 to 65536.
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};

  /// "Exclude top choices": with xtc_probability (0 to 1; neutral: 0), of the tokens whose
  /// probability is at least xtc_threshold (0 to 1) all but the least likely are removed.
  float xtc_probability = 0.0f;
  float xtc_threshold = 0.1f;

  /// Mirostat 2 instead of the truncating steps, which must be neutral: keeps the surprise of the
  /// text near tau bits (0 to 100; 0: off), learning at rate eta (above 0 to 1).
  /// Source  Basu et al. 2021, "Mirostat: A Neural Text Decoding Algorithm", algorithm 2.
  float mirostat_tau = 0.0f;
  float mirostat_eta = 0.1f;

  std::vector<LogitBias> logit_bias = {};  ///< Added to logits: -100 to 100 each; several add up.
  std::vector<TokenId> banned = {};        ///< Never drawn.

  /// Which step follows which, each at most once; a step that is left out does nothing.
  std::vector<SamplingStep> order = {
      SamplingStep::kPenalties, SamplingStep::kDry,     SamplingStep::kTopNSigma,
      SamplingStep::kTopK,      SamplingStep::kTypical, SamplingStep::kTopP,
      SamplingStep::kMinP,      SamplingStep::kXtc,     SamplingStep::kTemperature};

  /// The n-th draw of two samplers with one seed is the same, whatever runs beside them.
  std::uint64_t seed = 0;

  bool is_greedy() const { return temperature == 0.0f; }
};

inline constexpr std::size_t kMaxSamplingWindow = 65536;
inline constexpr float kMaxLogitBias = 100;

/// What one of the options' numbers may be.
struct SamplingRange {
  std::string_view name;
  float SamplingOptions::*field;
  float least, most;
  bool above_least = false;  ///< The least itself is outside.
};
const SamplingRange& RangeOf(float SamplingOptions::*field);

/// kInvalidArgument names the field, its value and its range.
///
/// vocab_size  ids in logit_bias and banned are below it.
Status CheckSamplingOptions(const SamplingOptions& options, std::size_t vocab_size);

}  // namespace lattice::decoding
