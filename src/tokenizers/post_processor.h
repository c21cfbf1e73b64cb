#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::tokenizers {

/// What is put around the tokens of one text or of two, and how offsets are trimmed.
class PostProcessor {
 public:
  struct Part {
    enum class Kind : std::uint8_t { kToken, kFirst, kSecond };
    Kind kind = Kind::kToken;
    std::uint8_t type_id = 0;
    TokenId id = 0;  ///< For kToken.
  };

  /// Nothing added; the second text's tokens have type 1.
  PostProcessor();

  /// The "post_processor" object of a tokenizer.json.
  ///
  /// vocab_size  ids must be below it.
  /// Errors      kUnsupported names an unknown type and the known ones; kCorruptData names the key.
  static Result<PostProcessor> FromJson(const JsonView& spec, std::size_t vocab_size);

  /// These tokens, where there are any, before the first text and after each.
  static PostProcessor Around(std::optional<TokenId> before, std::optional<TokenId> after);

  const std::vector<Part>& parts(bool pair) const { return pair ? pair_ : single_; }
  std::size_t n_added(bool pair) const;

  /// Each step of offset trimming, in order: whether it spares the one space that the
  /// pre-tokeniser may have put before the text.
  const std::vector<bool>& trims() const { return trims_; }

 private:
  Status Read(const JsonView& spec, std::size_t vocab_size);
  Status ReadTemplate(const JsonView& spec, std::size_t vocab_size);
  Status ReadFixed(const JsonView& spec, bool roberta, std::size_t vocab_size);
  Status ClaimTemplate(const JsonView& spec);

  std::vector<Part> single_, pair_;
  std::vector<bool> trims_;
  bool has_template_ = false;
};

}  // namespace lattice::tokenizers
