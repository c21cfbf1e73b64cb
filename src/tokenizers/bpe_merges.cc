#include "tokenizers/bpe_merges.h"

#include <algorithm>
#include <bit>

namespace lattice::tokenizers {
namespace {

constexpr std::uint64_t kNoMerge = UINT64_MAX;
constexpr std::uint32_t kNowhere = UINT32_MAX;
constexpr std::size_t kShort = 40;  // symbols; measured: the heap wins beyond this

// Rank first, so that the smaller number is the more urgent merge.
std::uint64_t Packed(const MergeTable& merges, const Piece& left, const Piece& right) {
  const auto merge = merges.Find(left.id, right.id);
  if (!merge) return kNoMerge;
  return std::uint64_t{merge->rank} << 32 | static_cast<std::uint32_t>(merge->id);
}
TokenId IdOf(std::uint64_t packed) { return static_cast<TokenId>(packed & 0xFFFFFFFFu); }

}  // namespace

void MergeTable::Reserve(std::size_t n_merges) {
  const std::size_t n_slots = std::bit_ceil(std::max<std::size_t>(16, n_merges * 2));
  if (n_slots <= entries_.size()) return;
  std::vector<Entry> old(n_slots);
  old.swap(entries_);
  mask_ = n_slots - 1;
  for (const Entry& entry : old) {
    if (entry.key == kEmpty) continue;
    std::size_t slot = Hash(entry.key) & mask_;
    while (entries_[slot].key != kEmpty) slot = (slot + 1) & mask_;
    entries_[slot] = entry;
  }
}

Status MergeTable::Add(TokenId left, TokenId right, Merge merge) {
  constexpr std::size_t kMaxProbes = 2048;  // No chance in a table that is half full.
  if ((n_merges_ + 1) * 2 > entries_.size()) Reserve(std::max<std::size_t>(8, n_merges_ * 2));
  const std::uint64_t key = KeyOf(left, right);
  std::size_t slot = Hash(key) & mask_;
  std::size_t n_probes = 0;
  for (; entries_[slot].key != kEmpty && entries_[slot].key != key; slot = (slot + 1) & mask_) {
    if (++n_probes > kMaxProbes) {
      return Error{ErrorCode::kCorruptData, "the merges are made to collide in a hash table"};
    }
  }
  if (entries_[slot].key == kEmpty) ++n_merges_;
  entries_[slot] = {key, merge};
  return Ok();
}

void BpeMerger::Run(const MergeTable& merges, std::vector<Piece>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) {
    RunShort(merges, symbols);
  } else {
    RunLong(merges, symbols);
  }
}

void BpeMerger::RunShort(const MergeTable& merges, std::vector<Piece>& symbols) {
  auto& pairs = pair_merges_;  // pairs[i] joins symbols i and i + 1
  pairs.resize(symbols.size() - 1);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = Packed(merges, symbols[i], symbols[i + 1]);
  }
  while (!pairs.empty()) {
    const auto best = std::ranges::min_element(pairs);
    if (*best == kNoMerge) return;
    const auto i = static_cast<std::size_t>(best - pairs.begin());
    symbols[i].id = IdOf(*best);
    symbols[i].end = symbols[i + 1].end;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    pairs.erase(best);
    if (i > 0) pairs[i - 1] = Packed(merges, symbols[i - 1], symbols[i]);
    if (i < pairs.size()) pairs[i] = Packed(merges, symbols[i], symbols[i + 1]);
  }
}

void BpeMerger::RunLong(const MergeTable& merges, std::vector<Piece>& symbols) {
  const auto later = [](const Waiting& a, const Waiting& b) {
    return a.rank_and_position > b.rank_and_position;
  };
  const auto waiting = [](std::uint64_t merge, std::uint32_t position) {
    return Waiting{(merge >> 32 << 32) | position, IdOf(merge)};
  };
  const auto n = static_cast<std::uint32_t>(symbols.size());
  symbols_.resize(n);
  heap_.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool is_last = i + 1 == n;
    symbols_[i] = {i == 0 ? kNowhere : i - 1, is_last ? kNowhere : i + 1,
                   is_last ? kNoMerge : Packed(merges, symbols[i], symbols[i + 1])};
    if (symbols_[i].merge != kNoMerge) heap_.push_back(waiting(symbols_[i].merge, i));
  }
  std::ranges::make_heap(heap_, later);

  const auto offer = [&](std::uint32_t position) {
    Symbol& symbol = symbols_[position];
    symbol.merge = symbol.next == kNowhere
                       ? kNoMerge
                       : Packed(merges, symbols[position], symbols[symbol.next]);
    if (symbol.merge == kNoMerge) return;
    heap_.push_back(waiting(symbol.merge, position));
    std::ranges::push_heap(heap_, later);
  };
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, later);
    const Waiting top = heap_.back();
    heap_.pop_back();
    const auto position = static_cast<std::uint32_t>(top.rank_and_position & 0xFFFFFFFFu);
    Symbol& left = symbols_[position];
    const std::uint64_t merge =
        top.rank_and_position >> 32 << 32 | static_cast<std::uint32_t>(top.id);
    if (left.merge != merge) continue;
    Symbol& right = symbols_[left.next];
    symbols[position].id = top.id;
    symbols[position].end = symbols[left.next].end;
    symbols[left.next].id = -1;
    right.merge = kNoMerge;
    left.next = right.next;
    if (left.next != kNowhere) symbols_[left.next].previous = position;
    offer(position);
    if (left.previous != kNowhere) offer(left.previous);
  }
  std::erase_if(symbols, [](const Piece& symbol) { return symbol.id < 0; });
}

}  // namespace lattice::tokenizers
