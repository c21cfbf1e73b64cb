#include "engine/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <vector>

#include "engine/common_beginning.h"
#include "engine/test_engine.h"

namespace lattice::engine {
namespace {

using Ids = std::vector<TokenId>;

/// Short texts of few different tokens, so that they often share beginnings.
class PrefixTreeTest : public testing::Test {
 protected:
  PrefixTreeTest() {
    auto made =
        models::SequenceStore::Make(engine_.shape(), *engine_.backend, {kernels::KvType::kF16, 64});
    store_ = std::move(made).value();
  }

  Ids Random() {
    Ids ids(1 + random_() % 8);
    for (TokenId& id : ids) id = static_cast<TokenId>(random_() % 3);
    return ids;
  }

  void Put(const Ids& ids) {
    tree_.Insert(ids).sequence = store_->New();
    texts_.insert(ids);
  }
  void Take(const Ids& ids) {
    const PrefixTree::Match match = tree_.Find(ids);
    ASSERT_EQ(match.n_tokens, ids.size());
    ASSERT_EQ(match.node->n_tokens, ids.size());
    ASSERT_NE(match.node->sequence, nullptr);
    match.node->sequence = nullptr;
    tree_.Prune(*match.node);
    texts_.erase(ids);
  }
  /// What the tree finds is what comparing with each text finds.
  void Check(const Ids& ids) {
    std::size_t longest = 0;
    for (const Ids& text : texts_) longest = std::max(longest, CommonBeginning(text, ids));
    const PrefixTree::Match match = tree_.Find(ids);
    ASSERT_EQ(match.n_tokens, longest);
    ASSERT_GE(match.node->n_tokens, longest);
    const bool is_text = match.node->sequence != nullptr;
    ASSERT_TRUE(longest == 0 || is_text || match.node->children.size() > 1);
    Ids path;
    for (const PrefixNode* node = match.node; node != nullptr; node = node->parent) {
      path.insert(path.begin(), node->edge.begin(), node->edge.end());
      if (node->parent == nullptr) continue;
      ASSERT_EQ(node->parent->children.at(node->edge.front()).get(), node);
      ASSERT_EQ(node->n_tokens, node->parent->n_tokens + node->edge.size());
    }
    ASSERT_EQ(path.size(), match.node->n_tokens);
    ASSERT_EQ(CommonBeginning(path, ids), longest);
    ASSERT_EQ(is_text, texts_.contains(path));
  }

  TestEngine engine_{"llama"};
  std::shared_ptr<models::SequenceStore> store_;
  std::mt19937 random_{7};
  PrefixTree tree_;
  std::set<Ids> texts_;
};

TEST_F(PrefixTreeTest, FindsWhatComparingEachTextFinds) {
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(round);
    // Fuller and emptier by turns.
    if (texts_.empty() || random_() % 100 < (round % 600 < 300 ? 70u : 30u)) {
      Put(Random());
    } else {
      auto text = texts_.begin();
      std::advance(text, static_cast<std::ptrdiff_t>(random_() % texts_.size()));
      Take(Ids(*text));
    }
    Check(Random());
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace lattice::engine
