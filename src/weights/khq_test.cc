// Folders of .q4, .q3 and .f16 files: one file, the index, and both opened as a checkpoint.

#include <gtest/gtest.h>

#include <cstring>

#include "numeric/blocks.h"
#include "numeric/float16.h"
#include "weights/checkpoint.h"
#include "weights/khq_file.h"
#include "weights/khq_index.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

using enum ErrorCode;

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

template <typename T>
void ExpectError(const Result<T>& result, ErrorCode code, std::string_view part,
                 std::string_view what) {
  ASSERT_FALSE(result.has_value()) << what;
  EXPECT_EQ(result.error().code, code) << what << ": " << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos)
      << what << ": " << result.error().message;
}

Result<KhqTensor> Parse(std::string_view file) {
  const std::vector<char> copy(file.begin(), file.end());
  return ParseKhqFile(std::as_bytes(std::span(copy)));
}

TEST(KhqFileTest, MalformedFilesAreRefused) {
  const std::string block(20, '\0');
  const std::string good = KhqFile("KHQ4", 2, {2, 16}, 32, block);
  ASSERT_TRUE(Parse(good).has_value()) << Parse(good).error().message;
  const struct {
    const char* what;
    std::string file;
    const char* message;
    ErrorCode code = kCorruptData;
  } kCases[] = {
      {"empty", "", "the magic number takes 4 bytes"},
      {"magic alone", "KHQ4", "the version takes 4 bytes"},
      {"another magic", "GGUF" + good.substr(4), "begins with 'GGUF', not with 'KHQ4'"},
      {"version 1", KhqFile("KHQ4", 1, {32}, 32, block), "KHQ4 version 1; version 2", kUnsupported},
      {"f16 version 2", KhqFile("KHF1", 2, {1}, 1, "12"), "KHF1 version 2", kUnsupported},
      {"no rank", good.substr(0, 8), "the rank takes 4 bytes"},
      {"rank 2^32 - 1", good.substr(0, 8) + Le<std::uint32_t>(0xFFFFFFFF) + good.substr(12),
       "4294967295 dimensions", kUnsupported},
      {"dimensions missing", good.substr(0, 20), "a dimension takes 8 bytes"},
      {"no element count", good.substr(0, 28), "the number of elements takes 8 bytes"},
      {"product wraps", KhqFile("KHQ4", 2, {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, ""),
       "the product of the dimensions overflows"},
      {"another count", KhqFile("KHQ4", 2, {2, 16}, 31, block), "31 elements of shape [2, 16]"},
      {"2^64 - 1 elements", KhqFile("KHQ4", 2, {kHuge}, kHuge, block),
       "bytes of data are announced"},
      {"f16 bytes wrap", KhqFile("KHF1", 1, {kHuge}, kHuge, "12"), "more than 2^64 bytes"},
      {"a block missing", KhqFile("KHQ4", 2, {64}, 64, block),
       "40 bytes of data are announced, 20"},
      {"a byte missing", good.substr(0, good.size() - 1), "20 bytes of data are announced, 19"},
      {"a byte more", good + "x", "20 bytes of data are announced, 21 are in the file"},
      {"f16 cut", KhqFile("KHF1", 1, {2}, 2, "123"), "4 bytes of data are announced, 3"},
      {"q3 with q4 blocks", KhqFile("KHQ3", 1, {32}, 32, block), "16 bytes of data are announced"},
  };
  for (const auto& bad : kCases) ExpectError(Parse(bad.file), bad.code, bad.message, bad.what);
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(Parse(std::string_view(good).substr(0, n)).has_value()) << n;
  }
}

std::string Entry(std::string_view name, std::string_view file, bool quantised,
                  std::string_view shape, int numel) {
  return R"({"name":")" + std::string(name) + R"(","file":")" + std::string(file) +
         R"(","quantized":)" + (quantised ? "true" : "false") + R"(,"shape":)" +
         std::string(shape) + R"(,"numel":)" + std::to_string(numel) + "}";
}

TEST(KhqIndexTest, MalformedIndexesAreRefused) {
  const std::string a = Entry("a", "a.q4", true, "[2,16]", 32);
  const auto object = [&](std::string_view rest) {
    return R"({"quarot_seed":7,"tensors":[)" + a + "]" + std::string(rest) + "}";
  };
  const auto file = [](std::string_view name) {
    return "[" + Entry("a", name, true, "[32]", 32) + "]";
  };
  const struct {
    const char* what;
    std::string text;
    const char* message;
    ErrorCode code = kCorruptData;
  } kCases[] = {
      {"no text", "", "JSON at byte 0"},
      {"a number", "1", "index: expected an array"},
      {"no tensors", "[]", "index: is empty"},
      {"a number for a tensor", "[1]", "index[0]: expected an object"},
      {"no name", R"([{"file":"a.q4"}])", "index[0]: missing 'name'"},
      {"empty name", "[" + Entry("", "a.q4", true, "[32]", 32) + "]", "name: is empty"},
      {"no file", R"([{"name":"a"}])", "missing 'file'"},
      {"no shape", R"([{"name":"a","file":"a.q4","quantized":true}])", "missing 'shape'"},
      {"quantized as text", R"([{"name":"a","file":"a.q4","quantized":"yes"}])", "quantized"},
      {"folder above", file("../a.q4"), "not the plain name"},
      {"absolute file", file("/a.q4"), "not the plain name"},
      {"file in a folder", file("x/a.q4"), "not the plain name"},
      {"hidden file", file(".q4"), "not the plain name"},
      {"another ending", file("a.safetensors"), "not the plain name"},
      {"f16 called quantised", file("a.f16"), "does not fit 'quantized'"},
      {"q4 called plain", "[" + Entry("a", "a.q4", false, "[32]", 32) + "]", "does not fit"},
      {"negative dimension", "[" + Entry("a", "a.q4", true, "[-32]", 32) + "]", "shape"},
      {"fraction", "[" + Entry("a", "a.q4", true, "[1.5]", 32) + "]", "shape"},
      {"shape as text", "[" + Entry("a", "a.q4", true, "\"32\"", 32) + "]", "shape"},
      {"product wraps",
       "[" + Entry("a", "a.q4", true, "[4294967296,4294967296,4294967296]", 0) + "]", "overflows"},
      {"another numel", "[" + Entry("a", "a.q4", true, "[2,16]", 31) + "]",
       "31 elements of shape [2, 16]"},
      {"name twice", "[" + a + "," + Entry("a", "b.q4", true, "[32]", 32) + "]",
       "tensor 'a' occurs twice"},
      {"file twice", "[" + a + "," + Entry("b", "a.q4", true, "[32]", 32) + "]",
       "file 'a.q4' occurs twice"},
      {"no seed", R"({"tensors":[)" + a + "]}", "missing 'quarot_seed'"},
      {"negative seed", R"({"quarot_seed":-1,"tensors":[)" + a + "]}", "quarot_seed"},
      {"object without tensors", R"({"quarot_seed":7})", "missing 'tensors'"},
      {"run-time rotations", object(R"(,"artifact_version":"v1-online-r3r4")"),
       "rotated while they run", kUnsupported},
      {"run-time part", object(R"(,"online":{"r3":1})"), "rotated while they run", kUnsupported},
      {"unknown version", object(R"(,"artifact_version":"v9")"), "unknown artifact_version 'v9'"},
      {"too deep", std::string(100, '[') + std::string(100, ']'), "JSON at byte"},
  };
  for (const auto& bad : kCases) {
    ExpectError(ParseKhqIndex(bad.text), bad.code, bad.message, bad.what);
  }
  const auto good = ParseKhqIndex(object(R"(,"artifact_version":"v0-residual","online":null)"));
  ASSERT_TRUE(good.has_value()) << good.error().message;
  EXPECT_EQ(good->rotation_seed, 7u);
  const auto far = ParseKhqIndex(R"({"quarot_seed":18446744073709551615,"tensors":[)" + a + "]}");
  ASSERT_TRUE(far.has_value()) << far.error().message;
  EXPECT_EQ(far->rotation_seed, kHuge);
}

// Values 0 to 15, twice, with scale 0.5 and bias -1.
std::string Block() {
  BlockKhq4 block = {.scale = F32ToF16(0.5f), .bias = F32ToF16(-1.0f), .qs = {}};
  for (std::size_t i = 0; i < 16; ++i) {
    block.qs[i] = static_cast<std::uint8_t>((2 * i) % 16 | ((2 * i + 1) % 16) << 4);
  }
  return Le(block);
}

void WriteTensors(const TestFolder& folder) {
  folder.Write("model_layers_0_mlp_up_proj_weight.q4",
               KhqFile("KHQ4", 2, {2, 32}, 64, Block() + Block()));
  folder.Write("model_norm_weight.f16",
               KhqFile("KHF1", 1, {2}, 2, Le(F32ToF16(1.5f)) + Le(F32ToF16(-2.0f))));
}

void ExpectTensors(const Checkpoint& checkpoint) {
  const TensorView* up = checkpoint.Find("model.layers.0.mlp.up_proj.weight");
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->dtype, Dtype::kKhq4);
  EXPECT_EQ(up->shape, (std::vector<std::size_t>{2, 32}));
  const auto values = up->ToF32().value();
  ASSERT_EQ(values.size(), 64u);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(values[i], static_cast<float>(i % 16) * 0.5f - 1.0f) << i;
  }
  const TensorView* norm = checkpoint.Find("model.norm.weight");
  ASSERT_NE(norm, nullptr);
  EXPECT_EQ(norm->ToF32().value(), (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(checkpoint.Find("model.norm.bias"), nullptr);
}

TEST(KhqFolderTest, OpensWithAnIndex) {
  const TestFolder folder;
  WriteTensors(folder);
  folder.Write("quantize_index.json",
               "[" +
                   Entry("model.layers.0.mlp.up_proj.weight",
                         "model_layers_0_mlp_up_proj_weight.q4", true, "[2,32]", 64) +
                   "," + Entry("model.norm.weight", "model_norm_weight.f16", false, "[2]", 2) +
                   "]");
  const auto opened = Checkpoint::Open(folder.path());
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  ExpectTensors(**opened);
  EXPECT_TRUE((*opened)->tensors().contains("model.norm.weight"));
  EXPECT_EQ((*opened)->rotation_seed(), std::nullopt);
  EXPECT_EQ((*opened)->gguf(), nullptr);
}

TEST(KhqFolderTest, OpensWithoutAnIndex) {
  const TestFolder folder;
  WriteTensors(folder);
  folder.Write("merged_qkvz_0_x.q4", "a cache of another program");
  const auto opened = Checkpoint::Open(folder.path());
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  ExpectTensors(**opened);
  EXPECT_EQ((*opened)->tensors().size(), 2u);
}

TEST(KhqFolderTest, FilesThatAreNotWhatTheIndexSaysAreRefused) {
  const std::string name = "model_norm_weight.f16";
  const struct {
    std::string entry;
    const char* message;
    ErrorCode code = kCorruptData;
  } kCases[] = {
      {Entry("a", name, false, "[1,2]", 2), "shape [2], in the index [1, 2]"},
      {Entry("a", "missing.f16", false, "[2]", 2), "missing.f16", kNotFound},
      {Entry("a", "swapped.q4", true, "[2]", 2), "holds F16, which is not what the index says"},
  };
  for (const auto& bad : kCases) {
    const TestFolder folder;
    WriteTensors(folder);
    folder.Write("swapped.q4", KhqFile("KHF1", 1, {2}, 2, "1234"));
    folder.Write("quantize_index.json", "[" + bad.entry + "]");
    ExpectError(Checkpoint::Open(folder.path()), bad.code, bad.message, bad.entry);
  }
}

// Blocks run over the flat tensor: rows of 3 share them, and the last block is filled up.
TEST(KhqFolderTest, RowsThatShareBlocksAreWidened) {
  const TestFolder folder;
  folder.Write("conv.q4", KhqFile("KHQ4", 2, {12, 3}, 36, Block() + Block()));
  folder.Write("large.q4", KhqFile("KHQ4", 2, {1}, 1, Block()));
  const auto opened = Checkpoint::Open(folder.path());
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const TensorView* conv = (*opened)->Find("conv");
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->dtype, Dtype::kF32);
  const auto values = conv->ToF32().value();
  ASSERT_EQ(values.size(), 36u);
  for (std::size_t i = 0; i < 36; ++i) {
    EXPECT_EQ(values[i], static_cast<float>(i % 16) * 0.5f - 1.0f) << i;
  }
  const std::size_t n = (std::size_t{1} << 22) + 1;
  folder.Write("large.q4", KhqFile("KHQ4", 2, {n}, n, std::string((n / 32 + 1) * 20, '\0')));
  ExpectError(Checkpoint::Open(folder.path()), kUnsupported, "are not whole blocks", "large");
}

TEST(KhqFolderTest, NamesOfFiles) {
  EXPECT_EQ(KhqFileStem("model.layers.0.linear_attn.in_proj-x.weight"),
            "model_layers_0_linear_attn_in_proj-x_weight");
}

}  // namespace
}  // namespace lattice::weights
