#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "base/json.h"
#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/model.h"
#include "tokenizers/normalizer.h"

namespace lattice::tokenizers {

/// Whether `span` and one of `ranges`, which rise, have a byte in common.
bool Touches(std::span<const Span> ranges, Span span);

/// A set of byte strings in which a text is searched, longest first at each position.
class StringSet {
 public:
  /// Adds a string that is not empty; of equal strings the last one's value counts.
  void Add(std::string_view text, std::uint32_t value);
  /// To be called once, after the last Add.
  void Build();
  bool empty() const { return nodes_.empty(); }

  struct Match {
    std::uint32_t begin, end, value;
  };
  /// The first match at or after `from` that `accepts`; of those that start there, the longest.
  std::optional<Match> Find(std::string_view text, std::size_t from,
                            FunctionRef<bool(const Match&)> accepts) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Node {
    std::uint32_t first_child =
        0;  // its children are nodes_[first_child, first_child + n_children)
    std::uint32_t value = kNone;
    std::uint16_t n_children = 0;
    unsigned char byte = 0;  // on the edge from its parent
  };
  const Node* Child(const Node& node, unsigned char byte) const;

  std::vector<std::pair<std::string, std::uint32_t>> strings_;
  std::vector<Node>
      nodes_;  // nodes_[0] is the root; children lie together, in order of their bytes
  std::vector<bool> starts_;  // for each byte, whether a string starts with it
};

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;  ///< Not next to a word character.
  bool lstrip = false;       ///< Takes the spaces on its left with it.
  bool rstrip = false;
  bool normalized = false;  ///< Looked for in the normalised text.
  bool special = false;     ///< Left out when decoding without special tokens.
};

/// Tokens that are cut out of a text before its words reach the model.
class AddedTokens {
 public:
  /// A stretch of a text: an added token, or text between added tokens when `token` is null.
  struct Section {
    Span span;
    const AddedToken* token;
  };

  /// The "added_tokens" array of a tokenizer.json.
  ///
  /// normalizer  may be null.
  /// Errors      kCorruptData for an id that two tokens claim or that lies far beyond the model's,
  ///             and for a token of more than 1024 bytes (the search takes that long for each byte
  ///             of a text at worst).
  static Result<AddedTokens> FromJson(const JsonView& list, const TokenModel& model,
                                      const Normalizer* normalizer);
  /// Tokens from elsewhere, looked for in the raw text whatever their flag says, none empty. Of
  /// those that are spelled alike the first counts. Errors  kCorruptData as above.
  static Result<AddedTokens> FromList(std::vector<AddedToken> tokens);

  /// Cuts `text` into sections, none empty. They cover it without overlap, but where the spaces
  /// that one token takes with it belong to another token too.
  ///
  /// normalized       whether `text` is, which decides the tokens that are looked for.
  /// special_as_text  do not look for special tokens.
  /// plain            ranges of `text` in rising order. A token that touches one is not looked for,
  ///                  unless it is harmless.
  void Cut(std::string_view text, bool normalized, bool special_as_text,
           std::span<const Span> plain, std::vector<Section>& out) const;
  /// Whether Cut would look for anything.
  bool LooksFor(bool normalized) const { return !(normalized ? in_normalized_ : in_raw_).empty(); }

  const AddedToken* Find(std::string_view content) const;
  const AddedToken* Find(TokenId id) const;
  /// How the token is spelled for a decoder: normalised if it was looked for so.
  std::string_view DecoderText(const AddedToken& token) const;
  /// Whether some special token is spelled like this.
  bool IsSpecial(std::string_view text) const;
  /// White space alone, and not special: it controls nothing.
  bool IsHarmless(const AddedToken& token) const {
    return harmless_[static_cast<std::size_t>(&token - tokens_.data())];
  }
  /// Ids are below this.
  std::size_t end_id() const { return end_id_; }

 private:
  Status Add(AddedToken token, std::string_view where, const Normalizer* normalizer);
  void Build();

  std::vector<AddedToken> tokens_;
  std::vector<std::string> decoder_texts_;  // one for each token
  std::vector<bool> harmless_;              // the same
  std::unordered_map<std::string, std::size_t> by_content_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  StringSet in_raw_, in_normalized_;
  std::size_t end_id_ = 0;
};

}  // namespace lattice::tokenizers
