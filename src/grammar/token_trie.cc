#include "grammar/token_trie.h"

#include <algorithm>

#include "lattice/check.h"

namespace lattice::grammar {

void TokenTrie::Seal() {
  const auto n = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({n, static_cast<std::uint32_t>(tokens_.size()), 0, 0});
  nodes_.shrink_to_fit();
  tokens_.shrink_to_fit();
}

TokenTrie TokenTrie::Of(std::span<const Entry> entries) {
  TokenTrie trie;
  trie.nodes_.clear();
  std::vector<std::uint32_t> path;  // the nodes of the last entry
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      trie.nodes_[path.back()].end = static_cast<std::uint32_t>(trie.nodes_.size());
    }
  };
  for (const Entry& entry : entries) {
    LATTICE_CHECK(!entry.bytes.empty() && entry.bytes.size() <= kMaxDepth && entry.bytes >= last);
    const auto [a, b] = std::ranges::mismatch(entry.bytes, last);
    const auto n_same = static_cast<std::size_t>(a - entry.bytes.begin());
    close(n_same);
    for (std::size_t i = n_same; i < entry.bytes.size(); ++i) {
      path.push_back(static_cast<std::uint32_t>(trie.nodes_.size()));
      trie.nodes_.push_back({0, static_cast<std::uint32_t>(trie.tokens_.size()),
                             static_cast<std::uint8_t>(entry.bytes[i]),
                             static_cast<std::uint8_t>(i + 1)});
    }
    trie.tokens_.push_back(entry.id);
    last = entry.bytes;
  }
  close(0);
  trie.Seal();
  return trie;
}

// siblings  ranges of nodes of `source` whose first levels are to become one.
void TokenTrie::Merge(const TokenTrie& source, std::vector<Range>& siblings, std::uint8_t depth) {
  std::vector<Range> below;
  while (true) {
    unsigned byte = 256;
    for (const Range& r : siblings) {
      if (r.begin < r.end) byte = std::min<unsigned>(byte, source[r.begin].byte);
    }
    if (byte == 256) return;
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(
        {0, static_cast<std::uint32_t>(tokens_.size()), static_cast<std::uint8_t>(byte), depth});
    below.clear();
    for (Range& r : siblings) {
      if (r.begin == r.end || source[r.begin].byte != byte) continue;
      const auto tokens = source.tokens(r.begin);
      tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
      const Range under = source.below(r.begin);
      if (under.begin < under.end) below.push_back(under);
      r.begin = source[r.begin].end;
    }
    if (!below.empty()) Merge(source, below, static_cast<std::uint8_t>(depth + 1));
    nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
  }
}

TokenTrie TokenTrie::Below(const TokenTrie& source, std::span<const std::uint32_t> nodes) {
  TokenTrie trie;
  trie.nodes_.clear();
  std::vector<Range> siblings;
  for (const std::uint32_t node : nodes) siblings.push_back(source.below(node));
  trie.Merge(source, siblings, 1);
  trie.Seal();
  return trie;
}

}  // namespace lattice::grammar
