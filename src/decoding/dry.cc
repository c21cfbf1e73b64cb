#include "decoding/dry.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lattice::decoding {
namespace {

constexpr float kMaxPenalty = 1e30f;  // base^n overflows; the logit must not

}  // namespace

Dry::Dry(const SamplingOptions& options, std::shared_ptr<const tokenizers::Tokenizer> tokenizer)
    : multiplier_(options.dry_multiplier),
      base_(options.dry_base),
      allowed_length_(options.dry_allowed_length),
      breakers_(options.dry_sequence_breakers),
      tokenizer_(std::move(tokenizer)) {
  for (const std::string& breaker : breakers_) {
    longest_breaker_ = std::max(longest_breaker_, breaker.size());
  }
}

void Dry::Accept(TokenId id) {
  if (is_neutral()) return;
  ++n_since_breaker_;
  if (breakers_.empty()) return;
  const auto bytes = tokenizer_->TokenBytes(id);
  if (!bytes) return;
  if (EndsBreaker(*bytes)) n_since_breaker_ = 0;
  tail_ += *bytes;
  if (tail_.size() >= longest_breaker_) tail_.erase(0, tail_.size() - longest_breaker_ + 1);
}

// Whether the last byte of a breaker is among `bytes`, which follow tail_.
bool Dry::EndsBreaker(std::string_view bytes) const {
  std::string text = tail_;
  text += bytes;
  return std::ranges::any_of(breakers_, [&](const std::string& breaker) {
    const std::size_t from = tail_.size() - std::min(tail_.size(), breaker.size() - 1);
    return text.find(breaker, from) != std::string::npos;
  });
}

bool Dry::HoldsBreaker(TokenId id) const {
  if (breakers_.empty()) return false;
  const auto bytes = tokenizer_->TokenBytes(id);
  return bytes && std::ranges::any_of(breakers_, [&](const std::string& breaker) {
           return bytes->find(breaker) != std::string::npos;
         });
}

// For each place in the window, how many tokens before it are the same as at the window's end: the
// Z function of the reversed window.
void Dry::FindRepeats(std::span<const TokenId> window, std::uint32_t longest) {
  const auto n = static_cast<std::uint32_t>(window.size());
  const auto back = [&](std::uint32_t i) { return window[n - 1 - i]; };
  matches_.assign(n, 0);
  repeats_.clear();
  std::uint32_t left = 0, right = 0;  // the match that reaches furthest back: [left, right)
  for (std::uint32_t i = 1; i < n; ++i) {
    std::uint32_t length = i < right ? std::min(matches_[i - left], right - i) : 0;
    while (i + length < n && back(length) == back(i + length)) ++length;
    matches_[i] = length;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
    const std::uint32_t counted = std::min(length, longest);
    if (counted >= std::max<std::size_t>(1, allowed_length_)) {
      repeats_.push_back({back(i - 1), counted});
    }
  }
  // The longest of each token.
  std::ranges::sort(repeats_, [](const Repeat& a, const Repeat& b) {
    return a.id < b.id || (a.id == b.id && a.length > b.length);
  });
  const auto same = [](const Repeat& a, const Repeat& b) { return a.id == b.id; };
  repeats_.erase(std::unique(repeats_.begin(), repeats_.end(), same), repeats_.end());
}

void Dry::Apply(std::span<const TokenId> window, Candidates& candidates) {
  const auto longest = static_cast<std::uint32_t>(std::min(n_since_breaker_, window.size()));
  if (longest < allowed_length_ || longest == 0) return;
  FindRepeats(window, longest);
  std::erase_if(repeats_, [&](const Repeat& repeat) { return HoldsBreaker(repeat.id); });
  ids_.clear();
  for (const Repeat& repeat : repeats_) ids_.push_back(repeat.id);
  candidates.Change(ids_, [&](float logit, std::size_t i) {
    const auto excess = static_cast<float>(repeats_[i].length - allowed_length_);
    return logit - std::min(kMaxPenalty, multiplier_ * std::pow(base_, excess));
  });
}

}  // namespace lattice::decoding
