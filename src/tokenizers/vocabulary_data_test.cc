#include "tokenizers/vocabulary_data.h"

#include <gtest/gtest.h>

#include <functional>

#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> Make(const VocabularyData& data) {
  auto tokenizer = Tokenizer::FromVocabulary(data);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

Ids IdsOf(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
  const auto encoding = tokenizer.Encode(text, options);
  EXPECT_TRUE(encoding) << encoding.error().message;
  return encoding ? encoding->ids : Ids{};
}

std::string TextOf(const Tokenizer& tokenizer, const Ids& ids, bool skip = false) {
  const auto text = tokenizer.Decode(ids, skip);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : "";
}

VocabularyData Gpt2() {
  VocabularyData data;
  data.model = "gpt2";
  data.tokens = {"<|end|>", "a", "b", "Ġ", "Ġa", "ab", "1", "2", "12", "<tool>", "Ã", "©", "Ã©"};
  data.types = {3, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1};
  data.merges = {"Ġ a", "a b", "1 2", "Ã ©"};
  data.eos = 0;
  return data;
}

TEST(VocabularyDataTest, Gpt2IsByteLevelBpe) {
  VocabularyData data = Gpt2();
  const auto tokenizer = Make(data);
  EXPECT_EQ(IdsOf(*tokenizer, "ab a12<|end|>é"), (Ids{5, 4, 8, 0, 12}));
  EXPECT_EQ(TextOf(*tokenizer, {5, 4, 8, 0, 12}), "ab a12<|end|>é");
  EXPECT_EQ(TextOf(*tokenizer, {5, 0, 9}, /*skip=*/true), "ab<tool>");
  EXPECT_EQ(IdsOf(*tokenizer, "a<tool>b"), (Ids{1, 9, 2}));
  EXPECT_EQ(tokenizer->TokenBytes(4), " a");
  EXPECT_EQ(tokenizer->TokenBytes(11), "\xA9");
  EXPECT_EQ(tokenizer->vocab_size(), 13u);
  data.add_eos = true;
  EXPECT_EQ(IdsOf(*Make(data), "a"), (Ids{1, 0}));
}

TEST(VocabularyDataTest, PreDecidesHowNumbersAndMarksAreCut) {
  VocabularyData data = Gpt2();
  for (const char* pre : {"", "default", "gpt-2", "llama-bpe"}) {
    data.pre = pre;
    data.add_bos = false;
    EXPECT_EQ(IdsOf(*Make(data), "12"), Ids{8}) << pre;
  }
  for (const char* pre : {"smollm", "qwen2", "qwen35"}) {
    data.pre = pre;
    EXPECT_EQ(IdsOf(*Make(data), "12"), (Ids{6, 7})) << pre;
  }
  // e and a combining accent: one letter in form C.
  data.pre = "qwen2";
  EXPECT_EQ(IdsOf(*Make(data), "e\u0301"), Ids{12});
}

TEST(VocabularyDataTest, LlamaBpeTakesWholeWordsAndABeginning) {
  VocabularyData data = Gpt2();
  data.pre = "llama-bpe";
  data.merges = {"Ġ a"};
  data.bos = 0;
  EXPECT_EQ(IdsOf(*Make(data), "ab"), (Ids{0, 5}));
  data.pre = "qwen2";
  EXPECT_EQ(IdsOf(*Make(data), "ab"), (Ids{1, 2}));
}

TEST(VocabularyDataTest, LlamaIsSentencePieceByScores) {
  VocabularyData data;
  data.model = "llama";
  std::vector<std::string> names = {"<unk>", "<s>", "</s>"};
  for (int i = 0; i < 256; ++i) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    names.push_back(std::string("<0x") + kDigits[i / 16] + kDigits[i % 16] + ">");
  }
  for (const char* piece : {"▁", "a", "b", "▁a", "ab", "▁ab", "  ", "   "}) names.push_back(piece);
  data.tokens.assign(names.begin(), names.end());
  data.scores.assign(names.size(), 0.0f);
  data.types.assign(names.size(), VocabularyData::kNormal);
  data.types[0] = VocabularyData::kUnknown;
  data.types[1] = data.types[2] = VocabularyData::kControl;
  for (std::size_t i = 3; i < 259; ++i) data.types[i] = VocabularyData::kByte;
  const float scores[] = {-1, -2, -3, -4, -5, -6};
  std::copy(std::begin(scores), std::end(scores), data.scores.begin() + 259);
  data.types[265] = data.types[266] = VocabularyData::kUserDefined;

  const auto tokenizer = Make(data);
  // ▁a (-4) is joined before ab (-5), and then to ▁ab.
  EXPECT_EQ(IdsOf(*tokenizer, "ab"), (Ids{1, 264}));
  EXPECT_EQ(IdsOf(*tokenizer, "a</s>é"), (Ids{1, 262, 2, 259, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(TextOf(*tokenizer, {1, 262, 2, 259, 3 + 0xC3, 3 + 0xA9}, /*skip=*/true), "a é");
  data.add_space_prefix = false;
  const auto bare = Make(data);
  EXPECT_EQ(IdsOf(*bare, "a   b", {.add_special_tokens = false}), (Ids{260, 266, 261}));
  EXPECT_EQ(TextOf(*bare, {260, 266, 261}), "a   b");
  EXPECT_EQ(bare->TokenBytes(3 + 0xC3), "\xC3");
  EXPECT_EQ(bare->TokenBytes(262), " a");
}

TEST(VocabularyDataTest, BertIsWordPiece) {
  VocabularyData data;
  data.model = "bert";
  data.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁hug", "ging", "▁!", "[x]"};
  data.types = {3, 2, 3, 3, 1, 1, 1, 1};
  data.bos = 2;
  data.separator = 3;
  data.unknown = 1;
  const auto tokenizer = Make(data);
  EXPECT_EQ(IdsOf(*tokenizer, "Hugging! z"), (Ids{2, 4, 5, 6, 1, 3}));
  EXPECT_EQ(tokenizer->TokenText(5), "##ging");
  EXPECT_EQ(TextOf(*tokenizer, {2, 4, 5, 6, 3}, /*skip=*/true), "hugging!");
  const auto pair = tokenizer->EncodePair("hug", "hug", {});
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->ids, (Ids{2, 4, 3, 4, 3}));
  EXPECT_EQ(pair->type_ids, (std::vector<std::uint8_t>{0, 0, 0, 1, 1}));
}

TEST(VocabularyDataTest, T5IsUnigram) {
  VocabularyData data;
  data.model = "t5";
  data.tokens = {"<pad>", "</s>", "<unk>", "▁", "▁a", "b", "ab", "a"};
  data.scores = {0, 0, 0, -2, -3, -4, -9, -3};
  data.types = {3, 3, 2, 1, 1, 1, 1, 1};
  data.remove_extra_whitespaces = true;
  const auto tokenizer = Make(data);
  EXPECT_EQ(IdsOf(*tokenizer, "  ab  a "), (Ids{4, 5, 4, 1}));
  EXPECT_EQ(IdsOf(*tokenizer, "a</s>z", {.add_special_tokens = false}), (Ids{4, 1, 3, 2}));
  EXPECT_EQ(IdsOf(*tokenizer, "</s>", {.add_special_tokens = false, .special_as_text = true}),
            (Ids{3, 2}));
}

TEST(VocabularyDataTest, Gemma4IsBpeOverCharacters) {
  VocabularyData data;
  data.model = "gemma4";
  data.tokens = {"<bos>", "a", "b", "▁", "▁a", "\n", "\n\n", "<0xC3>", "<0xA9>", "<turn|>"};
  data.types = {3, 1, 1, 1, 1, 1, 1, 6, 6, 3};
  data.merges = {"▁ a", "\n \n"};
  data.bos = 0;
  const auto tokenizer = Make(data);
  EXPECT_EQ(IdsOf(*tokenizer, "b a\n\né<turn|>"), (Ids{0, 2, 4, 6, 7, 8, 9}));
  EXPECT_EQ(TextOf(*tokenizer, {2, 4, 6, 7, 8}), "b a\n\né");
}

TEST(VocabularyDataTest, WhatDoesNotFitIsNamed) {
  const auto message = [](const std::function<void(VocabularyData&)>& spoil) {
    VocabularyData data = Gpt2();
    spoil(data);
    const auto tokenizer = Tokenizer::FromVocabulary(data);
    return tokenizer ? std::string("accepted") : tokenizer.error().message;
  };
  EXPECT_EQ(message([](VocabularyData&) {}), "accepted");
  EXPECT_EQ(message([](VocabularyData& d) { d.model = "rwkv"; }),
            "tokenizer.ggml.model: unknown model 'rwkv'; known are bert, gemma4, gpt2, llama, t5");
  const std::string pre = message([](VocabularyData& d) { d.pre = "chatglm-bpe"; });
  EXPECT_TRUE(
      pre.starts_with("tokenizer.ggml.pre: unknown pre-tokenizer 'chatglm-bpe'; known are "
                      "default, gpt-2, "))
      << pre;
  EXPECT_NE(pre.find("qwen35"), std::string::npos) << pre;
  EXPECT_EQ(message([](VocabularyData& d) { d.tokens.clear(); }), "tokenizer.ggml.tokens: missing");
  EXPECT_EQ(message([](VocabularyData& d) { d.types.pop_back(); }),
            "tokenizer.ggml.token_type: 12 values for 13 tokens");
  EXPECT_EQ(message([](VocabularyData& d) { d.types[1] = 7; }),
            "tokenizer.ggml.token_type[1]: unknown type 7");
  EXPECT_EQ(message([](VocabularyData& d) { d.scores = {1}; }),
            "tokenizer.ggml.scores: 1 values for 13 tokens");
  EXPECT_EQ(message([](VocabularyData& d) { d.tokens[2] = "\xFF"; }),
            "tokenizer.ggml.tokens[2]: not UTF-8");
  EXPECT_EQ(message([](VocabularyData& d) { d.eos = 13; }),
            "tokenizer.ggml.eos_token_id: 13 is outside the vocabulary of 13");
  EXPECT_EQ(message([](VocabularyData& d) { d.add_bos = true; }),
            "tokenizer.ggml.bos_token_id: missing, and a text needs it");
  EXPECT_EQ(message([](VocabularyData& d) { d.merges[1] = "ab"; }),
            "tokenizer.ggml: merges[1]: expected two tokens with a space between");
  EXPECT_EQ(message([](VocabularyData& d) { d.merges[1] = ""; }),
            "tokenizer.ggml: merges[1]: expected two tokens with a space between");
  EXPECT_EQ(message([](VocabularyData& d) { d.merges[1] = "a zz"; }),
            "tokenizer.ggml: merges[1]: 'zz' is not in the vocabulary");
  EXPECT_EQ(message([](VocabularyData& d) { d.model = "llama"; }),
            "tokenizer.ggml.scores: missing, and model 'llama' needs them");
  EXPECT_EQ(message([](VocabularyData& d) {
              d.model = "llama";
              d.scores.assign(13, 0.0f);
              d.tokens[1] = "<0x41>";
              d.types[1] = 6;
            }),
            "tokenizer.ggml.tokens: 1 of 256 byte tokens <0x00> to <0xFF>");
}

}  // namespace
}  // namespace lattice::tokenizers
