#include "embed/text_encoder.h"

#include <utf8proc.h>

#include <utility>

#include "base/utf8.h"

namespace lattice::embed {

using tokenizers::EncodeOptions;
using tokenizers::Encoding;

std::string LowerCase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    text.remove_prefix(step.n_bytes);
    if (step.scalar == U'\u0130') {  // The one capital whose lower case is two scalar values.
      lower += "i\u0307";
      continue;
    }
    const auto scalar = static_cast<utf8proc_int32_t>(step.scalar);
    AppendUtf8(static_cast<char32_t>(utf8proc_tolower(scalar)), lower);
  }
  return lower;
}

Result<TextEncoder> TextEncoder::Make(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                                      const Options& options) {
  std::optional<TokenId> append;
  if (!options.append_token.empty()) {
    append = tokenizer->Find(options.append_token);
    if (!append) {
      return Error{ErrorCode::kCorruptData, "the tokenizer has no '" + options.append_token +
                                                "', which must end every text of this model"};
    }
    // Nothing to do where the tokenizer's own template appends it.
    LATTICE_TRY(const Encoding empty, tokenizer->Encode("", EncodeOptions{}));
    if (!empty.ids.empty() && empty.ids.back() == *append) append.reset();
  }
  return TextEncoder(std::move(tokenizer), options.max_tokens, options.lower_case, append);
}

Result<Encoding> TextEncoder::Encode(std::string_view prompt, std::string_view text,
                                     bool special_as_text) const {
  std::string joined;
  if (!prompt.empty()) {
    joined.reserve(prompt.size() + text.size());
    joined.append(prompt).append(text);
    text = joined;
  }
  if (lower_case_) {
    joined = LowerCase(text);
    text = joined;
  }
  EncodeOptions options;
  options.special_as_text = special_as_text;
  if (!append_) {
    options.max_tokens = max_tokens_;
    return tokenizer_->Encode(text, options);
  }
  if (max_tokens_ == 1) {  // No room for anything else; 0 would mean no limit.
    LATTICE_TRY(Encoding whole, tokenizer_->Encode(text, options));
    return Encoding{{*append_}, {0}, {}, whole.n_tokens_untruncated + 1};
  }
  options.max_tokens = max_tokens_ - 1;
  LATTICE_TRY(Encoding encoding, tokenizer_->Encode(text, options));
  encoding.ids.push_back(*append_);
  encoding.type_ids.push_back(0);
  ++encoding.n_tokens_untruncated;
  return encoding;
}

Result<std::size_t> TextEncoder::PromptTokens(std::string_view prompt, bool special_as_text) const {
  EncodeOptions options;
  options.special_as_text = special_as_text;
  const std::string lower = lower_case_ ? LowerCase(prompt) : std::string(prompt);
  LATTICE_TRY(const Encoding whole, tokenizer_->Encode(lower, options));
  options.add_special_tokens = false;
  LATTICE_TRY(const Encoding bare, tokenizer_->Encode(lower, options));
  // The template ends in a token of its own when the two ends differ.
  const bool tail = !whole.ids.empty() && (bare.ids.empty() || whole.ids.back() != bare.ids.back());
  return whole.ids.size() - (tail ? 1 : 0);
}

}  // namespace lattice::embed
