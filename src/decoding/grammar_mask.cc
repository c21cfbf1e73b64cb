#include "decoding/grammar_mask.h"

#include <algorithm>
#include <utility>

namespace lattice::decoding {
namespace {

// What models write between their thinking and their answer.
constexpr std::size_t kMaxGap = 2;

}  // namespace

Result<ThinkingMarks> FindThinkingMarks(const tokenizers::Tokenizer& tokenizer,
                                        std::string_view open, std::string_view close,
                                        bool begins_inside, bool may_open) {
  ThinkingMarks marks;
  const auto closes = tokenizer.Find(close);
  if (!closes) {
    return Error{ErrorCode::kUnsupported, "this model's answer cannot be held to a grammar: '" +
                                              std::string(close) +
                                              "', which ends its thinking, "
                                              "is not one of its tokens"};
  }
  marks.close = *closes;
  marks.begins_inside = begins_inside;
  if (may_open) marks.open = tokenizer.Find(open);
  return marks;
}

GrammarMask::GrammarMask(std::shared_ptr<grammar::Automaton> automaton,
                         std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                         std::vector<TokenId> end_tokens, std::optional<ThinkingMarks> thinking)
    : matcher_(automaton),
      vocabulary_(automaton->vocabulary()),
      forced_(vocabulary_, std::move(tokenizer)),
      end_tokens_(std::move(end_tokens)),
      thinking_(thinking),
      place_(!thinking                 ? Place::kText
             : thinking->begins_inside ? Place::kThinking
                                       : Place::kStart) {}

bool GrammarMask::IsEnd(TokenId id) const {
  return std::ranges::find(end_tokens_, id) != end_tokens_.end();
}

bool GrammarMask::IsGap(TokenId id) const {
  if (place_ != Place::kGap || id < 0 || static_cast<std::size_t>(id) >= vocabulary_->size()) {
    return false;
  }
  const std::string& token = vocabulary_->token(id);
  return !token.empty() && n_gap_ + token.size() <= kMaxGap &&
         token.find_first_not_of('\n') == std::string::npos;
}

bool GrammarMask::IsOver() const {
  if (place_ == Place::kEnd) return true;
  return place_ == Place::kText && matcher_.is_complete() && !matcher_.can_continue();
}

Result<std::optional<TokenId>> GrammarMask::Forced() {
  if (place_ != Place::kText) return std::optional<TokenId>();
  if (!forced_now_) {
    LATTICE_TRY(forced_now_, forced_.After(matcher_));
  }
  return *forced_now_;
}

Status GrammarMask::Fill(std::span<std::uint64_t> allowed) {
  LATTICE_TRY(const auto forced, Forced());
  if (forced && (allowed[static_cast<std::size_t>(*forced) / 64] >> (*forced % 64) & 1) != 0) {
    std::ranges::fill(allowed, 0);
    grammar::SetBit(allowed, *forced);
    return Ok();
  }
  if (place_ == Place::kThinking) {
    for (const TokenId id : end_tokens_) grammar::ClearBit(allowed, id);
    return Ok();
  }
  if (place_ == Place::kEnd) {
    std::ranges::fill(allowed, 0);
  } else {
    LATTICE_TRY_VOID(matcher_.Fill(allowed));
  }
  if (place_ == Place::kEnd || matcher_.is_complete()) {
    for (const TokenId id : end_tokens_) grammar::SetBit(allowed, id);
  }
  if (place_ == Place::kStart && thinking_->open) grammar::SetBit(allowed, *thinking_->open);
  if (place_ == Place::kGap) {
    for (const TokenId id : vocabulary_->tokens_of("\n")) {
      if (IsGap(id)) grammar::SetBit(allowed, id);
    }
    for (const TokenId id : vocabulary_->tokens_of("\n\n")) {
      if (IsGap(id)) grammar::SetBit(allowed, id);
    }
  }
  return Ok();
}

Status GrammarMask::Accept(TokenId id) {
  forced_now_.reset();
  if (place_ == Place::kThinking) {
    if (id == thinking_->close) place_ = Place::kGap;
    return Ok();
  }
  if (place_ == Place::kStart && thinking_->open == id) {
    place_ = Place::kThinking;
    return Ok();
  }
  if (IsEnd(id) && (place_ == Place::kEnd || matcher_.is_complete())) {
    place_ = Place::kEnd;
    return Ok();
  }
  if (IsGap(id)) {
    n_gap_ += vocabulary_->token(id).size();
    return Ok();
  }
  if (place_ == Place::kEnd) {
    return Error{ErrorCode::kInvalidArgument, "the text has ended"};
  }
  LATTICE_TRY_VOID(matcher_.AcceptToken(id));
  place_ = Place::kText;
  return Ok();
}

}  // namespace lattice::decoding
