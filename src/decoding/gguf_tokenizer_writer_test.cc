// A tokenizer written into a GGUF file gives the ids of the tokenizer.json it was made of.
#include "decoding/gguf_tokenizer_writer.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "decoding/gguf_vocabulary.h"
#include "tokenizers/test_files.h"
#include "weights/checkpoint.h"
#include "weights/test_files.h"

namespace lattice::decoding {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

struct Written {
  std::shared_ptr<const weights::Checkpoint> file;
  std::shared_ptr<const tokenizers::Tokenizer> source, back;
};

Result<Written> WriteAndRead(const TestFolder& folder, std::string_view json, std::size_t vocab,
                             std::vector<std::pair<std::string, std::string>> special = {},
                             std::vector<TokenId> stops = {}) {
  Written out;
  LATTICE_TRY(out.source, tokenizers::Tokenizer::FromJson(json));
  weights::GgufPairs pairs;
  LATTICE_TRY_VOID(WriteGgufTokenizer({.json = json,
                                       .tokenizer = out.source.get(),
                                       .vocab = vocab == 0 ? out.source->vocab_size() : vocab,
                                       .special_tokens = std::move(special),
                                       .stop_ids = std::move(stops)},
                                      pairs));
  LATTICE_TRY(auto writer, weights::GgufWriter::Create(folder.path() / "t.gguf", pairs, {}));
  LATTICE_TRY_VOID(writer.Finish());
  LATTICE_TRY(out.file, weights::Checkpoint::Open(folder.path() / "t.gguf"));
  LATTICE_TRY(out.back, MakeGgufTokenizer(*out.file->gguf()));
  return out;
}

struct Case {
  const char* name;
  const char* bos;
  const char* pre;  ///< Empty: scored.
};

class RealTokenizerTest : public testing::TestWithParam<Case> {};

TEST_P(RealTokenizerTest, EveryRowIsEqual) {
  const auto& [name, bos, pre] = GetParam();
  const fs::path file = fs::path(LATTICE_TEST_MODELS) / "tokenizers" / name / "tokenizer.json";
  const auto values = tokenizers::ReadMaybeGz(fs::path(LATTICE_REFERENCE_FIXTURES) / "tokenizers" /
                                              (std::string(name) + ".json.gz"));
  std::error_code ignored;
  if (!values) GTEST_SKIP() << "no reference values: set LATTICE_REFERENCE_FIXTURES";
  if (!fs::exists(file, ignored)) GTEST_SKIP() << "no " << file << ": set LATTICE_TEST_MODELS";
  const TestFolder folder;
  const std::string json = ReadFile(file, std::size_t{1} << 28).value();
  const auto written = WriteAndRead(folder, json, 0, {{"bos_token", bos}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->file->gguf()->StringOr("tokenizer.ggml.pre", "").value(), pre);
  const auto document = ParseJson(*values).value();
  const auto& rows = document.at("rows").as_array();
  ASSERT_GT(rows.size(), 200u);
  for (const auto& row : rows) {
    const auto& text = row.at("text").as_string();
    const std::string_view view(text.data(), text.size());
    for (const bool special : {false, true}) {
      const tokenizers::EncodeOptions options{.add_special_tokens = special};
      EXPECT_EQ(written->back->Encode(view, options).value().ids,
                written->source->Encode(view, options).value().ids)
          << view.substr(0, 200);
    }
    const Ids ids = written->source->Encode(view, {}).value().ids;
    EXPECT_EQ(written->back->Decode(ids, false).value(),
              written->source->Decode(ids, false).value());
  }
}

INSTANTIATE_TEST_SUITE_P(Real, RealTokenizerTest,
                         testing::Values(Case{"smollm2", "<|im_start|>", "smollm"},
                                         Case{"qwen3", "", "qwen2"}, Case{"qwen3_5", "", "qwen35"},
                                         Case{"llama3", "<|begin_of_text|>", "llama-bpe"},
                                         Case{"gemma3", "<bos>", ""}),
                         [](const testing::TestParamInfo<Case>& row) {
                           return std::string(row.param.name);
                         });

std::string TinyJson() {
  return ReadFile(fs::path(LATTICE_FIXTURES) / "qwen3" / "tokenizer.json", 1 << 24).value();
}

TEST(GgufTokenizerWriterTest, AsManyTokensAsRows) {
  const TestFolder folder;
  const auto longer = WriteAndRead(folder, TinyJson(), 800);
  ASSERT_TRUE(longer) << longer.error().message;
  const auto strings = longer->file->gguf()->GetStrings("tokenizer.ggml.tokens").value();
  EXPECT_EQ(strings.size(), 800u);
  const auto types = longer->file->gguf()->GetInts("tokenizer.ggml.token_type").value();
  EXPECT_EQ(types[0], 3);    // <|endoftext|>
  EXPECT_EQ(types[100], 1);  // a word
  EXPECT_EQ(types[799], 5);  // fills up
}

TEST(GgufTokenizerWriterTest, SpecialIdsAndStops) {
  const TestFolder folder;
  const auto written = WriteAndRead(
      folder, TinyJson(), 0, {{"eos_token", "<|im_end|>"}, {"pad_token", "<|endoftext|>"}}, {2, 0});
  ASSERT_TRUE(written) << written.error().message;
  const weights::GgufMetadata& keys = *written->file->gguf();
  EXPECT_EQ(keys.GetUint("tokenizer.ggml.eos_token_id").value(), 2u);
  EXPECT_EQ(keys.GetUint("tokenizer.ggml.padding_token_id").value(), 0u);
  EXPECT_EQ(keys.GetUint("tokenizer.ggml.eot_token_id").value(), 0u);
  EXPECT_FALSE(keys.Has("tokenizer.ggml.bos_token_id"));
  EXPECT_FALSE(keys.GetBool("tokenizer.ggml.add_bos_token").value());
}

TEST(GgufTokenizerWriterTest, RefusesWhatHasNoName) {
  const TestFolder folder;
  std::string json = TinyJson();
  const std::size_t at = json.find("\\\\p{N}");
  ASSERT_NE(at, std::string::npos);
  json.replace(at, 6, "\\\\p{L}");
  const auto other = WriteAndRead(folder, json, 0);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(other.error().message.find("pre_tokenizer"), std::string::npos);
  const std::string words =
      ReadFile(fs::path(LATTICE_FIXTURES) / "bert" / "tokenizer.json", 1 << 24).value();
  const auto pieces = WriteAndRead(folder, words, 0);
  ASSERT_FALSE(pieces);
  EXPECT_NE(pieces.error().message.find("WordPiece"), std::string::npos) << pieces.error().message;
}

}  // namespace
}  // namespace lattice::decoding
