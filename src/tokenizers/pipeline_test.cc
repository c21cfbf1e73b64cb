// What the pipeline adds to its parts: truncation, pairs, added tokens, hostile texts.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer.h"
#include "tokenizers/truncation.h"

namespace lattice::tokenizers {
namespace {

using Ids = std::vector<TokenId>;

// Words of letters, single digits and punctuation; everything else is unknown.
constexpr std::string_view kWordPiece = R"({
  "added_tokens": [
    {"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true},
    {"id": 9, "content": "<strip>", "special": true, "lstrip": true, "rstrip": true},
    {"id": 10, "content": "<word>", "single_word": true, "normalized": false},
    {"id": 11, "content": "LOUD", "normalized": true}],
  "normalizer": {"type": "BertNormalizer"},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, ",": 3, ".": 4, "ab": 5, "##c": 6,
                      "a": 7, "loud": 8}}})";

constexpr std::string_view kByteLevel = R"({
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "aa": 1, "Ġ": 2, "Ċ": 3, "1": 4},
            "merges": ["a a"]}})";

std::shared_ptr<const Tokenizer> Load(std::string_view json) {
  const auto tokenizer = Tokenizer::FromJson(json);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *tokenizer;
}

Ids IdsOf(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  const auto encoding = tokenizer.Encode(text, options);
  EXPECT_TRUE(encoding) << encoding.error().message;
  return encoding ? encoding->ids : Ids{};
}

std::string Repeat(std::string_view unit, std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += unit;
  return text;
}

TEST(TruncationTest, LongerTextLosesFirst) {
  using Lengths = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(TruncatedLengths(3, 4, 7), Lengths(3, 4));
  EXPECT_EQ(TruncatedLengths(3, 10, 7), Lengths(3, 4));
  EXPECT_EQ(TruncatedLengths(10, 3, 7), Lengths(4, 3));
  EXPECT_EQ(TruncatedLengths(10, 10, 7), Lengths(3, 4));
  EXPECT_EQ(TruncatedLengths(11, 10, 7), Lengths(4, 3));
  EXPECT_EQ(TruncatedLengths(0, 10, 7), Lengths(0, 7));
  EXPECT_EQ(TruncatedLengths(10, 0, 7), Lengths(7, 0));
  EXPECT_EQ(TruncatedLengths(5, 5, 0), Lengths(0, 0));
  EXPECT_EQ(TruncatedLengths(1, 1, 1), Lengths(0, 1));
}

TEST(TruncationTest, NeverLongerThanAskedAndNeverShorterThanNeeded) {
  for (std::size_t a = 0; a < 12; ++a) {
    for (std::size_t b = 0; b < 12; ++b) {
      for (std::size_t max = 0; max < 26; ++max) {
        const auto [n_a, n_b] = TruncatedLengths(a, b, max);
        EXPECT_LE(n_a, a);
        EXPECT_LE(n_b, b);
        EXPECT_EQ(n_a + n_b, std::min(a + b, max)) << a << " " << b << " " << max;
      }
    }
  }
}

TEST(PipelineTest, TruncatesBeforeTheTemplate) {
  const auto tokenizer = Load(kWordPiece);
  const auto encoding = tokenizer->Encode("a , . ab", {.max_tokens = 4});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (Ids{1, 7, 3, 2}));
  EXPECT_EQ(encoding->n_tokens_untruncated, 6u);
  EXPECT_TRUE(encoding->truncated());
  EXPECT_FALSE(tokenizer->Encode("a", {.max_tokens = 3})->truncated());
}

TEST(PipelineTest, OneTokenWithoutSpecialTokensFits) {
  EXPECT_EQ(IdsOf(*Load(kWordPiece), "a b c", {.add_special_tokens = false, .max_tokens = 1}),
            (Ids{7}));
}

TEST(PipelineTest, NoRoomForTheTemplateIsAnError) {
  const auto tokenizer = Load(kWordPiece);
  const auto one = tokenizer->Encode("a", {.max_tokens = 1});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(tokenizer->EncodePair("a", "a", {.max_tokens = 2}));
  EXPECT_EQ(IdsOf(*tokenizer, "a b", {.max_tokens = 2}), (Ids{1, 2}));
}

TEST(PipelineTest, LongPairsAreCutEvenly) {
  const auto tokenizer = Load(kWordPiece);
  const auto encoding =
      tokenizer->EncodePair(Repeat(",", 125), Repeat(".", 130), {.max_tokens = 128});
  ASSERT_TRUE(encoding);
  Ids expected = {1};
  expected.insert(expected.end(), 62, 3);
  expected.push_back(2);
  expected.insert(expected.end(), 63, 4);
  expected.push_back(2);
  EXPECT_EQ(encoding->ids, expected);
  EXPECT_EQ(encoding->n_tokens_untruncated, 258u);
}

TEST(PipelineTest, PairsWithAnEmptyMember) {
  const auto tokenizer = Load(kWordPiece);
  const auto second = tokenizer->EncodePair("", "a , .", {.max_tokens = 5});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->ids, (Ids{1, 2, 7, 3, 2}));
  EXPECT_EQ(second->type_ids, (std::vector<std::uint8_t>{0, 0, 1, 1, 1}));
  const auto first = tokenizer->EncodePair("a , .", "", {.max_tokens = 5});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ids, (Ids{1, 7, 3, 2, 2}));
}

TEST(PipelineTest, SectionsThatGrowAreBoundedTogether) {
  const auto tokenizer = Load(R"({
    "added_tokens": [{"id": 1, "content": "|", "special": true}],
    "normalizer": {"type": "Prepend", "prepend": ")" +
                              Repeat("a", 1 << 20) + R"("},
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "|": 1}}})");
  EXPECT_EQ(IdsOf(*tokenizer, "x|x|x").size(), 5u);
  const auto encoding = tokenizer->Encode(Repeat("x|", 100), {});
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().code, ErrorCode::kResourceExhausted);
}

TEST(PipelineTest, DecodedTokensThatGrowAreBoundedTogether) {
  const auto tokenizer = Load(R"({
    "decoder": {"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                              Repeat("b", 1 << 20) + R"("},
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})");
  EXPECT_EQ(tokenizer->Decode(Ids(2, 1), true)->size(), std::size_t{2} << 20);
  const auto text = tokenizer->Decode(Ids(100, 1), true);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kResourceExhausted);
}

TEST(AddedTokenTest, ManyTokensThatTakeTheSameSpacesTakeLinearTime) {
  const auto tokenizer = Load(R"({
    "added_tokens": [{"id": 1, "content": " ", "rstrip": true, "normalized": false}],
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, " ": 1}}})");
  const std::size_t n = 1 << 20;
  EXPECT_EQ(IdsOf(*tokenizer, std::string(n, ' ')).size(), n);
}

TEST(AddedTokenTest, TakesTheSpacesAround) {
  const auto encoding =
      Load(kWordPiece)
          ->Encode("a   <strip>  a", {.add_special_tokens = false, .with_offsets = true});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (Ids{7, 9, 7}));
  EXPECT_EQ(encoding->offsets, (std::vector<Offset>{{0, 1}, {1, 13}, {13, 14}}));
}

TEST(AddedTokenTest, SingleWordsDoNotTouchLetters) {
  const EncodeOptions plain{.add_special_tokens = false};
  const auto tokenizer = Load(kWordPiece);
  EXPECT_EQ(IdsOf(*tokenizer, "a <word> a", plain), (Ids{7, 10, 7}));
  EXPECT_EQ(IdsOf(*tokenizer, ",<word>,", plain), (Ids{3, 10, 3}));
  EXPECT_EQ(IdsOf(*tokenizer, "a<word>", plain), (Ids{7, 0, 0, 0}));
}

TEST(AddedTokenTest, NormalisedTokensAreFoundInNormalisedText) {
  const EncodeOptions plain{.add_special_tokens = false};
  EXPECT_EQ(IdsOf(*Load(kWordPiece), "a LoUd a", plain), (Ids{7, 11, 7}));
}

TEST(AddedTokenTest, SpecialTokensAsText) {
  const auto tokenizer = Load(kWordPiece);
  EXPECT_EQ(IdsOf(*tokenizer, "[SEP]", {.add_special_tokens = false}), (Ids{2}));
  EXPECT_EQ(IdsOf(*tokenizer, "[SEP]", {.add_special_tokens = false, .special_as_text = true}),
            (Ids{0, 0, 0}));
}

TEST(PipelineTest, IllFormedTextIsReadAsReplacementCharacters) {
  const auto tokenizer = Load(kByteLevel);
  for (const std::string_view bad : {"a\xC0\x80"
                                     "a",
                                     "a\xE0\x80\xAF"
                                     "a",
                                     "a\xED\xA0\x80"
                                     "a",
                                     "a\xF4\x90\x80\x80"
                                     "a",
                                     "a\xFF"
                                     "a",
                                     "a\xE2\x82"}) {
    const auto encoding =
        tokenizer->Encode(bad, {.add_special_tokens = false, .with_offsets = true});
    ASSERT_TRUE(encoding);
    ASSERT_FALSE(encoding->ids.empty());
    EXPECT_EQ(encoding->ids.front(), 0);
    EXPECT_EQ(encoding->offsets.front(), (Offset{0, 1}));
  }
}

TEST(PipelineTest, ByteTokensAreDecodedAsSuchWhateverTheFileSays) {
  const std::string model = R"("model": {"type": "BPE", "merges": [],
      "vocab": {"Hello": 0, "Ġworld": 1, "ð": 2, "Ł": 3, "ĺ": 4, "Ģ": 5}}})";
  for (const char* decoder :
       {"null", R"({"type": "Metaspace", "replacement": "▁"})", R"({"type": "ByteLevel"})",
        R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]})"}) {
    for (const char* pre : {R"({"type": "ByteLevel", "add_prefix_space": false})",
                            R"({"type": "Sequence", "pretokenizers": [{"type": "Digits"},
                                {"type": "ByteLevel", "add_prefix_space": false}]})"}) {
      const auto tokenizer = Load(R"({"pre_tokenizer": )" + std::string(pre) +
                                  ", \"decoder\": " + decoder + ", " + model);
      EXPECT_EQ(tokenizer->Decode(Ids{0, 1, 2, 3, 4, 5}, false).value(), "Hello world\U0001F600")
          << decoder;
    }
  }
}

TEST(PipelineTest, DecodeRefusesIdsOutsideTheVocabulary) {
  const auto tokenizer = Load(kByteLevel);
  const auto outside = tokenizer->Decode(Ids{5}, false);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(tokenizer->Decode(Ids{-1}, false));
  EXPECT_EQ(*tokenizer->Decode(Ids{}, false), "");
}

TEST(PipelineTest, OneMebibyteOfOneKind) {
  const std::string_view units[] = {"a",      "1",      " ",  "\n",     ".",
                                    "\u6F22", "\u0301", "\0", "\uFFFD", "\u200D\U0001F469",
                                    "'",      "\u00E9"};
  for (const std::string_view json : {kWordPiece, kByteLevel}) {
    const auto tokenizer = Load(json);
    for (std::string_view unit : units) {
      if (unit.empty()) unit = std::string_view("\0", 1);
      const std::string text = Repeat(unit, (std::size_t{1} << 20) / unit.size());
      const auto encoding = tokenizer->Encode(text, {.with_offsets = true});
      ASSERT_TRUE(encoding) << encoding.error().message;
      const auto plain = tokenizer->Encode(text, {});
      ASSERT_TRUE(plain);
      EXPECT_EQ(plain->ids, encoding->ids);
    }
  }
}

TEST(PipelineTest, ReplacementRulesCannotFillTheMemory) {
  std::string rules;
  for (int i = 0; i < 60; ++i) {
    rules += std::string(i == 0 ? "" : ",") +
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaaaaaaaa"})";
  }
  const auto tokenizer = Load(R"({"normalizer": {"type": "Sequence", "normalizers": [)" + rules +
                              R"(]}, "model": {"type": "WordLevel", "unk_token": "a",
                              "vocab": {"a": 0}}})");
  const auto encoding = tokenizer->Encode(Repeat("a", 1000), {});
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().code, ErrorCode::kResourceExhausted);
}

TEST(PipelineTest, BacktrackingExpressionsEnd) {
  const auto tokenizer = Load(R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated",
      "pattern": {"Regex": "(a+)+b|(x|x)*y"}},
      "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}})");
  const auto encoding = tokenizer->Encode(Repeat("a", 200) + "c" + Repeat("x", 5000), {});
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().code, ErrorCode::kInvalidArgument);
}

TEST(PipelineTest, ExpressionsThatBacktrackALittleEverywhereEndToo) {
  const auto tokenizer = Load(R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated",
      "pattern": {"Regex": "[^x]*[yz]"}},
      "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}})");
  const auto square = tokenizer->Encode(std::string(1 << 20, 'a'), {});
  ASSERT_FALSE(square);
  EXPECT_EQ(square.error().code, ErrorCode::kInvalidArgument);
  // A long way back now and then is no fault, and the match is the same.
  EXPECT_EQ(IdsOf(*tokenizer, std::string(5000, 'a') + "y" + std::string(5000, 'a') + "zx").size(),
            2u);
  EXPECT_EQ(IdsOf(*tokenizer, "y" + std::string(3000, 'a') + "x").size(), 2u);
}

TEST(LoadTest, UnknownComponentsAreNamedWithTheKnownOnes) {
  const auto expect = [](std::string_view part, std::string_view unknown, std::string_view known) {
    const auto tokenizer = Tokenizer::FromJson(
        "{" + std::string(part) +
        R"(, "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}})");
    ASSERT_FALSE(tokenizer);
    EXPECT_EQ(tokenizer.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(tokenizer.error().message.find(unknown), std::string::npos);
    EXPECT_NE(tokenizer.error().message.find(known), std::string::npos);
  };
  expect(R"("normalizer": {"type": "Upside"})", "'Upside'", "BertNormalizer");
  expect(R"("pre_tokenizer": {"type": "UnicodeScripts"})", "'UnicodeScripts'", "Metaspace");
  expect(R"("post_processor": {"type": "Hat"})", "'Hat'", "TemplateProcessing");
  expect(R"("decoder": {"type": "CTC"})", "'CTC'", "ByteFallback");
}

}  // namespace
}  // namespace lattice::tokenizers
