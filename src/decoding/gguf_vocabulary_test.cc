// Real GGUF files give the ids that the models' own tokenizer.json gives.

#include "decoding/gguf_vocabulary.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizers/test_files.h"
#include "weights/checkpoint.h"

namespace lattice::decoding {
namespace {

namespace fs = std::filesystem;
using tokenizers::EncodeOptions;
using Ids = std::vector<TokenId>;

struct Case {
  const char* name;
  const char* file;
};

Ids ToIds(const boost::json::value& list) {
  Ids ids;
  for (const auto& id : list.as_array()) ids.push_back(static_cast<TokenId>(id.to_number<int>()));
  return ids;
}

std::string TextOf(const boost::json::value& value) {
  return {value.as_string().data(), value.as_string().size()};
}

const boost::json::value& MemberOr(const boost::json::object& row, const char* key,
                                   const char* otherwise) {
  const auto* found = row.if_contains(key);
  return found != nullptr ? *found : row.at(otherwise);
}

class GgufVocabularyTest : public testing::TestWithParam<Case> {};

TEST_P(GgufVocabularyTest, EveryRowIsEqual) {
  const fs::path file = fs::path(LATTICE_TEST_MODELS) / "gguf" / GetParam().file;
  const auto values = tokenizers::ReadMaybeGz(fs::path(LATTICE_REFERENCE_FIXTURES) / "tokenizers" /
                                              (std::string(GetParam().name) + ".json.gz"));
  std::error_code ignored;
  if (!values) GTEST_SKIP() << "no reference values: set LATTICE_REFERENCE_FIXTURES";
  if (!fs::exists(file, ignored)) GTEST_SKIP() << "no " << file << ": set LATTICE_TEST_MODELS";
  const auto checkpoint = weights::Checkpoint::Open(file);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ASSERT_NE((*checkpoint)->gguf(), nullptr);
  const auto tokenizer = MakeGgufTokenizer(*(*checkpoint)->gguf());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto document = ParseJson(*values);
  ASSERT_TRUE(document) << document.error().message;
  const auto& rows = document->at("rows").as_array();
  ASSERT_GT(rows.size(), 200u);
  for (const auto& value : rows) {
    const auto& row = value.as_object();
    const std::string text = TextOf(row.at("text"));
    SCOPED_TRACE(boost::json::serialize(row.at("text")).substr(0, 400));
    const Ids ids = ToIds(row.at("ids"));
    const auto plain = (*tokenizer)->Encode(text, {.add_special_tokens = false});
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->ids, ids);
    const auto with_special = (*tokenizer)->Encode(text, EncodeOptions{});
    ASSERT_TRUE(with_special) << with_special.error().message;
    EXPECT_EQ(with_special->ids, ToIds(MemberOr(row, "ids_with_special", "ids")));
    const auto decoded = (*tokenizer)->Decode(ids, /*skip_special_tokens=*/false);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, TextOf(row.at("decoded")));
  }
}

INSTANTIATE_TEST_SUITE_P(Real, GgufVocabularyTest,
                         testing::Values(Case{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                                         Case{"gemma3", "gemma-3-270m-q4_k_m.gguf"}),
                         [](const testing::TestParamInfo<Case>& row) {
                           return std::string(row.param.name);
                         });

}  // namespace
}  // namespace lattice::decoding
