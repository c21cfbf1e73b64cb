#include "engine/task.h"

#include <gtest/gtest.h>

#include <vector>

namespace lattice::engine {
namespace {

using Places = std::vector<std::size_t>;

TEST(PlacesToKeep, AttentionCanBeCutAnywhere) {
  EXPECT_EQ(PlacesToKeep(500, false, {100, 200}, 64), Places({500}));
}

TEST(PlacesToKeep, RecurrentStatesOfTheEndOfMessagesAndOfLongTexts) {
  EXPECT_EQ(PlacesToKeep(500, true, {}, 0), Places({500}));
  EXPECT_EQ(PlacesToKeep(500, true, {300, 100}, 0), Places({100, 300, 500}));
  EXPECT_EQ(PlacesToKeep(500, true, {}, 200), Places({200, 400, 500}));
  EXPECT_EQ(PlacesToKeep(500, true, {0, 501, 100000}, 0), Places({500}));
}

TEST(PlacesToKeep, AStateGoesBackToTheBeginningOfItsChunk) {
  EXPECT_EQ(PlacesToKeep(500, true, {480, 490, 499}, 0), Places({500}));
  EXPECT_EQ(PlacesToKeep(500, true, {479, 481}, 0), Places({479, 500}));
}

TEST(PlacesToKeep, AWholeChunksEndIsKeptOneTokenEarlier) {
  EXPECT_EQ(PlacesToKeep(512, true, {}, 0), Places({511}));
  EXPECT_EQ(PlacesToKeep(1, true, {1}, 1), Places({1}));
}

}  // namespace
}  // namespace lattice::engine
