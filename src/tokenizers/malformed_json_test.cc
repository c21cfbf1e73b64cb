// tokenizer.json files that break the format, or are made to hang or exhaust their reader.

#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

// A small file that is right; cases replace or add one member.
std::string FileWith(std::string_view model, std::string_view more = "") {
  return "{\"version\": \"1.0\"" + std::string(more.empty() ? "" : ", ") + std::string(more) +
         ", \"model\": " + std::string(model) + "}";
}

constexpr std::string_view kWordLevel =
    R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}})";

std::string With(std::string_view more) { return FileWith(kWordLevel, more); }

std::string Nested(std::string_view key, std::string_view list, int depth) {
  std::string text = "\"" + std::string(key) + "\": ";
  for (int i = 0; i < depth; ++i) {
    text += R"({"type": "Sequence", ")" + std::string(list) + "\": [";
  }
  for (int i = 0; i < depth; ++i) text += "]}";
  return text;
}

struct Case {
  std::string name, json;
  ErrorCode code;
  std::string fragment;  // of the message
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> Cases() {
  using enum ErrorCode;
  const auto template_with = [](const std::string& single, const std::string& tokens) {
    return With(R"("post_processor": {"type": "TemplateProcessing", "single": [)" + single +
                R"(], "pair": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "B"}}],
                   "special_tokens": {)" +
                tokens + "}}");
  };
  const auto normalizer = [](const std::string& spec) { return With("\"normalizer\": " + spec); };
  const auto splitting = [](const std::string& pattern) {
    return With(R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": )" +
                pattern + "}");
  };
  const auto added = [](const std::string& list) { return With("\"added_tokens\": " + list); };
  return {
      {"Empty", "", kCorruptData, "JSON"},
      {"Truncated", FileWith(kWordLevel).substr(0, 60), kCorruptData, "JSON at byte"},
      {"Trailing", FileWith(kWordLevel) + "x", kCorruptData, "JSON at byte"},
      {"NotUtf8", "{\"model\": \"\xFF\"}", kCorruptData, "JSON at byte"},
      {"Array", "[]", kCorruptData, "expected an object"},
      {"NoModel", "{\"version\": \"1.0\"}", kCorruptData, "'model'"},
      {"NullModel", FileWith("null"), kCorruptData, "'model'"},
      {"ModelIsText", FileWith("\"BPE\""), kCorruptData, "expected an object"},
      {"UnknownModel", FileWith(R"({"type": "Morfessor"})"), kUnsupported, "'Morfessor'"},
      {"ModelTypeIsNumber", FileWith(R"({"type": 3, "vocab": {"a": 0}})"), kCorruptData,
       "model.type"},
      {"NoVocab", FileWith(R"({"type": "WordPiece"})"), kCorruptData, "'vocab'"},
      {"EmptyVocab", FileWith(R"({"type": "WordPiece", "vocab": {}})"), kCorruptData,
       "at least one token"},
      {"VocabIsList", FileWith(R"({"type": "WordPiece", "vocab": ["a"]})"), kCorruptData,
       "model.vocab"},
      {"NegativeId", FileWith(R"({"type": "WordPiece", "vocab": {"a": -1}})"), kCorruptData,
       "model.vocab['a']"},
      {"HugeId", FileWith(R"({"type": "WordPiece", "vocab": {"a": 1099511627776}})"), kCorruptData,
       "1099511627776"},
      {"HugestId", FileWith(R"({"type": "WordPiece", "vocab": {"a": 1e300}})"), kCorruptData,
       "model.vocab['a']"},
      {"FractionalId", FileWith(R"({"type": "WordPiece", "vocab": {"a": 0.5}})"), kCorruptData,
       "expected an integer"},
      {"IdIsText", FileWith(R"({"type": "WordPiece", "vocab": {"a": "0"}})"), kCorruptData,
       "expected an integer"},
      {"DuplicateId", FileWith(R"({"type": "WordPiece", "vocab": {"a": 0, "b": 0}})"), kCorruptData,
       "belongs to 'a'"},
      {"NegativeMaxChars",
       FileWith(R"({"type": "WordPiece", "max_input_chars_per_word": -1, "vocab": {"a": 0}})"),
       kCorruptData, "max_input_chars_per_word"},
      {"LongWordPiece",
       FileWith(R"({"type": "WordPiece", "vocab": {")" + std::string(5000, 'a') + "\": 0}}"),
       kUnsupported, "5000 bytes"},
      {"NoMerges", FileWith(R"({"type": "BPE", "vocab": {"a": 0}})"), kCorruptData, "'merges'"},
      {"MergesAreObject", FileWith(R"({"type": "BPE", "vocab": {"a": 0}, "merges": {}})"),
       kCorruptData, "model.merges"},
      {"MergeOfUnknownToken",
       FileWith(R"({"type": "BPE", "vocab": {"a": 0, "ab": 1}, "merges": ["a b"]})"), kCorruptData,
       "model.merges[0]: 'b'"},
      {"MergeWithoutProduct",
       FileWith(R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]})"),
       kCorruptData, "model.merges[0]: 'ab'"},
      {"MergeOfThree",
       FileWith(R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["a a", "a a a"]})"),
       kCorruptData, "model.merges[1]"},
      {"MergeOfOne", FileWith(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]})"),
       kCorruptData, "model.merges[0]"},
      {"MergeIsNumber", FileWith(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [7]})"),
       kCorruptData, "model.merges[0]"},
      {"MergeShorterThanPrefix",
       FileWith(R"({"type": "BPE", "continuing_subword_prefix": "##", "vocab": {"a": 0, "b": 1},
                    "merges": ["a b"]})"),
       kCorruptData, "continuing_subword_prefix"},
      {"UnigramVocabIsObject", FileWith(R"({"type": "Unigram", "vocab": {"a": 0}})"), kCorruptData,
       "model.vocab"},
      {"UnigramEmpty", FileWith(R"({"type": "Unigram", "vocab": []})"), kCorruptData,
       "at least one token"},
      {"UnkIdTooLarge", FileWith(R"({"type": "Unigram", "unk_id": 1, "vocab": [["a", 0]]})"),
       kCorruptData, "model.unk_id"},
      {"UnkIdNegative", FileWith(R"({"type": "Unigram", "unk_id": -1, "vocab": [["a", 0]]})"),
       kCorruptData, "model.unk_id"},
      {"ScoreIsText", FileWith(R"({"type": "Unigram", "vocab": [["a", "x"]]})"), kCorruptData,
       "model.vocab[0]"},
      {"ScoreIsInfinite", FileWith(R"({"type": "Unigram", "vocab": [["a", -1e999]]})"),
       kCorruptData, ""},
      {"PieceWithoutScore", FileWith(R"({"type": "Unigram", "vocab": [["a"]]})"), kCorruptData,
       "model.vocab[0]"},
      {"AddedTokensAreObject", added("{}"), kCorruptData, "added_tokens"},
      {"AddedTokenWithoutId", added(R"([{"content": "x"}])"), kCorruptData, "added_tokens[0]"},
      {"AddedTokenWithoutContent", added(R"([{"id": 3}])"), kCorruptData, "added_tokens[0]"},
      {"AddedTokenNegativeId", added(R"([{"id": -3, "content": "x"}])"), kCorruptData,
       "added_tokens[0].id"},
      {"AddedTokenHugeId", added(R"([{"id": 1099511627776, "content": "x"}])"), kCorruptData,
       "added_tokens[0].id"},
      {"AddedTokenFlagIsText", added(R"([{"id": 3, "content": "x", "lstrip": "yes"}])"),
       kCorruptData, "added_tokens[0].lstrip"},
      {"AddedTokensShareAnId", added(R"([{"id": 3, "content": "x"}, {"id": 3, "content": "y"}])"),
       kCorruptData, "added_tokens[1]"},
      {"UnknownNormalizer", normalizer(R"({"type": "Rot13"})"), kUnsupported, "'Rot13'"},
      {"NormalizerIsList", normalizer("[]"), kCorruptData, "normalizer"},
      {"ReplaceWithoutPattern", normalizer(R"({"type": "Replace", "content": ""})"), kCorruptData,
       "normalizer"},
      {"CharMapNotBase64", normalizer(R"({"type": "Precompiled", "precompiled_charsmap": "*"})"),
       kCorruptData, "base64"},
      {"CharMapTooShort", normalizer(R"({"type": "Precompiled", "precompiled_charsmap": "AAA="})"),
       kCorruptData, "precompiled_charsmap"},
      {"CharMapSizeBeyondEnd",
       normalizer(R"({"type": "Precompiled", "precompiled_charsmap": "/////wAA"})"), kCorruptData,
       "4294967295"},
      {"DeepNormalizers", With(Nested("normalizer", "normalizers", 5000)), kCorruptData, "JSON"},
      {"DeepPreTokenizers", With(Nested("pre_tokenizer", "pretokenizers", 5000)), kCorruptData,
       "JSON"},
      {"DeepDecoders", With(Nested("decoder", "decoders", 5000)), kCorruptData, "JSON"},
      {"UnknownPreTokenizer", With(R"("pre_tokenizer": {"type": "Jieba"})"), kUnsupported,
       "'Jieba'"},
      {"InvalidRegex", splitting(R"({"Regex": "(["})"), kCorruptData, "regular expression"},
      {"HugeRegex", splitting(R"({"Regex": ")" + std::string(100000, '(') + "\"}"), kUnsupported,
       "100000"},
      {"NeitherStringNorRegex", splitting("{}"), kCorruptData, "pattern"},
      {"UnknownBehavior",
       With(
           R"("pre_tokenizer": {"type": "Split", "behavior": "Maybe", "pattern": {"String": "a"}})"),
       kUnsupported, "'Maybe'"},
      {"UnknownPostProcessor", With(R"("post_processor": {"type": "Telepathy"})"), kUnsupported,
       "'Telepathy'"},
      {"TemplateOfUnknownToken", template_with(R"({"SpecialToken": {"id": "[CLS]"}})", ""),
       kCorruptData, "[CLS]"},
      {"TemplateWithoutSequence", template_with("", ""), kCorruptData, "sequence A"},
      {"TemplateOfSequenceTwice",
       template_with(R"({"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}})", ""), kUnsupported,
       "stands 2 times"},
      {"TemplateOfSequenceC", template_with(R"({"Sequence": {"id": "C"}})", ""), kCorruptData,
       "single"},
      {"TemplateIdOutOfRange",
       template_with(R"({"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "x"}})",
                     R"("x": {"ids": [77]})"),
       kCorruptData, "77"},
      {"BertProcessingWithoutCls",
       With(R"("post_processor": {"type": "BertProcessing", "sep": ["b", 2]})"), kCorruptData,
       "'cls'"},
      {"StrideOfAWholeWindow", With(R"("truncation": {"max_length": 5, "stride": 3},
               "post_processor": {"type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 2]})"),
       kCorruptData, "truncation.stride: 3"},
      {"StrideNegative", With(R"("truncation": {"max_length": 5, "stride": -1})"), kCorruptData,
       "truncation.stride"},
      {"TruncationIsNumber", With(R"("truncation": 5)"), kCorruptData, "truncation"},
      {"UnknownDecoder", With(R"("decoder": {"type": "Ouija"})"), kUnsupported, "'Ouija'"},
  };
}

class MalformedJsonTest : public testing::TestWithParam<Case> {};

TEST_P(MalformedJsonTest, IsRefusedWithItsPlace) {
  const auto tokenizer = Tokenizer::FromJson(GetParam().json);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, GetParam().code) << tokenizer.error().message;
  EXPECT_NE(tokenizer.error().message.find(GetParam().fragment), std::string::npos)
      << tokenizer.error().message;
  EXPECT_LT(tokenizer.error().message.size(), 4096u);
}

INSTANTIATE_TEST_SUITE_P(Table, MalformedJsonTest, testing::ValuesIn(Cases()),
                         [](const auto& parameter) { return parameter.param.name; });

// Odd but legal: the file loads, and a text makes a round through it in bounded time.
Result<std::string> EncodeAndDecode(const std::string& json, const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  LATTICE_TRY(const auto tokenizer, Tokenizer::FromJson(json));
  LATTICE_TRY(const Encoding encoding, tokenizer->Encode(text, {.with_offsets = true}));
  LATTICE_TRY(std::string decoded, tokenizer->Decode(encoding.ids, false));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 20.0);
  return decoded;
}

TEST(OddJsonTest, IdsMayHaveGaps) {
  const auto decoded = EncodeAndDecode(
      FileWith(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 5, "a": 4000}})"), "a");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, "a");
}

TEST(OddJsonTest, AnEmptyAddedTokenIsNeverFound) {
  const auto decoded = EncodeAndDecode(With(R"("added_tokens": [{"id": 3, "content": ""}])"), "a");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, "a");
}

TEST(OddJsonTest, AddedTokensThatNormaliseIntoEachOtherTerminate) {
  const std::string json = With(R"("normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Replace", "pattern": {"String": "x"}, "content": "y"},
      {"type": "Replace", "pattern": {"String": "y"}, "content": "xx"}]},
      "added_tokens": [{"id": 3, "content": "x", "normalized": true},
                       {"id": 4, "content": "y", "normalized": true},
                       {"id": 5, "content": "xx", "normalized": true}])");
  ASSERT_TRUE(EncodeAndDecode(json, std::string(1000, 'x')));
}

TEST(OddJsonTest, AReplacementThatHoldsItsPatternIsAppliedOnce) {
  const auto decoded = EncodeAndDecode(
      FileWith(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "aab": 1}})",
               R"("normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})"),
      "ab");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, "aab");
}

TEST(OddJsonTest, ReplacementsThatMultiplyATextFortyTimesAreStopped) {
  std::string steps;
  for (int i = 0; i < 40; ++i) {
    steps += std::string(i == 0 ? "" : ", ") +
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
             std::string(1000, 'a') + "\"}";
  }
  const auto decoded = EncodeAndDecode(
      With(R"("normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}"), "a");
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kResourceExhausted) << decoded.error().message;
}

TEST(OddJsonTest, ReplacementsThatMultiplyADecodedTextFortyTimesAreStopped) {
  std::string steps;
  for (int i = 0; i < 40; ++i) {
    steps += std::string(i == 0 ? "" : ", ") +
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
             std::string(1000, 'a') + "\"}";
  }
  const auto decoded =
      EncodeAndDecode(With(R"("decoder": {"type": "Sequence", "decoders": [)" + steps + "]}"), "a");
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kResourceExhausted) << decoded.error().message;
}

TEST(OddJsonTest, ManyAddedTokensInANormalisedTextTakeLinearTime) {
  const std::string json = With(R"("normalizer": {"type": "Lowercase"},
      "pre_tokenizer": {"type": "WhitespaceSplit"},
      "added_tokens": [{"id": 3, "content": "x", "normalized": true}])");
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "XA ";
  EXPECT_TRUE(EncodeAndDecode(json, text));
}

TEST(OddJsonTest, ASplitAtEmptyMatchesTerminates) {
  for (const char* expression : {"", "x*", "(?=b)", "\\\\b", "$"}) {
    const std::string json = With(
        R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": ")" +
        std::string(expression) + "\"}}");
    const auto decoded = EncodeAndDecode(json, std::string(1000, 'a') + "b");
    EXPECT_TRUE(decoded) << expression << ": " << decoded.error().message;
  }
}

TEST(OddJsonTest, ACatastrophicRegexIsStopped) {
  for (const char* expression : {"(a+)+$", "(a|aa)+$", "(.*)*x"}) {
    const std::string json = With(
        R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": ")" +
        std::string(expression) + "\"}}");
    const auto decoded = EncodeAndDecode(json, std::string(200, 'a') + "!");
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument) << decoded.error().message;
    }
  }
}

TEST(OddJsonTest, ACharMapThatPointsOutsideItselfChangesNothing) {
  // Sixteen units, all ones: every walk leaves the array.
  const auto decoded = EncodeAndDecode(
      With(
          R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": ")"
          R"(QAAAAP////////////////////////////////////////////////////////////////////////////////////8=)"
          R"("})"),
      "a");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, "a");
}

TEST(OddJsonTest, WindowsOfAFileDoNotCutTexts) {
  const auto decoded = EncodeAndDecode(
      FileWith(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}})",
               R"("truncation": {"max_length": 3, "stride": 2, "strategy": "LongestFirst"},
                  "pre_tokenizer": {"type": "Whitespace"})"),
      "a a a a a");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, "a a a a a");
}

TEST(OddJsonTest, TokensMayHoldControlCharacters) {
  const auto decoded = EncodeAndDecode(
      FileWith(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "\u0000\u0001": 1}})"),
      std::string("\0\1", 2));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, std::string("\0\1", 2));
}

}  // namespace
}  // namespace lattice::tokenizers
