#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "lattice/result.h"

namespace lattice::tokenizers {

/// Where a step of decoding puts its tokens. Each is some text in fragments, then EndToken; after
/// the last one comes Finish, which leaves everything as it was before the first.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// fragment  valid UTF-8 of whole characters; may be empty.
  /// Errors    kInvalidArgument when a regular expression gives up on the text, kResourceExhausted
  ///           when replacements make too much of it. No more may be put in after an error.
  virtual Status Text(std::string_view fragment) = 0;
  virtual Status EndToken() = 0;
  virtual Status Finish() = 0;
};

/// One step from tokens back to text; the text is what the tokens of the last step make together.
/// Immutable: what a decoding remembers is in the sink that Start gives.
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// A sink that does this step and puts the outcome into `next` as soon as no later token can
  /// change it. The decoder and `next` outlive it.
  virtual std::unique_ptr<TokenSink> Start(TokenSink& next) const = 0;

  /// Replaces a token by the bytes that it adds in the midst of a text, perhaps a part of a
  /// character.
  virtual void ToBytes(std::string& token) const = 0;
};

/// The "decoder" object of a tokenizer.json.
/// Errors  kUnsupported names an unknown type and the known ones; kCorruptData names the key.
Result<std::unique_ptr<Decoder>> MakeDecoder(const JsonView& spec);

/// Tokens in the byte alphabet (a token that is not: its own bytes) become one text; bytes that are
/// no UTF-8 are U+FFFD.
std::unique_ptr<Decoder> MakeByteLevelDecoder();
/// "<0x41>" and its kin become characters.
std::unique_ptr<Decoder> MakeByteFallbackDecoder();

}  // namespace lattice::tokenizers
