#include "decoding/text_stream.h"

#include <algorithm>
#include <utility>

namespace lattice::decoding {

Result<TextStream> TextStream::Create(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                                      const TextStreamOptions& options) {
  LATTICE_TRY(StopMatcher matcher, StopMatcher::Create(options.stop_strings));
  for (const TokenId id : options.stop_tokens) {
    if (auto known = tokenizers::CheckId(id, tokenizer->vocab_size()); !known) {
      return std::move(known).error().Within("stop_tokens");
    }
  }
  return TextStream(std::move(tokenizer), std::move(matcher), options);
}

TextStream::TextStream(std::shared_ptr<const tokenizers::Tokenizer> tokenizer, StopMatcher matcher,
                       const TextStreamOptions& options)
    : tokenizer_(std::move(tokenizer)),
      matcher_(std::move(matcher)),
      stop_tokens_(options.stop_tokens) {
  if (options.skip_special_tokens) shown_special_ = options.shown_special;
  tokens_ = tokenizer_->StartDecoding(options.skip_special_tokens && shown_special_.empty());
}

Result<TextStream::Stop> TextStream::Push(TokenId id, std::string& shown) {
  if (stop_ != Stop::kNone) return stop_;
  if (std::ranges::find(stop_tokens_, id) != stop_tokens_.end()) {
    LATTICE_TRY(const Stop stop, Finish(shown));
    return stop_ = stop == Stop::kNone ? Stop::kToken : stop;
  }
  if (!shown_special_.empty() && tokenizer_->IsSpecial(id) &&
      std::ranges::find(shown_special_, id) == shown_special_.end()) {
    return stop_;
  }
  piece_.clear();
  LATTICE_TRY_VOID(tokens_->Push(id, piece_));
  if (matcher_.Push(piece_, shown)) stop_ = Stop::kString;
  return stop_;
}

Result<TextStream::Stop> TextStream::Finish(std::string& shown) {
  if (stop_ != Stop::kNone) return stop_;
  piece_.clear();
  LATTICE_TRY_VOID(tokens_->Finish(piece_));
  if (matcher_.Push(piece_, shown)) {
    stop_ = Stop::kString;
  } else {
    matcher_.Finish(shown);
  }
  return stop_;
}

}  // namespace lattice::decoding
