#include "grammar/vocabulary.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace lattice::grammar {
namespace {

// Tokens with more characters count as others.
constexpr std::size_t kMaxPlainChars = 64;

// The number of characters of a token that is made of plain ones alone; 0 for others.
std::size_t CountPlain(std::string_view token) {
  std::size_t n = 0;
  for (; !token.empty(); ++n) {
    const Utf8Step step = DecodeUtf8(token);
    if (!step.valid || !Vocabulary::IsPlain(step.scalar)) return 0;
    token.remove_prefix(step.n_bytes);
  }
  return n <= kMaxPlainChars ? n : 0;
}

}  // namespace

std::size_t TerminalMask::n_bytes() const {
  return sizeof *this + bits.capacity() * 8 + ids.capacity() * 4 + exits.capacity() * 4 +
         (below ? below->n_bytes() : 0);
}

Vocabulary::Vocabulary(std::vector<std::string> tokens, std::size_t cache_bytes)
    : tokens_(std::move(tokens)), plain_(1), cache_bytes_(cache_bytes) {
  std::vector<TokenTrie::Entry> all;
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    const std::string& token = tokens_[id];
    if (token.empty() || token.size() > TokenTrie::kMaxDepth) continue;
    longest_ = std::max(longest_, token.size());
    all.push_back({token, static_cast<TokenId>(id)});
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  trie_ = TokenTrie::Of(all);
  std::vector<TokenTrie::Entry> rest;
  plain_[0].resize(n_words());
  for (const TokenTrie::Entry& entry : all) {
    const std::size_t n = CountPlain(entry.bytes);
    if (n == 0) {
      rest.push_back(entry);
      continue;
    }
    if (plain_.size() <= n) plain_.resize(n + 1, TokenBits(n_words()));
    SetBit(plain_[n], entry.id);
  }
  for (std::size_t n = 1; n < plain_.size(); ++n) {
    for (std::size_t w = 0; w < n_words(); ++w) plain_[n][w] |= plain_[n - 1][w];
  }
  rest_trie_ = TokenTrie::Of(rest);
}

const TokenBits& Vocabulary::PlainTokens(std::size_t n_chars) const {
  return plain_[std::min(n_chars, plain_.size() - 1)];
}

// Where a token that is this text would end.
std::optional<std::uint32_t> Vocabulary::NodeOf(std::string_view text) const {
  TokenTrie::Range range = trie_.all();
  std::optional<std::uint32_t> node;
  for (const char c : text) {
    while (range.begin < range.end && trie_[range.begin].byte != static_cast<std::uint8_t>(c)) {
      range.begin = trie_[range.begin].end;
    }
    if (range.begin >= range.end) return std::nullopt;
    node = range.begin;
    range = trie_.below(*node);
  }
  return node;
}

std::span<const TokenId> Vocabulary::tokens_of(std::string_view text) const {
  const auto node = NodeOf(text);
  return node ? trie_.tokens(*node) : std::span<const TokenId>();
}

std::span<const TokenId> Vocabulary::tokens_from(std::string_view text) const {
  const auto node = NodeOf(text);
  return node ? trie_.all_tokens(*node) : std::span<const TokenId>();
}

std::shared_ptr<const TerminalMask> Vocabulary::Find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = masks_.find(key);
  return at == masks_.end() ? nullptr : at->second;
}

void Vocabulary::Keep(const std::string& key, std::shared_ptr<const TerminalMask> mask) const {
  const std::size_t bytes = mask->n_bytes() + key.size();
  if (bytes > cache_bytes_) return;
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + bytes > cache_bytes_) {
    masks_.clear();  // what is in use fills it again
    kept_bytes_ = 0;
  }
  if (masks_.emplace(key, std::move(mask)).second) kept_bytes_ += bytes;
}

}  // namespace lattice::grammar
