#include "tokenizers/plain_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "base/utf8.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

using Ids = std::vector<TokenId>;

// Byte-level, with markers, one of which swallows white space, and tokens of white space.
std::shared_ptr<const Tokenizer> Qwen() {
  auto tokenizer = Tokenizer::FromJson(
      R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
          "decoder": {"type": "ByteLevel"},
          "added_tokens": [{"id": 20, "content": "<|e|>", "special": true},
                           {"id": 21, "content": "<t>"}, {"id": 22, "content": "\n\n"},
                           {"id": 23, "content": "<|e|>>", "special": true},
                           {"id": 24, "content": "<m>", "special": true, "normalized": true}],
          "model": {"type": "BPE", "merges": ["Ġ e"], "vocab": {"<": 0, "|": 1, "e": 2,
              ">": 3, "t": 4, "Ċ": 5, "Ġ": 6, "Ġe": 7, "m": 9}}})");
  LATTICE_CHECK(tokenizer.has_value());
  return *tokenizer;
}

Ids Encode(const Tokenizer& tokenizer, std::string_view text, std::vector<ByteRange> ranges) {
  const auto encoding =
      tokenizer.Encode(text, {.add_special_tokens = false, .plain_ranges = ranges});
  EXPECT_TRUE(encoding) << encoding.error().message;
  return encoding ? encoding->ids : Ids{};
}

TEST(PlainRangesTest, MarkersInsideAreText) {
  const auto tokenizer = Qwen();
  const std::string text = "<|e|>e<|e|><t>\n\n<m>";
  EXPECT_EQ(Encode(*tokenizer, text, {}), (Ids{20, 2, 20, 21, 22, 24}));
  EXPECT_EQ(Encode(*tokenizer, text, {{5, text.size()}}),
            (Ids{20, 2, 0, 1, 2, 1, 3, 0, 4, 3, 22, 0, 9, 3}));
  EXPECT_EQ(Encode(*tokenizer, text, {{5, 6}}), (Ids{20, 2, 20, 21, 22, 24}));
}

TEST(PlainRangesTest, MarkersAcrossABorderAreTextAndShorterOnesBesideItAreNot) {
  const auto tokenizer = Qwen();
  EXPECT_EQ(Encode(*tokenizer, "<|e|>", {{3, 5}}), (Ids{0, 1, 2, 1, 3}));
  EXPECT_EQ(Encode(*tokenizer, "<|e|>", {{0, 1}}), (Ids{0, 1, 2, 1, 3}));
  EXPECT_EQ(Encode(*tokenizer, "<m>", {{2, 3}}), (Ids{0, 9, 3}));
  // The longer marker would reach into the range.
  EXPECT_EQ(Encode(*tokenizer, "<|e|>>", {{5, 6}}), (Ids{20, 3}));
  EXPECT_EQ(Encode(*tokenizer, "\n\n", {{1, 2}}), Ids{22});
}

TEST(PlainRangesTest, EmptyRangesMarkNothingEvenInsideACharacter) {
  const std::string text = "a\xE2\x96\x81z";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::vector<ByteRange> ranges = {{at, at}, {4, 5}};
    const auto spans = PlainSpans(text, at <= 4 ? std::span(ranges) : std::span(ranges).first(1));
    ASSERT_TRUE(spans) << spans.error().message;
    ASSERT_EQ(spans->size(), at <= 4 ? 1u : 0u) << at;
    for (const Span span : *spans) EXPECT_EQ(span.begin, 4u) << at;
  }
}

TEST(PlainRangesTest, MergesReachAcrossBorders) {
  EXPECT_EQ(Encode(*Qwen(), "t ett", {{2, 3}}), (Ids{4, 7, 4, 4}));
}

TEST(PlainRangesTest, AModelThatSpellsASpecialTokenIsOverruled) {
  // As XLM-R: "</s>" is among the pieces.
  auto tokenizer = Tokenizer::FromJson(
      R"({"added_tokens": [{"id": 1, "content": "</s>", "special": true}],
          "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["</s>", 0],
              ["<", -2], ["/", -2], ["s", -2], [">", -2], ["a", -2]]}})");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(Encode(**tokenizer, "a</s>", {}), (Ids{6, 1}));
  EXPECT_EQ(Encode(**tokenizer, "a</s>", {{0, 5}}), (Ids{6, 2, 3, 4, 5}));
  EXPECT_EQ(Encode(**tokenizer, "a</s>z", {{2, 3}}), (Ids{6, 2, 3, 4, 5, 0}));
}

TEST(PlainRangesTest, ARangeInsideACharacterMeansAllOfIt) {
  auto tokenizer = Tokenizer::FromJson(
      R"({"added_tokens": [{"id": 3, "content": "é", "special": true}],
          "model": {"type": "BPE", "merges": [], "vocab": {"é": 0, "a": 1, "\uFFFD": 2}}})");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(Encode(**tokenizer, "aéa", {}), (Ids{1, 3, 1}));
  EXPECT_EQ(Encode(**tokenizer, "aéa", {{2, 3}}), (Ids{1, 0, 1}));
  EXPECT_EQ(Encode(**tokenizer, "aéa", {{0, 1}, {3, 4}}), (Ids{1, 3, 1}));
  // U+FFFD in place of a broken byte moves what follows.
  EXPECT_EQ(Encode(**tokenizer, "\xFFéé", {{1, 3}}), (Ids{2, 0, 3}));
  EXPECT_EQ(Encode(**tokenizer, "\xFFéé", {{0, 1}, {3, 4}}), (Ids{2, 3, 0}));
}

TEST(PlainRangesTest, RangesOutOfOrderAreRefused) {
  const auto tokenizer = Qwen();
  for (const std::vector<ByteRange>& ranges :
       {std::vector<ByteRange>{{0, 4}}, {{2, 1}}, {{1, 2}, {0, 1}}, {{0, 2}, {1, 3}}}) {
    const auto encoding = tokenizer->Encode("eee", {.plain_ranges = ranges});
    ASSERT_FALSE(encoding);
    EXPECT_EQ(encoding.error().code, ErrorCode::kInvalidArgument);
  }
  const ByteRange all{0, 1};
  EXPECT_FALSE(tokenizer->EncodePair("e", "e", {.plain_ranges = {&all, 1}}));
}

class ShippedTest : public testing::TestWithParam<const char*> {};

TEST_P(ShippedTest, NothingInARangeBecomesSpecialAndHarmlessTextIsAsEver) {
  const auto loaded = Tokenizer::FromFolder(std::filesystem::path(LATTICE_FIXTURES) / GetParam());
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  std::vector<std::string> special;
  std::vector<bool> is_special(tokenizer.vocab_size());
  for (std::size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const Ids id = {static_cast<TokenId>(i)};
    const auto shown = tokenizer.Decode(id, false), skipped = tokenizer.Decode(id, true);
    ASSERT_TRUE(shown && skipped);
    if (shown->empty() || !skipped->empty()) continue;
    // The token for unknown text may stand for plain text.
    is_special[i] = shown->find("unk") == std::string::npos && *shown != "[UNK]";
    special.push_back(*shown);
  }
  ASSERT_FALSE(special.empty());
  std::mt19937 random(5);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  const std::vector<std::string> words = {"hello", " world", "\n\n", "  ", "<",
                                          "|>",    "12",     "é",    "[",  "s>"};
  for (int round = 0; round < 300; ++round) {
    // A forged token, cut anywhere into a trusted part, a range, and a trusted part.
    const std::string forged = pick(special);
    const std::string text = pick(words) + forged + pick(words);
    const std::size_t begin = random() % text.size();
    const std::size_t end = begin + random() % (text.size() - begin) + 1;
    const std::size_t at = text.find(forged), at_end = at + forged.size();
    if (begin < at_end && end > at) {
      const Ids ids = Encode(tokenizer, text, {{begin, end}});
      EXPECT_TRUE(std::ranges::none_of(
          ids, [&](TokenId id) { return is_special[static_cast<std::size_t>(id)]; }))
          << text << " " << begin << " " << end;
    }
    std::string harmless;
    for (int i = 0; i < 6; ++i)
      harmless += pick({"hello", " world", "\n\n", "   ", "12", "é", ","});
    const std::size_t middle = random() % harmless.size();
    EXPECT_EQ(Encode(tokenizer, harmless, {{0, middle}}), Encode(tokenizer, harmless, {}));
    EXPECT_EQ(Encode(tokenizer, harmless, {{middle, harmless.size()}}),
              Encode(tokenizer, harmless, {}));
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedTest,
                         testing::Values("bert", "embeddinggemma", "modernbert", "qwen3_embedding",
                                         "xlm_roberta"));

}  // namespace
}  // namespace lattice::tokenizers
