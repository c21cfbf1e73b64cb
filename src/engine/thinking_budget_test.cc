#include "engine/thinking_budget.h"

#include <gtest/gtest.h>

namespace lattice::engine {
namespace {

/// What becomes of the tokens that a model would say.
std::vector<TokenId> Say(const ThinkingLimit& limit, std::vector<TokenId> wanted) {
  ThinkingBudget budget(limit);
  for (TokenId& id : wanted) {
    id = budget.Forced().value_or(id);
    budget.Accept(id);
  }
  return wanted;
}

using Ids = std::vector<TokenId>;

TEST(ThinkingBudgetTest, CountsBetweenTheMarks) {
  const ThinkingLimit limit{.max_tokens = 2, .open = {1}, .close = 2, .closing = {9, 2}};
  EXPECT_EQ(Say(limit, {5, 5, 5, 1, 5, 5, 5, 5, 5}), (Ids{5, 5, 5, 1, 5, 5, 9, 2, 5}));
  EXPECT_EQ(Say(limit, {1, 5, 2, 5, 5, 5, 5}), (Ids{1, 5, 2, 5, 5, 5, 5})) << "closed by itself";
  EXPECT_EQ(Say(limit, {1, 5, 2, 1, 5, 5, 5}), (Ids{1, 5, 2, 1, 5, 9, 2})) << "all thinking counts";
}

TEST(ThinkingBudgetTest, AMarkOfSeveralTokensMustBeWhole) {
  const ThinkingLimit limit{.max_tokens = 1, .open = {1, 3, 4}, .close = 2, .closing = {2}};
  EXPECT_EQ(Say(limit, {1, 3, 4, 5, 5, 5}), (Ids{1, 3, 4, 5, 2, 5}));
  EXPECT_EQ(Say(limit, {1, 3, 1, 3, 4, 5, 5}), (Ids{1, 3, 1, 3, 4, 5, 2}));
  EXPECT_EQ(Say(limit, {1, 3, 5, 4, 5, 5}), (Ids{1, 3, 5, 4, 5, 5}));
}

TEST(ThinkingBudgetTest, ThePromptMayHaveBegunIt) {
  const ThinkingLimit limit{
      .max_tokens = 1, .open = {}, .close = 2, .begins_inside = true, .closing = {2, 7}};
  EXPECT_EQ(Say(limit, {5, 5, 5, 5}), (Ids{5, 2, 7, 5}));
  EXPECT_EQ(Say(limit, {2, 5, 5, 5}), (Ids{2, 5, 5, 5}));
}

}  // namespace
}  // namespace lattice::engine
