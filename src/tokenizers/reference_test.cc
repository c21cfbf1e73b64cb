// Every row of the reference values, made by the reference implementation from real tokenizers.

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "tokenizers/test_files.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

Ids ToIds(const boost::json::value& list) {
  Ids ids;
  for (const auto& id : list.as_array()) ids.push_back(static_cast<TokenId>(id.to_number<int>()));
  return ids;
}

std::vector<Offset> ToOffsets(const boost::json::value& list) {
  std::vector<Offset> offsets;
  const Ids flat = ToIds(list);
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
    offsets.push_back(
        {static_cast<std::uint32_t>(flat[i]), static_cast<std::uint32_t>(flat[i + 1])});
  }
  return offsets;
}

std::string Show(const std::vector<Offset>& offsets) {
  std::string text;
  for (const Offset o : offsets) {
    text += std::to_string(o.begin) + "-" + std::to_string(o.end) + " ";
  }
  return text;
}

std::string TextOf(const boost::json::value& value) {
  return std::string(value.as_string().data(), value.as_string().size());
}

// The member called `key`, or else the one called `otherwise`, which files leave out the first for.
const boost::json::value& MemberOr(const boost::json::object& row, const char* key,
                                   const char* otherwise) {
  const auto* found = row.if_contains(key);
  return found != nullptr ? *found : row.at(otherwise);
}

std::string NameOf(const testing::TestParamInfo<const char*>& parameter) { return parameter.param; }

class ReferenceTest : public testing::TestWithParam<const char*> {
 protected:
  // The tokenizer's file: shipped beside the values, or among the downloaded ones.
  static std::optional<std::string> TokenizerFile(const std::string& name) {
    const fs::path shipped =
        fs::path(LATTICE_REFERENCE_FIXTURES) / "tokenizers" / (name + ".tokenizer.json.gz");
    if (auto text = ReadMaybeGz(shipped)) return text;
    return ReadMaybeGz(fs::path(LATTICE_TEST_MODELS) / "tokenizers" / name / "tokenizer.json");
  }

  void CheckRow(const Tokenizer& tokenizer, const boost::json::object& row) {
    const std::string text = TextOf(row.at("text"));
    SCOPED_TRACE(boost::json::serialize(row.at("text")).substr(0, 400));
    EncodeOptions options{.add_special_tokens = false, .with_offsets = true};
    const auto plain = tokenizer.Encode(text, options);
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->ids, ToIds(row.at("ids")));
    if (const auto* offsets = row.if_contains("offsets")) {
      EXPECT_EQ(plain->offsets, ToOffsets(*offsets))
          << Show(plain->offsets) << "\nnot " << Show(ToOffsets(*offsets));
    }
    options = {.with_offsets = false};
    const auto with_special = tokenizer.Encode(text, options);
    ASSERT_TRUE(with_special) << with_special.error().message;
    EXPECT_EQ(with_special->ids, ToIds(MemberOr(row, "ids_with_special", "ids")));
    options = {.add_special_tokens = false, .special_as_text = true};
    const auto as_text = tokenizer.Encode(text, options);
    ASSERT_TRUE(as_text) << as_text.error().message;
    EXPECT_EQ(as_text->ids, ToIds(MemberOr(row, "ids_special_as_text", "ids")));
    for (const bool skip : {false, true}) {
      const auto decoded = tokenizer.Decode(ToIds(row.at("ids")), skip);
      ASSERT_TRUE(decoded) << decoded.error().message;
      const std::string expected =
          TextOf(MemberOr(row, skip ? "decoded_without_special" : "decoded", "decoded"));
      EXPECT_EQ(*decoded, expected);
      CheckStream(tokenizer, ToIds(row.at("ids")), skip, expected);
    }
  }

  // Token by token: whole characters, and nothing that later tokens take back.
  static void CheckStream(const Tokenizer& tokenizer, const Ids& ids, bool skip,
                          std::string_view expected) {
    const auto stream = tokenizer.StartDecoding(skip);
    std::string shown, piece;
    for (const TokenId id : ids) {
      piece.clear();
      ASSERT_TRUE(stream->Push(id, piece));
      EXPECT_TRUE(IsValidUtf8(piece));
      shown += piece;
      EXPECT_TRUE(expected.starts_with(shown));
    }
    ASSERT_TRUE(stream->Finish(shown));
    EXPECT_EQ(shown, expected);
  }
};

TEST_P(ReferenceTest, EveryRowIsEqual) {
  const std::string name = GetParam();
  const auto values =
      ReadMaybeGz(fs::path(LATTICE_REFERENCE_FIXTURES) / "tokenizers" / (name + ".json.gz"));
  if (!values) GTEST_SKIP() << "no reference values: set LATTICE_REFERENCE_FIXTURES";
  const auto file = TokenizerFile(name);
  if (!file) GTEST_SKIP() << "no tokenizer.json of " << name << ": set LATTICE_TEST_MODELS";
  const auto tokenizer = Tokenizer::FromJson(*file);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto document = ParseJson(*values);
  ASSERT_TRUE(document) << document.error().message;
  const auto& rows = document->at("rows").as_array();
  ASSERT_GT(rows.size(), 200u);
  for (const auto& row : rows) CheckRow(**tokenizer, row.as_object());
  for (const auto& row : document->at("pairs").as_array()) {
    SCOPED_TRACE(boost::json::serialize(row).substr(0, 400));
    const auto pair =
        (*tokenizer)->EncodePair(TextOf(row.at("a")), TextOf(row.at("b")), EncodeOptions{});
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_EQ(pair->ids, ToIds(row.at("ids")));
    const Ids type_ids(pair->type_ids.begin(), pair->type_ids.end());
    EXPECT_EQ(type_ids, ToIds(row.at("type_ids")));
  }
}

INSTANTIATE_TEST_SUITE_P(Real, ReferenceTest,
                         testing::Values("minilm", "smollm2", "xlmr_small", "xlmr", "qwen3",
                                         "qwen3_5", "llama3", "llama3_1", "gemma3"),
                         NameOf);

class TinyModelTest : public testing::TestWithParam<const char*> {};

TEST_P(TinyModelTest, EveryRowIsEqual) {
  const fs::path folder = fs::path(LATTICE_FIXTURES) / GetParam();
  const auto tokenizer = Tokenizer::FromFolder(folder);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto values = ReadMaybeGz(folder / "tokenizer_golden.json");
  ASSERT_TRUE(values);
  const auto document = ParseJson(*values);
  ASSERT_TRUE(document) << document.error().message;
  for (const auto& row : document->as_array()) {
    SCOPED_TRACE(boost::json::serialize(row.at("text")).substr(0, 400));
    const auto encoding = (*tokenizer)->Encode(TextOf(row.at("text")), EncodeOptions{});
    ASSERT_TRUE(encoding) << encoding.error().message;
    EXPECT_EQ(encoding->ids, ToIds(row.at("ids")));
    const auto decoded = (*tokenizer)->Decode(encoding->ids, /*skip_special_tokens=*/true);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, TextOf(row.at("decoded")));
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, TinyModelTest,
                         testing::Values("bert", "bert_reranker", "embeddinggemma", "modernbert",
                                         "qwen3_embedding", "xlm_roberta", "xlm_roberta_reranker"),
                         NameOf);

}  // namespace
}  // namespace lattice::tokenizers
