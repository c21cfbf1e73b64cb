// Real GGUF files: what they say of themselves, and their weights against reference values.

#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "weights/checkpoint.h"

namespace lattice::weights {
namespace {

const std::filesystem::path kModels = std::string(LATTICE_TEST_MODELS) + "/gguf";
const std::filesystem::path kReference = std::string(LATTICE_REFERENCE_FIXTURES) + "/real";
constexpr char kSmolLm2[] = "SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr char kGemma3[] = "gemma-3-270m-q4_k_m.gguf";

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

TEST(RealGgufTest, SmolLm2SaysWhatItIs) {
  if (!Exists(kModels / kSmolLm2)) {
    GTEST_SKIP() << "SKIPPED: set LATTICE_TEST_MODELS to a folder with gguf/" << kSmolLm2;
  }
  const auto opened = Checkpoint::Open(kModels / kSmolLm2);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  ASSERT_NE((*opened)->gguf(), nullptr);
  const GgufMetadata& metadata = *(*opened)->gguf();
  EXPECT_EQ(metadata.GetString("general.architecture").value(), "llama");
  EXPECT_EQ(metadata.GetUint("llama.block_count").value(), 30u);
  EXPECT_EQ(metadata.GetUint("llama.attention.head_count_kv").value(), 3u);
  EXPECT_EQ(metadata.GetString("tokenizer.ggml.model").value(), "gpt2");
  EXPECT_EQ(metadata.GetString("tokenizer.ggml.pre").value(), "smollm");
  const auto tokens = metadata.GetStrings("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message;
  EXPECT_EQ(tokens->size(), 49152u);
  EXPECT_EQ(*tokens->begin(), "<|endoftext|>");
  std::size_t n_walked = 0;
  for (const std::string_view token : *tokens) n_walked += !token.empty();
  EXPECT_EQ(n_walked, 49152u);
  EXPECT_EQ(metadata.GetInts("tokenizer.ggml.token_type").value().size(), 49152u);
  EXPECT_EQ((*opened)->tensors().size(), 272u);
  EXPECT_EQ((*opened)->Find("token_embd.weight")->dtype, Dtype::kQ8_0);
  EXPECT_EQ((*opened)->Find("blk.0.ffn_down.weight")->shape, (std::vector<std::size_t>{576, 1536}));
}

// The hash of all values, a row at a time.
std::string HashOf(const TensorView& tensor) {
  const std::size_t cols = tensor.shape.back();
  const std::size_t row_bytes = StorageBytes(tensor.dtype, cols);
  std::vector<float> row(cols);
  Sha256 hash;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += row_bytes) {
    WidenToF32(tensor.dtype, tensor.bytes.subspan(at, row_bytes), row);
    hash.Update(std::as_bytes(std::span(row)));
  }
  return ToHex(hash.Finish());
}

void CompareFile(const std::string& file, const std::string& key) {
  const auto reference = Checkpoint::Open(kReference / "gguf_blocks.safetensors");
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  const auto text = ReadFile(kReference / "gguf_blocks.json", 1 << 20);
  ASSERT_TRUE(text.has_value());
  const auto document = ParseJson(*text);
  ASSERT_TRUE(document.has_value());
  const auto opened = Checkpoint::Open(kModels / file);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  std::size_t n = 0;
  for (const auto& row : document->at("tensors").as_array()) {
    if (row.at("file").as_string() != file) continue;
    const std::string name(row.at("tensor").as_string());
    SCOPED_TRACE(name);
    const TensorView* tensor = (*opened)->Find(name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(DtypeName(tensor->dtype), row.at("format").as_string());
    const TensorView* first_row = (*reference)->Find(key + "." + name + ".f32");
    ASSERT_NE(first_row, nullptr);
    std::vector<float> values(tensor->shape.back());
    WidenToF32(tensor->dtype, tensor->bytes, values);
    ASSERT_EQ(first_row->bytes.size(), values.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(first_row->bytes.data(), values.data(), first_row->bytes.size()), 0);
    EXPECT_EQ(HashOf(*tensor), row.at("sha256_of_f32").as_string());
    ++n;
  }
  std::printf("%s: %zu whole tensors\n", file.c_str(), n);
  EXPECT_GE(n, 7u);
}

TEST(RealGgufTest, SmolLm2ValuesBitForBit) {
  if (!Exists(kModels / kSmolLm2) || !Exists(kReference / "gguf_blocks.json")) {
    GTEST_SKIP() << "SKIPPED: needs LATTICE_REFERENCE_FIXTURES, and gguf/" << kSmolLm2
                 << " in LATTICE_TEST_MODELS";
  }
  CompareFile(kSmolLm2, "smollm2");
}

TEST(RealGgufTest, Gemma3ValuesBitForBit) {
  if (!Exists(kModels / kGemma3) || !Exists(kReference / "gguf_blocks.json")) {
    GTEST_SKIP() << "SKIPPED: needs LATTICE_REFERENCE_FIXTURES, and gguf/" << kGemma3
                 << " in LATTICE_TEST_MODELS";
  }
  CompareFile(kGemma3, "gemma3");
}

}  // namespace
}  // namespace lattice::weights
