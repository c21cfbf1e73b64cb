#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/token_id.h"
#include "grammar/token_trie.h"

namespace lattice::grammar {

/// Tokens as bits: id % 64 of word id / 64.
using TokenBits = std::vector<std::uint64_t>;

inline void SetBit(std::span<std::uint64_t> bits, TokenId id) {
  bits[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
}
inline void ClearBit(std::span<std::uint64_t> bits, TokenId id) {
  bits[static_cast<std::size_t>(id) / 64] &= ~(std::uint64_t{1} << (id % 64));
}

/// What the tokens of a vocabulary do within one terminal of a grammar, from one of its states on.
struct TerminalMask {
  TokenBits bits;            ///< Tokens that stay within it, or end where it may; or
  std::vector<TokenId> ids;  ///< the same if they are few, and `bits` is empty.
  /// The nodes where it may end, if something stands below them. Of `plain_trie` or `rest_trie`.
  std::vector<std::uint32_t> exits;
  bool exits_of_rest = false;
  std::size_t longest = 0;  ///< Of all it goes along with, in bytes, perhaps only in part; or more.
  /// What stands below all exits, if that is not too much.
  std::optional<TokenTrie> below;

  std::size_t n_bytes() const;
};

/// The tokens of a model, prepared for masks. Shared by all grammars and threads.
class Vocabulary {
 public:
  /// tokens  [vocabulary] what each id adds to a text; empty for ids that may never come: special
  ///         tokens, padding, unused ones. Longer ones than TokenTrie::kMaxDepth may not come
  ///         either.
  /// cache_bytes  for masks of terminals that any two grammars may have in common.
  explicit Vocabulary(std::vector<std::string> tokens, std::size_t cache_bytes = 64u << 20);

  std::size_t size() const { return tokens_.size(); }
  std::size_t n_words() const { return (tokens_.size() + 63) / 64; }
  const std::string& token(TokenId id) const { return tokens_[static_cast<std::size_t>(id)]; }
  std::size_t longest() const { return longest_; }
  /// The tokens with exactly this text.
  std::span<const TokenId> tokens_of(std::string_view text) const;
  /// Those that begin with it, these among them; `text` is not empty.
  std::span<const TokenId> tokens_from(std::string_view text) const;

  /// All tokens; and those that are not wholly made of characters a JSON string holds unescaped.
  const TokenTrie& trie() const { return trie_; }
  const TokenTrie& rest_trie() const { return rest_trie_; }
  /// The others that have at most n of these characters.
  const TokenBits& PlainTokens(std::size_t n_chars) const;
  static bool IsPlain(char32_t c) { return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F; }

  /// A mask that was kept under a key, or null.
  std::shared_ptr<const TerminalMask> Find(const std::string& key) const;
  void Keep(const std::string& key, std::shared_ptr<const TerminalMask> mask) const;

 private:
  std::optional<std::uint32_t> NodeOf(std::string_view text) const;

  std::vector<std::string> tokens_;
  std::size_t longest_ = 0;
  TokenTrie trie_;
  TokenTrie rest_trie_;
  std::vector<TokenBits> plain_;  // by number of characters, at least 1
  std::size_t cache_bytes_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, std::shared_ptr<const TerminalMask>> masks_;
  mutable std::size_t kept_bytes_ = 0;
};

}  // namespace lattice::grammar
