#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

using Ids = std::vector<TokenId>;

std::string FileOf(const std::string& name) {
  const auto file = std::filesystem::path(LATTICE_FIXTURES) / "sentencepiece" / name;
  const auto text = ReadFile(file, std::size_t{1} << 24);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : "";
}

std::shared_ptr<const Tokenizer> Load(const std::string& name) {
  const auto tokenizer = Tokenizer::FromSentencePiece(FileOf(name + ".model"));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

Ids ToIds(const boost::json::value& list) {
  Ids ids;
  for (const auto& id : list.as_array()) ids.push_back(id.to_number<TokenId>());
  return ids;
}

std::string ToText(const boost::json::value& value) {
  return std::string(value.as_string().data(), value.as_string().size());
}

// What the SentencePiece library makes of the same strings: tests/fixtures/sentencepiece/make.py.
class SentencePieceTest : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceTest, IdsOffsetsAndTextsEqualTheLibrarys) {
  const auto tokenizer = Load(GetParam());
  ASSERT_NE(tokenizer, nullptr);
  const auto document = ParseJson(FileOf(std::string(GetParam()) + ".json"));
  ASSERT_TRUE(document) << document.error().message;
  ASSERT_GT(document->at("rows").as_array().size(), 150u);
  for (const auto& row : document->at("rows").as_array()) {
    SCOPED_TRACE(boost::json::serialize(row.at("text")));
    const auto encoding = tokenizer->Encode(ToText(row.at("text")), {.with_offsets = true});
    ASSERT_TRUE(encoding) << encoding.error().message;
    EXPECT_EQ(encoding->ids, ToIds(row.at("ids")));
    Ids spans;
    for (const Offset offset : encoding->offsets) {
      spans.push_back(static_cast<TokenId>(offset.begin));
      spans.push_back(static_cast<TokenId>(offset.end));
    }
    EXPECT_EQ(spans, ToIds(row.at("spans")));
    const auto plain = tokenizer->Encode(ToText(row.at("text")), {});
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->ids, encoding->ids);
    EXPECT_TRUE(plain->offsets.empty());
    const auto decoded = tokenizer->Decode(encoding->ids, /*skip_special_tokens=*/false);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, ToText(row.at("decoded")));
  }
  for (const auto& row : document->at("decodes").as_array()) {
    SCOPED_TRACE(boost::json::serialize(row.at("ids")));
    const auto decoded = tokenizer->Decode(ToIds(row.at("ids")), /*skip_special_tokens=*/true);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, ToText(row.at("decoded")));
  }
}

// One long word, without a place to cut: the time must not grow with the square of its length.
TEST_P(SentencePieceTest, ALongTextOfOneCharacterTakesNearLinearTime) {
  const auto tokenizer = Load(GetParam());
  ASSERT_NE(tokenizer, nullptr);
  for (const std::string unit : {"a", "\xE6\x9D\xB1", " ", "\xF0\x9F\x98\x80", "e\xCC\x81"}) {
    std::string text;
    while (text.size() < std::size_t{1} << 18) text += unit;
    const auto begin = std::chrono::steady_clock::now();
    const auto encoding = tokenizer->Encode(text, {.with_offsets = true});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(encoding) << encoding.error().message;
    EXPECT_LT(seconds.count(), 10.0) << unit;  // About 0.5 here; squared it would be hours.
  }
}

INSTANTIATE_TEST_SUITE_P(All, SentencePieceTest,
                         testing::Values("unigram", "unigram_bytes", "unigram_suffix",
                                         "unigram_unused", "bpe", "bpe_bytes", "bpe_unused",
                                         "bpe_no_prefix"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(SentencePieceTokenizerTest, IllFormedTextIsReadAsReplacementCharacters) {
  const auto tokenizer = Load("bpe_bytes");
  ASSERT_NE(tokenizer, nullptr);
  const auto bad = tokenizer->Encode("a\xFF\xE6\x9Dz", {.with_offsets = true});
  const auto good = tokenizer->Encode("a\xEF\xBF\xBD\xEF\xBF\xBDz", {.with_offsets = true});
  ASSERT_TRUE(bad && good);
  EXPECT_EQ(bad->ids, good->ids);
  EXPECT_EQ(bad->offsets, good->offsets);
}

TEST(SentencePieceTokenizerTest, PairsAreJoinedAndTruncatedLongestFirst) {
  const auto tokenizer = Load("bpe");
  ASSERT_NE(tokenizer, nullptr);
  const auto a = tokenizer->Encode("the river boat sings", {});
  const auto b = tokenizer->Encode("light", {});
  const auto pair = tokenizer->EncodePair("the river boat sings", "light", {.with_offsets = true});
  ASSERT_TRUE(a && b && pair);
  Ids joined = a->ids;
  joined.insert(joined.end(), b->ids.begin(), b->ids.end());
  EXPECT_EQ(pair->ids, joined);
  EXPECT_EQ(pair->type_ids.front(), 0);
  EXPECT_EQ(pair->type_ids.back(), 1);
  EXPECT_EQ(pair->offsets.size(), joined.size());
  const auto cut =
      tokenizer->EncodePair("the river boat sings", "light", {.max_tokens = b->ids.size() + 1});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->ids.size(), b->ids.size() + 1);
  EXPECT_EQ(cut->n_tokens_untruncated, joined.size());
}

TEST(SentencePieceTokenizerTest, IdsOutsideTheVocabularyAreRefused) {
  const auto tokenizer = Load("bpe");
  ASSERT_NE(tokenizer, nullptr);
  for (const TokenId id : {-1, static_cast<TokenId>(tokenizer->vocab_size()), INT32_MAX}) {
    const auto decoded = tokenizer->Decode(std::vector<TokenId>{id}, true);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(tokenizer->TokenText(-1), std::nullopt);
  EXPECT_EQ(tokenizer->Find("no such piece"), std::nullopt);
  EXPECT_EQ(tokenizer->TokenText(*tokenizer->Find("<s>")), "<s>");
}

}  // namespace
}  // namespace lattice::tokenizers
