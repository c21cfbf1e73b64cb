#include "decoding/text_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/utf8.h"

namespace lattice::decoding {
namespace {

using tokenizers::Tokenizer;
using Ids = std::vector<TokenId>;
using Stop = TextStream::Stop;

// Bytes of characters as tokens of their own, and words.
std::shared_ptr<const Tokenizer> ByteLevel() {
  auto tokenizer = Tokenizer::FromJson(
      R"({"decoder": {"type": "ByteLevel"},
          "added_tokens": [{"id": 11, "content": "<|end|>", "special": true}],
          "model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "Ġbeta": 1, "Ġgam": 2, "ma": 3,
              "ple": 4, "as": 5, "ð": 6, "Ł": 7, "ĺ": 8, "Ģ": 9, "ðŁ": 10, "Ġ": 12}}})");
  LATTICE_CHECK(tokenizer.has_value());
  return *tokenizer;
}

struct Shown {
  std::vector<std::string> pieces;
  std::string text;
  Stop stop;
};

Shown RunStream(std::shared_ptr<const Tokenizer> tokenizer, const TextStreamOptions& options,
                const Ids& ids) {
  auto stream = TextStream::Create(std::move(tokenizer), options);
  LATTICE_CHECK(stream.has_value());
  Shown shown;
  for (std::size_t i = 0; i <= ids.size(); ++i) {
    std::string piece;
    const auto stop = i < ids.size() ? stream->Push(ids[i], piece) : stream->Finish(piece);
    EXPECT_TRUE(stop && IsValidUtf8(piece));
    shown.pieces.push_back(piece);
    shown.text += piece;
    shown.stop = *stop;
    if (*stop != Stop::kNone) break;
  }
  return shown;
}

TEST(TextStreamTest, ACharacterIsShownOnceItIsWhole) {
  const Shown shown = RunStream(ByteLevel(), {}, {0, 10, 8, 9, 0});
  EXPECT_EQ(shown.pieces, (std::vector<std::string>{"a", "", "", "😀", "a", ""}));
}

TEST(TextStreamTest, ABrokenCharacterIsOneReplacementAndWhatFollowsIsShown) {
  EXPECT_EQ(RunStream(ByteLevel(), {}, {6, 7, 1}).pieces,
            (std::vector<std::string>{"", "", "\uFFFD beta", ""}));
  // The text ends inside a character.
  EXPECT_EQ(RunStream(ByteLevel(), {}, {0, 6, 7, 8}).text, "a\uFFFD");
}

TEST(TextStreamTest, AStopTokenEndsTheTextAndShowsWhatWasHeld) {
  const TextStreamOptions options{.stop_strings = {"please"}, .stop_tokens = {11}};
  const Shown shown = RunStream(ByteLevel(), options, {4, 5, 11, 0});
  EXPECT_EQ(shown.text, "pleas");
  EXPECT_EQ(shown.stop, Stop::kToken);
  EXPECT_EQ(RunStream(ByteLevel(), options, {0, 10, 11}).text, "a\uFFFD");
}

TEST(TextStreamTest, AStopStringOverSeveralTokensIsCutExactly) {
  const Shown shown = RunStream(ByteLevel(), {.stop_strings = {"beta gamma"}}, {0, 1, 2, 3, 0});
  EXPECT_EQ(shown.text, "a ");
  EXPECT_EQ(shown.stop, Stop::kString);
}

TEST(TextStreamTest, TheHeldEndOfATextMayCompleteAStopString) {
  const Shown shown = RunStream(ByteLevel(), {.stop_strings = {"a\uFFFD"}}, {0, 0, 6});
  EXPECT_EQ(shown.text, "a");
  EXPECT_EQ(shown.stop, Stop::kString);
}

TEST(TextStreamTest, BadRequestsAreRefused) {
  EXPECT_FALSE(TextStream::Create(ByteLevel(), {.stop_tokens = {13}}));
  EXPECT_FALSE(TextStream::Create(ByteLevel(), {.stop_strings = {""}}));
  auto stream = TextStream::Create(ByteLevel(), {});
  ASSERT_TRUE(stream);
  std::string shown;
  EXPECT_FALSE(stream->Push(13, shown));
}

class FamilyTest : public testing::TestWithParam<const char*> {};

TEST_P(FamilyTest, AnyTokensOneByOneGiveWhatDecodeGives) {
  const auto tokenizer =
      Tokenizer::FromFolder(std::filesystem::path(LATTICE_FIXTURES) / GetParam());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::mt19937 random(77);
  for (int round = 0; round < 200; ++round) {
    Ids ids(1 + random() % 40);
    for (TokenId& id : ids) {
      // Special tokens stand at the beginning.
      id = static_cast<TokenId>(random() % (random() % 4 == 0 ? 6 : (*tokenizer)->vocab_size()));
    }
    for (const bool skip : {false, true}) {
      const auto decoded = (*tokenizer)->Decode(ids, skip);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(RunStream(*tokenizer, {.skip_special_tokens = skip}, ids).text, *decoded);
      if (skip) {
        Ids special, plain;
        for (TokenId id = 0; static_cast<std::size_t>(id) < (*tokenizer)->vocab_size(); ++id) {
          if ((*tokenizer)->IsSpecial(id)) special.push_back(id);
        }
        ASSERT_FALSE(special.empty());
        // The first special token is shown, the others are not.
        for (const TokenId id : ids) {
          if (id == special[0] || !(*tokenizer)->IsSpecial(id)) plain.push_back(id);
        }
        const Ids shown_ones = {special[0]};
        EXPECT_EQ(RunStream(*tokenizer, {.shown_special = shown_ones}, ids).text,
                  (*tokenizer)->Decode(plain, false).value());
      }
      // What is shown after some tokens does not depend on those to come.
      const Ids first(ids.begin(), ids.begin() + static_cast<long>(ids.size() / 2));
      const auto stream = (*tokenizer)->StartDecoding(skip);
      std::string shown;
      for (const TokenId id : first) ASSERT_TRUE(stream->Push(id, shown));
      EXPECT_TRUE(decoded->starts_with(shown));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, FamilyTest,
                         testing::Values("bert", "embeddinggemma", "modernbert", "qwen3_embedding",
                                         "xlm_roberta"));

}  // namespace
}  // namespace lattice::decoding
