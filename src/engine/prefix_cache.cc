#include "engine/prefix_cache.h"

#include <algorithm>
#include <utility>

#include "lattice/check.h"

namespace lattice::engine {
namespace {

std::vector<TokenId> IdsOf(const PrefixNode& node) {
  std::vector<TokenId> ids(node.n_tokens);
  for (const PrefixNode* at = &node; at->parent != nullptr; at = at->parent) {
    std::ranges::copy(at->edge, ids.begin() + static_cast<std::ptrdiff_t>(at->parent->n_tokens));
  }
  return ids;
}

}  // namespace

PrefixCache::PrefixCache(const models::StateShape& shape, kernels::KvType kv_type,
                         std::size_t max_bytes, std::size_t n_pages)
    : is_recurrent_(shape.BytesPerSequence() > 0),
      max_bytes_(max_bytes),
      page_bytes_(shape.BytesPerToken(kv_type) * kernels::kPageTokens),
      bytes_per_state_(shape.BytesPerSequence()),
      page_users_(n_pages) {}

PrefixNode* PrefixCache::Cuttable(PrefixNode& node, std::size_t n, bool is_recurrent) {
  // Recurrent layers go back by less than a chunk.
  if (is_recurrent && node.n_tokens >= n + kernels::kDeltaChunk) return nullptr;
  if (node.sequence != nullptr && node.sequence->earliest() <= n) return &node;
  for (const auto& [id, child] : node.children) {
    if (PrefixNode* found = Cuttable(*child, n, is_recurrent)) return found;
  }
  return nullptr;
}

PrefixCache::Source PrefixCache::Longest(std::span<const TokenId> ids) {
  const PrefixTree::Match match = tree_.Find(ids);
  if (match.n_tokens == 0) return {};
  if (PrefixNode* node = Cuttable(*match.node, match.n_tokens, is_recurrent_)) {
    return {node, match.n_tokens};
  }
  PrefixNode* above = match.node;
  while (above != nullptr && (above->sequence == nullptr || above->n_tokens > match.n_tokens)) {
    above = above->parent;
  }
  return above == nullptr ? Source() : Source{above, above->n_tokens};
}

Result<std::unique_ptr<models::Sequence>> PrefixCache::Find(std::span<const TokenId> ids,
                                                            std::size_t n_known) {
  const Source source = Longest(ids);
  if (source.n_tokens <= n_known) return std::unique_ptr<models::Sequence>();
  Use(*source.node);
  LATTICE_TRY(auto sequence, source.node->sequence->Fork());
  LATTICE_TRY_VOID(sequence->Truncate(source.n_tokens));
  return sequence;
}

bool PrefixCache::Holds(std::span<const TokenId> ids) {
  const PrefixTree::Match match = tree_.Find(ids);
  if (ids.empty() || match.n_tokens < ids.size()) return false;
  PrefixNode* node = match.node;
  if (!is_recurrent_) {
    node = Cuttable(*node, ids.size(), is_recurrent_);
  } else if (node->n_tokens != ids.size() || node->sequence == nullptr) {
    return false;
  }
  Use(*node);
  return true;
}

void PrefixCache::Keep(std::span<const TokenId> ids, std::unique_ptr<models::Sequence> sequence) {
  if (!is_on() || ids.empty() || Holds(ids)) return;
  LATTICE_CHECK(sequence->n_tokens() == ids.size());
  if (!sequence->Truncate(ids.size())) return;  // gives back what is reserved beyond
  PrefixNode& node = tree_.Insert(ids);
  CountPages(*sequence, /*added=*/true);
  node.sequence = std::move(sequence);
  node.last_use = ++clock_;
  by_use_.emplace(node.last_use, &node);
  if (!is_recurrent_) {
    // The new one can be cut to any of these. Drop may take nodes away, so the next is found first.
    for (PrefixNode* above = node.parent; above != nullptr;) {
      PrefixNode* const next = above->parent;
      if (above->sequence != nullptr) Drop(*above);
      above = next;
    }
  }
  while (bytes() > max_bytes_ || n_texts() > kMaxTexts) Evict();
}

std::vector<KeptText> PrefixCache::Texts(std::size_t max_bytes) const {
  std::vector<KeptText> texts;
  std::vector<bool> counted(page_users_.size());
  for (auto entry = by_use_.rbegin(); entry != by_use_.rend(); ++entry) {
    const models::Sequence& sequence = *entry->second->sequence;
    const auto pages = sequence.pages();
    const auto n_new = static_cast<std::size_t>(
        std::ranges::count_if(pages, [&](std::uint32_t page) { return !counted[page]; }));
    const std::size_t bytes = n_new * page_bytes_ + bytes_per_state_;
    if (bytes > max_bytes) continue;
    max_bytes -= bytes;
    for (const std::uint32_t page : pages) counted[page] = true;
    texts.push_back({IdsOf(*entry->second), &sequence});
  }
  std::ranges::sort(texts, {}, &KeptText::ids);
  return texts;
}

bool PrefixCache::Evict() {
  if (by_use_.empty()) return false;
  Drop(*by_use_.begin()->second);
  return true;
}

void PrefixCache::Clear() {
  while (Evict()) {
  }
}

void PrefixCache::Use(PrefixNode& node) {
  auto entry = by_use_.extract(node.last_use);
  entry.key() = node.last_use = ++clock_;
  by_use_.insert(std::move(entry));
}

void PrefixCache::Drop(PrefixNode& node) {
  CountPages(*node.sequence, /*added=*/false);
  by_use_.erase(node.last_use);
  node.sequence = nullptr;
  tree_.Prune(node);
}

void PrefixCache::CountPages(const models::Sequence& sequence, bool added) {
  for (const std::uint32_t page : sequence.pages()) {
    if (added) {
      n_pages_ += page_users_.at(page)++ == 0 ? 1 : 0;
    } else {
      n_pages_ -= --page_users_.at(page) == 0 ? 1 : 0;
    }
  }
}

}  // namespace lattice::engine
