#include "engine/prefix_tree.h"

#include <algorithm>
#include <utility>

#include "lattice/check.h"

namespace lattice::engine {

PrefixTree::Match PrefixTree::Find(std::span<const TokenId> ids) {
  PrefixNode* node = &root_;
  while (node->n_tokens < ids.size()) {
    const auto child = node->children.find(ids[node->n_tokens]);
    if (child == node->children.end()) break;
    const std::size_t begin = node->n_tokens;
    node = child->second.get();
    const auto differs = std::ranges::mismatch(node->edge, ids.subspan(begin));
    const std::size_t n = begin + static_cast<std::size_t>(differs.in1 - node->edge.begin());
    if (n < node->n_tokens) return {node, n};
  }
  return {node, node->n_tokens};
}

PrefixNode& PrefixTree::Insert(std::span<const TokenId> ids) {
  LATTICE_CHECK(!ids.empty());
  const Match match = Find(ids);
  PrefixNode& at =
      match.n_tokens < match.node->n_tokens ? Split(*match.node, match.n_tokens) : *match.node;
  if (at.n_tokens == ids.size()) return at;
  auto node = std::make_unique<PrefixNode>();
  const auto edge = ids.subspan(at.n_tokens);
  node->parent = &at;
  node->edge.assign(edge.begin(), edge.end());
  node->n_tokens = ids.size();
  return *(at.children[edge.front()] = std::move(node));
}

/// A node in the middle of the edge that leads to `node`.
PrefixNode& PrefixTree::Split(PrefixNode& node, std::size_t n_tokens) {
  const auto keep = static_cast<std::ptrdiff_t>(n_tokens - (node.n_tokens - node.edge.size()));
  std::unique_ptr<PrefixNode>& link = node.parent->children[node.edge.front()];
  auto upper = std::make_unique<PrefixNode>();
  upper->parent = node.parent;
  upper->edge.assign(node.edge.begin(), node.edge.begin() + keep);
  upper->n_tokens = n_tokens;
  node.edge.erase(node.edge.begin(), node.edge.begin() + keep);
  node.parent = upper.get();
  upper->children[node.edge.front()] = std::exchange(link, nullptr);
  link = std::move(upper);
  return *link;
}

void PrefixTree::Prune(PrefixNode& node) {
  if (&node == &root_ || node.sequence != nullptr || node.children.size() > 1) return;
  PrefixNode& parent = *node.parent;
  const TokenId first = node.edge.front();
  if (node.children.empty()) {
    parent.children.erase(first);
    return Prune(parent);
  }
  std::unique_ptr<PrefixNode> child = std::move(node.children.begin()->second);
  child->edge.insert(child->edge.begin(), node.edge.begin(), node.edge.end());
  child->parent = &parent;
  parent.children[first] = std::move(child);
}

}  // namespace lattice::engine
