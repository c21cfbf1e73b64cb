#include "tokenizers/trie.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace lattice::tokenizers {

// Places nodes one by one. Free units form a ring in rising order, so that nodes with one child,
// the greater part, fill the holes that wide nodes leave.
class Trie::Builder {
 public:
  explicit Builder(std::vector<Unit>& units) : units_(units) {
    units_.clear();
    AddBlock();
    Take(kRoot, kNone);
  }

  /// Finds room for the children of `parent` and takes it: child i is at base ^ labels[i].
  std::uint32_t Place(Node parent, std::span<const std::uint8_t> labels) {
    const std::uint32_t base = FindBase(labels);
    for (const std::uint8_t label : labels) Take(base ^ label, parent);
    units_[parent].base = base;
    return base;
  }

 private:
  struct Link {
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };

  // A bounded search from both ends of the ring: the oldest holes, then the newest block.
  std::uint32_t FindBase(std::span<const std::uint8_t> labels) {
    constexpr int kTries = 24;
    if (n_free_ == 0) AddBlock();
    for (const bool forward : {true, false}) {
      std::uint32_t unit = forward ? first_ : links_[first_].previous;
      for (int i = 0; i < kTries; ++i) {
        const std::uint32_t base = unit ^ labels[0];
        if (Fits(base, labels)) return base;
        unit = forward ? links_[unit].next : links_[unit].previous;
      }
    }
    const auto block = static_cast<std::uint32_t>(units_.size());
    AddBlock();
    return block;
  }

  bool Fits(std::uint32_t base, std::span<const std::uint8_t> labels) const {
    return std::ranges::all_of(labels,
                               [&](std::uint8_t label) { return free_[base ^ label] != 0; });
  }

  void AddBlock() {
    const auto begin = static_cast<std::uint32_t>(units_.size());
    units_.resize(begin + kBlock);
    links_.resize(begin + kBlock);
    free_.resize(begin + kBlock, 1);
    const auto end = static_cast<std::uint32_t>(units_.size());
    for (std::uint32_t i = begin; i < end; ++i) links_[i] = {i - 1, i + 1};
    if (n_free_ == 0) first_ = begin;
    const std::uint32_t last = n_free_ == 0 ? end - 1 : links_[first_].previous;
    Connect(last, begin);
    Connect(end - 1, first_);
    n_free_ += kBlock;
  }

  void Connect(std::uint32_t a, std::uint32_t b) {
    links_[a].next = b;
    links_[b].previous = a;
  }

  void Take(std::uint32_t unit, Node parent) {
    Connect(links_[unit].previous, links_[unit].next);
    if (first_ == unit) first_ = links_[unit].next;
    free_[unit] = 0;
    --n_free_;
    units_[unit].parent = parent;
  }

  std::vector<Unit>& units_;
  std::vector<Link> links_;
  std::vector<std::uint8_t> free_;
  std::uint32_t first_ = 0;
  std::size_t n_free_ = 0;
};

Result<Trie> Trie::Build(std::vector<Entry> entries) {
  for (const Entry& entry : entries) {
    if (entry.text.size() <= kMaxEntryBytes) continue;
    return Error{ErrorCode::kUnsupported,
                 "token " + std::to_string(entry.id) + " has " + std::to_string(entry.text.size()) +
                     " bytes, more than the limit of " + std::to_string(kMaxEntryBytes)};
  }
  std::ranges::stable_sort(entries, {}, &Entry::text);
  Trie trie;
  Builder builder(trie.units_);

  struct Range {  // Entries that share the `depth` bytes that lead to `node`.
    Node node;
    std::size_t begin, end, depth;
  };
  std::vector<Range> open = {{kRoot, 0, entries.size(), 0}};
  std::vector<std::uint8_t> labels;
  std::vector<std::size_t> begins;
  while (!open.empty()) {
    auto [node, begin, end, depth] = open.back();
    open.pop_back();
    for (; begin < end && entries[begin].text.size() == depth; ++begin) {
      if (depth > 0) trie.units_[node].id = entries[begin].id;
    }
    if (begin == end) continue;
    labels.clear();
    begins.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const auto label = static_cast<std::uint8_t>(entries[i].text[depth]);
      if (!labels.empty() && labels.back() == label) continue;
      labels.push_back(label);
      begins.push_back(i);
    }
    begins.push_back(end);
    const std::uint32_t base = builder.Place(node, labels);
    for (std::size_t i = labels.size(); i-- > 0;) {
      open.push_back({base ^ labels[i], begins[i], begins[i + 1], depth + 1});
    }
  }
  return trie;
}

Result<Trie> Trie::Build(const Vocabulary& vocabulary) {
  std::vector<Entry> entries;
  entries.reserve(vocabulary.n_tokens());
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (const auto text = vocabulary.Text(id); text && vocabulary.Find(*text) == id) {
      entries.push_back({*text, id});
    }
  }
  return Build(std::move(entries));
}

}  // namespace lattice::tokenizers
