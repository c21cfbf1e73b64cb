#include "decoding/sampler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace lattice::decoding {

Result<Sampler> Sampler::Create(const SamplingOptions& options, std::size_t vocab_size,
                                std::shared_ptr<const tokenizers::Tokenizer> tokenizer) {
  LATTICE_TRY_VOID(CheckSamplingOptions(options, vocab_size));
  const bool needs_text = options.dry_multiplier != 0 && !options.dry_sequence_breakers.empty();
  if (needs_text && tokenizer == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "dry_sequence_breakers: they need a tokenizer, and there is none"};
  }
  return Sampler(options, vocab_size, std::move(tokenizer));
}

Sampler::Sampler(SamplingOptions options, std::size_t vocab_size,
                 std::shared_ptr<const tokenizers::Tokenizer> tokenizer)
    : options_(std::move(options)),
      vocab_size_(vocab_size),
      random_(options_.seed),
      history_(std::max(options_.penalty_window,
                        options_.dry_multiplier != 0 ? options_.dry_window : 0)),
      penalties_(options_),
      dry_(options_, std::move(tokenizer)),
      mirostat_mu_(2.0 * static_cast<double>(options_.mirostat_tau)) {}

void Sampler::AcceptPrompt(std::span<const TokenId> ids) {
  for (const TokenId id : ids) {
    history_.Add(id);
    dry_.Accept(id);
  }
}

Status Sampler::Accept(TokenId id) {
  LATTICE_TRY_VOID(tokenizers::CheckId(id, vocab_size_));
  if (mask_ != nullptr) LATTICE_TRY_VOID(mask_->Accept(id));
  AcceptPrompt({&id, 1});
  return Ok();
}

Result<TokenId> Sampler::Sample(std::span<const float> logits) {
  if (logits.size() != vocab_size_) {
    return Error{ErrorCode::kInvalidArgument, "a row of " + std::to_string(logits.size()) +
                                                  " logits for a vocabulary of " +
                                                  std::to_string(vocab_size_)};
  }
  LATTICE_TRY_VOID(CheckFinite(logits));
  candidates_.Assign(logits);
  LATTICE_TRY_VOID(Restrict());
  const auto bits = random_.Bits(n_sampled_++);
  const double xtc_uniform = Philox::Uniform(bits[2], bits[3]);
  for (const SamplingStep step : options_.order) ApplyStep(step, xtc_uniform);
  if (options_.is_greedy()) return candidates_.Best().id;
  const double uniform = Philox::Uniform(bits[0], bits[1]);
  if (options_.mirostat_tau != 0) return DrawMirostat(uniform);
  return candidates_.Draw(uniform).id;
}

Result<std::optional<TokenId>> Sampler::SampleForced() {
  if (mask_ == nullptr) return std::optional<TokenId>();
  LATTICE_TRY(const std::optional<TokenId> forced, mask_->Forced());
  if (!forced || std::ranges::find(options_.banned, *forced) != options_.banned.end()) {
    return std::optional<TokenId>();
  }
  ++n_sampled_;
  if (!options_.is_greedy() && options_.mirostat_tau != 0) NoteSurprise(0);
  return forced;
}

// Bias, bans and mask.
Status Sampler::Restrict() {
  for (const LogitBias& bias : options_.logit_bias) candidates_.Add(bias.id, bias.bias);
  for (const TokenId id : options_.banned) candidates_.Remove(id);
  if (mask_ != nullptr) {
    allowed_.assign((vocab_size_ + 63) / 64, UINT64_MAX);
    for (const TokenId id : options_.banned) {
      allowed_[static_cast<std::size_t>(id) / 64] &= ~(std::uint64_t{1} << (id % 64));
    }
    LATTICE_TRY_VOID(mask_->Fill(allowed_));
    candidates_.KeepAllowed(allowed_);
  }
  const bool untouched = options_.logit_bias.empty() && options_.banned.empty() && mask_ == nullptr;
  if (untouched || candidates_.any()) return Ok();
  return Error{ErrorCode::kInvalidArgument, "no token may come next: all are banned or masked"};
}

void Sampler::ApplyStep(SamplingStep step, double xtc_uniform) {
  const bool shapes = !options_.is_greedy();
  switch (step) {
    case SamplingStep::kPenalties:
      if (!penalties_.is_neutral()) {
        penalties_.Apply(history_.Last(options_.penalty_window), candidates_);
      }
      break;
    case SamplingStep::kDry:
      if (!dry_.is_neutral()) dry_.Apply(history_.Last(options_.dry_window), candidates_);
      break;
    case SamplingStep::kTopNSigma:
      if (shapes && options_.top_n_sigma > 0) candidates_.KeepTopNSigma(options_.top_n_sigma);
      break;
    case SamplingStep::kTopK:
      if (shapes && options_.top_k > 0) candidates_.KeepTop(options_.top_k);
      break;
    case SamplingStep::kTypical:
      if (shapes && options_.typical_p < 1) candidates_.KeepTypical(options_.typical_p);
      break;
    case SamplingStep::kTopP:
      if (shapes && options_.top_p < 1) candidates_.KeepTopP(options_.top_p);
      break;
    case SamplingStep::kMinP:
      if (shapes && options_.min_p > 0) candidates_.KeepMinP(options_.min_p);
      break;
    case SamplingStep::kXtc:
      if (shapes && xtc_uniform < static_cast<double>(options_.xtc_probability)) {
        candidates_.ExcludeTop(options_.xtc_threshold);
      }
      break;
    case SamplingStep::kTemperature:
      if (shapes && options_.temperature != 1) candidates_.DivideBy(options_.temperature);
      break;
  }
}

TokenId Sampler::DrawMirostat(double uniform) {
  candidates_.KeepSurprise(static_cast<float>(mirostat_mu_));
  const Candidates::Drawn drawn = candidates_.Draw(uniform);
  NoteSurprise(-std::log2(drawn.probability));
  return drawn.id;
}

void Sampler::NoteSurprise(double surprise) {
  mirostat_mu_ -= static_cast<double>(options_.mirostat_eta) *
                  (surprise - static_cast<double>(options_.mirostat_tau));
}

}  // namespace lattice::decoding
