#include "chat/reasoning.h"

#include <gtest/gtest.h>

#include <string>

#include "chat/test_split.h"

namespace lattice::chat {
namespace {

const ReasoningMarkers kThink = {"<think>", "</think>"};

SplitText Split(std::string_view text, bool inside, std::size_t piece_bytes,
                const std::optional<ReasoningMarkers>& markers = kThink) {
  return SplitInPieces(ReasoningSplitter(markers, inside), text, piece_bytes);
}

TEST(ReasoningTest, PartsDoNotDependOnThePieces) {
  struct Case {
    const char* text;
    bool inside;
    const char* reasoning;
    const char* answer;
  };
  const Case cases[] = {
      {"<think>\nhm\n\nso\n</think>\n\nYes.", false, "hm\n\nso", "Yes."},
      {"\n <think>a</think>b", false, "a", "b"},
      {"hm</think> Yes </think> x", true, "hm", "Yes </think> x"},
      {"no markers at all", false, "", "no markers at all"},
      {" leading space stays", false, "", " leading space stays"},
      {"<thinking>", false, "", "<thinking>"},
      {"<thi", false, "", "<thi"},
      {"a <think>b</think>", false, "", "a <think>b</think>"},
      {"never ends</thi", true, "never ends</thi", ""},
      {"a </ think> </thin </think>b", true, "a </ think> </thin", "b"},
      {"<think></think>", false, "", ""},
      {"<think>\n\n</think>\n\n", false, "", ""},
      {"\n\n</think>x<think>y", true, "", "x<think>y"},
      {"<<think>", false, "", "<<think>"},
      {"ends in space \n", true, "ends in space", ""},
      {"\u2026\uFFFD\u2026", false, "", "\u2026\uFFFD\u2026"},
      {"<think>\uFFFD\u2026</think>\uFFFD\u2026", false, "\uFFFD\u2026", "\uFFFD\u2026"},
  };
  for (const Case& test : cases) {
    for (std::size_t n = 1; n <= 20; ++n) {
      SCOPED_TRACE(std::string(test.text) + " in pieces of " + std::to_string(n));
      const SplitText parts = Split(test.text, test.inside, n);
      EXPECT_EQ(parts.reasoning, test.reasoning);
      EXPECT_EQ(parts.answer, test.answer);
    }
  }
}

TEST(ReasoningTest, NoPartOfAMarkerIsGivenOut) {
  ReasoningSplitter splitter(kThink, /*starts_inside=*/true);
  EXPECT_EQ(splitter.Push("a</th").reasoning, "a");
  EXPECT_TRUE(splitter.in_reasoning());
  EXPECT_EQ(splitter.Push("ink").reasoning, "");
  const SplitText last = splitter.Push(">b");
  EXPECT_EQ(last.reasoning, "");
  EXPECT_EQ(last.answer, "b");
  EXPECT_FALSE(splitter.in_reasoning());
}

TEST(ReasoningTest, WithoutMarkersEverythingIsAnswer) {
  EXPECT_EQ(Split("<think>a</think>b", false, 3, std::nullopt).answer, "<think>a</think>b");
}

TEST(ReasoningTest, MarkersComeFromTheTemplate) {
  EXPECT_EQ(FindReasoningMarkers("{{ '<think>' }}{{ '</think>' }}")->open, "<think>");
  EXPECT_EQ(FindReasoningMarkers("x.split('[/THINK]')")->close, "[/THINK]");
  EXPECT_FALSE(FindReasoningMarkers("{{ messages }}"));
  // Mentioned, but not as what the model writes.
  EXPECT_FALSE(FindReasoningMarkers("{{ '<think>' }}"));
  EXPECT_FALSE(FindReasoningMarkers("{{ '<|channel|>final' }}"));
}

TEST(ReasoningTest, AThinkingChannelIsAPairOfMarkers) {
  const auto markers = FindReasoningMarkers("{{ '<|channel>thought\n' }}{{ '<channel|>' }}");
  ASSERT_TRUE(markers);
  for (std::size_t n = 1; n <= 20; ++n) {
    const auto parts = Split("<|channel>thought\nhm <b>\n<channel|>Yes.", false, n, markers);
    EXPECT_EQ(parts.reasoning, "hm <b>");
    EXPECT_EQ(parts.answer, "Yes.");
    EXPECT_EQ(Split("<|channel>other\nx", false, n, markers).answer, "<|channel>other\nx");
  }
  EXPECT_TRUE(OpensReasoning({"<|turn>model\n<|channel>thought\n", {}}, *markers));
  EXPECT_FALSE(OpensReasoning({"<|turn>model\n<|channel>thought\n<channel|>", {}}, *markers));
}

TEST(ReasoningTest, ChannelsAreFoundAndSplit) {
  const auto markers = FindReasoningMarkers("{{ '<|channel|>analysis<|message|>' }}");
  ASSERT_TRUE(markers && markers->channels);
  const std::string text =
      "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.";
  const auto parts = Split(text, false, 3, markers);
  EXPECT_EQ(parts.reasoning, "hm");
  EXPECT_EQ(parts.answer, "Yes.");
  EXPECT_TRUE(OpensReasoning({"<|start|>assistant<|channel|>analysis<|message|>", {}}, *markers));
  EXPECT_FALSE(OpensReasoning({"<|start|>assistant", {}}, *markers));
  EXPECT_EQ(Split("hm" + markers->closing + "Yes.", true, 4, markers).answer, "Yes.");
}

TEST(ReasoningTest, WhatClosesThinkingEarlyIsSplitOff) {
  for (const char* source : {"</think>", "[/THINK]", "<|END_THINKING|>", "</seed:think>",
                             "<|channel>thought", "<|channel|>analysis"}) {
    const auto markers = FindReasoningMarkers(source);
    ASSERT_TRUE(markers) << source;
    const auto parts = Split("hm" + markers->closing + "Yes.", true, 3, markers);
    EXPECT_EQ(parts.reasoning, "hm") << source;
    EXPECT_EQ(parts.answer, "Yes.") << source;
    const auto whole = Split(markers->open + "hm" + markers->close, false, 3, markers);
    EXPECT_EQ(whole.reasoning, "hm") << source;
  }
}

TEST(ReasoningTest, APromptOpensThinkingOnlyByTheTemplatesWords) {
  EXPECT_TRUE(OpensReasoning({"<|a|>\n<think>\n", {}}, kThink));
  EXPECT_TRUE(OpensReasoning({"x<think>", {{0, 1}}}, kThink));
  EXPECT_FALSE(OpensReasoning({"x<think>", {{0, 8}}}, kThink));
  EXPECT_FALSE(OpensReasoning({"<think>\n\n</think>\n\n", {}}, kThink));
  EXPECT_FALSE(OpensReasoning({"", {}}, kThink));
}

}  // namespace
}  // namespace lattice::chat
