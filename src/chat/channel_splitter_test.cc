#include "chat/channel_splitter.h"

#include <gtest/gtest.h>

#include <string>

#include "chat/test_split.h"

namespace lattice::chat {
namespace {

SplitText Split(std::string_view text, bool inside, std::size_t piece_bytes) {
  return SplitInPieces(ChannelSplitter(inside), text, piece_bytes);
}

TEST(ChannelSplitterTest, PartsDoNotDependOnThePieces) {
  struct Case {
    std::string text;
    bool inside;
    std::string reasoning, answer;
  };
  const Case cases[] = {
      {"<|channel|>analysis<|message|>hm "
       "<b><|end|><|start|>assistant<|channel|>final<|message|>Yes.",
       false, "hm <b>", "Yes."},
      {"<|channel|>final<|message|>Yes.<|return|>", false, "", "Yes."},
      {"hm<|end|><|start|>assistant<|channel|>final<|message|> Yes", true, "hm", " Yes"},
      {"no header at all <|", false, "", "no header at all <|"},
      {" too short", false, "", " too short"},
      {"<|chan", false, "", "<|chan"},
      {"<|channel|>analysis", false, "", ""},
      {"<|channel|>analysis<|message|>never ends <|en", false, "never ends <|en", ""},
      {"<|channel|>analysis<|message|>a<|end|>\n<|start|>assistant<|channel|>analysis<|message|>b"
       "<|end|><|start|>assistant<|channel|>commentary<|message|>c<|end|><|start|>assistant<|"
       "channel|>"
       "final<|message|>d<|return|>",
       false, "a\n\nb", "c\n\nd"},
      {"<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>b", false, "a",
       "b"},
      {" to=functions.now<|channel|>commentary json<|message|>{}<|call|>", false, "", "{}"},
      {"<|channel|>analysis <|constrain|>json<|message|>a<|end|>b", false, "a", "b"},
      {"<|start|>assistant<|channel|>final<|message|>a", false, "", "a"},
      {"<|channel|>" + std::string(2000, 'x'), false, "", "<|channel|>" + std::string(2000, 'x')},
  };
  for (const Case& test : cases) {
    for (std::size_t n = 1; n <= 40; ++n) {
      SCOPED_TRACE(test.text.substr(0, 200) + " in pieces of " + std::to_string(n));
      const SplitText parts = Split(test.text, test.inside, n);
      EXPECT_EQ(parts.reasoning, test.reasoning);
      EXPECT_EQ(parts.answer, test.answer);
    }
  }
}

TEST(ChannelSplitterTest, TextComesAsSoonAsItIsCertain) {
  ChannelSplitter splitter(/*starts_inside=*/false);
  EXPECT_EQ(splitter.Push("<|channel|>analysis<|message|>a").reasoning, "a");
  EXPECT_TRUE(splitter.in_reasoning());
  EXPECT_EQ(splitter.Push("b<").reasoning, "b");
  EXPECT_EQ(splitter.Push("|end|").reasoning, "");
  const SplitText last = splitter.Push("><|start|>assistant<|channel|>final<|message|>c");
  EXPECT_EQ(last.reasoning, "");
  EXPECT_EQ(last.answer, "c");
  EXPECT_FALSE(splitter.in_reasoning());
}

}  // namespace
}  // namespace lattice::chat
