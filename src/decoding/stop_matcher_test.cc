#include "decoding/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace lattice::decoding {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  std::string shown;
  std::optional<std::size_t> matched;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome RunMatcher(const Strings& stops, const Strings& pieces) {
  auto matcher = StopMatcher::Create(stops);
  LATTICE_CHECK(matcher.has_value());
  Outcome outcome;
  for (const std::string& piece : pieces) {
    if (matcher->Push(piece, outcome.shown)) break;
  }
  matcher->Finish(outcome.shown);
  outcome.matched = matcher->matched();
  return outcome;
}

// The definition, on the whole text.
Outcome Naive(const Strings& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> longest;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool complete = std::string_view(text).substr(0, end).ends_with(stops[i]);
      if (complete && (!longest || stops[i].size() > stops[*longest].size())) longest = i;
    }
    if (longest) return {text.substr(0, end - stops[*longest].size()), longest};
  }
  return {text, std::nullopt};
}

TEST(StopMatcherTest, NothingOfASplitStopIsShown) {
  auto matcher = StopMatcher::Create({"DEFGHIJ"});
  ASSERT_TRUE(matcher);
  std::string shown;
  EXPECT_FALSE(matcher->Push("ABC", shown));
  for (const char* piece : {"DEF", "G", "HI"}) {
    EXPECT_FALSE(matcher->Push(piece, shown));
    EXPECT_EQ(shown, "ABC");
  }
  EXPECT_TRUE(matcher->Push("JKL", shown));
  EXPECT_TRUE(matcher->Push("more", shown));
  matcher->Finish(shown);
  EXPECT_EQ(shown, "ABC");
  EXPECT_EQ(matcher->matched(), 0u);
}

TEST(StopMatcherTest, AStopAcrossAWordBorderIsFound) {
  EXPECT_EQ(RunMatcher({"beta gamma"}, {"alpha", " beta", " gam", "ma", " delta"}),
            (Outcome{"alpha ", 0}));
}

TEST(StopMatcherTest, HeldTextIsShownAtTheEnd) {
  EXPECT_EQ(RunMatcher({"please"}, {"ple", "as"}), (Outcome{"pleas", std::nullopt}));
  EXPECT_EQ(RunMatcher({"xas", "pleas "}, {"ple", "as"}), (Outcome{"pleas", std::nullopt}));
}

TEST(StopMatcherTest, OnlyWhatMayBecomeAStopIsHeld) {
  auto matcher = StopMatcher::Create({"abcabd", "</s>"});
  ASSERT_TRUE(matcher);
  std::string shown;
  EXPECT_FALSE(matcher->Push("xxabcab", shown));
  EXPECT_EQ(shown, "xx");
  EXPECT_FALSE(matcher->Push("c", shown));  // "abcabc" is out, "abc" may begin one.
  EXPECT_EQ(shown, "xxabc");
  EXPECT_FALSE(matcher->Push("< </", shown));
  EXPECT_EQ(shown, "xxabcabc< ");
  EXPECT_EQ(matcher->n_held(), 2u);
}

TEST(StopMatcherTest, OfOverlappingStopsTheFirstToBeCompleteCounts) {
  EXPECT_EQ(RunMatcher({"abcdef", "cd"}, {"xabcdef"}), (Outcome{"xab", 1}));
  EXPECT_EQ(RunMatcher({"cd", "abcd"}, {"xabcdef"}), (Outcome{"x", 1}));
  EXPECT_EQ(RunMatcher({"same", "same"}, {"the same"}), (Outcome{"the ", 0}));
}

TEST(StopMatcherTest, WithoutStopsEverythingIsShownAtOnce) {
  auto matcher = StopMatcher::Create({});
  ASSERT_TRUE(matcher);
  std::string shown;
  EXPECT_FALSE(matcher->Push("text", shown));
  EXPECT_EQ(shown, "text");
}

TEST(StopMatcherTest, BadStopsAreRefused) {
  EXPECT_FALSE(StopMatcher::Create({"ok", ""}));
  EXPECT_FALSE(StopMatcher::Create({"\xC3"}));
  EXPECT_FALSE(StopMatcher::Create({std::string(5000, 'a')}));
  EXPECT_FALSE(StopMatcher::Create(Strings(300, "a")));
}

TEST(StopMatcherTest, AnyCutIntoPiecesGivesTheDefinition) {
  std::mt19937 random(20);
  const auto pick = [&](std::size_t n) { return random() % n; };
  const Strings letters = {"a", "b", "é", "本"};
  const auto word = [&](std::size_t most) {
    std::string text;
    for (std::size_t i = 0, n = 1 + pick(most); i < n; ++i) text += letters[pick(letters.size())];
    return text;
  };
  for (int i = 0; i < 5000; ++i) {
    Strings stops(1 + pick(3)), pieces(1 + pick(12));
    for (std::string& stop : stops) stop = word(5);
    std::string text;
    for (std::string& piece : pieces) text += piece = word(4);
    ASSERT_EQ(RunMatcher(stops, pieces), Naive(stops, text)) << text;
    auto matcher = StopMatcher::Create(stops);
    for (const std::string& piece : pieces) {
      std::string shown;
      if (matcher->Push(piece, shown)) break;
      ASSERT_TRUE(IsValidUtf8(shown));
    }
  }
}

TEST(StopMatcherTest, LongRunsTakeLinearTime) {
  // Every byte may be the last but one of the stop string.
  const std::string stop = std::string(4000, 'a') + "b";
  auto matcher = StopMatcher::Create({stop});
  ASSERT_TRUE(matcher);
  std::string shown;
  const std::string piece(1 << 20, 'a');
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(matcher->Push(piece, shown));
  EXPECT_EQ(shown.size(), (std::size_t{8} << 20) - 4000);
}

}  // namespace
}  // namespace lattice::decoding
