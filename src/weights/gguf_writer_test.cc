#include "weights/gguf_writer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "weights/checkpoint.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

std::vector<std::byte> Counting(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 31);
  return bytes;
}

GgufPairs EveryKind() {
  GgufPairs pairs;
  pairs.SetString("general.architecture", "llama");
  pairs.SetUint32("u32", 1);
  pairs.SetUint32("u32", 7);  // replaces
  pairs.SetInt32("i32", -7);
  pairs.SetUint64("u64", 1ull << 40);
  pairs.SetFloat("f32", 0.25f);
  pairs.SetBool("bool", true);
  pairs.SetUint32s("u32s", std::vector<std::uint32_t>{1, 2});
  pairs.SetInt32s("i32s", std::vector<std::int32_t>{-1});
  pairs.SetFloats("f32s", {});
  pairs.SetBools("bools", {false, true});
  pairs.SetStrings("strings", std::vector<std::string>{"a", "", "c d"});
  pairs.SetBytes("bytes", Counting(3));
  return pairs;
}

void ExpectEveryKind(const GgufMetadata& metadata) {
  EXPECT_EQ(metadata.values().size(), 12u);
  EXPECT_EQ(metadata.GetString("general.architecture").value(), "llama");
  EXPECT_EQ(metadata.GetUint("u32").value(), 7u);
  EXPECT_EQ(metadata.GetInt("i32").value(), -7);
  EXPECT_EQ(metadata.GetUint("u64").value(), 1ull << 40);
  EXPECT_EQ(metadata.GetFloat("f32").value(), 0.25);
  EXPECT_TRUE(metadata.GetBool("bool").value());
  EXPECT_EQ(metadata.GetUints("u32s").value(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(metadata.GetInts("i32s").value(), (std::vector<std::int64_t>{-1}));
  EXPECT_TRUE(metadata.GetFloats("f32s").value().empty());
  EXPECT_EQ(metadata.GetBools("bools").value(), (std::vector<bool>{false, true}));
  const auto strings = metadata.GetStrings("strings").value();
  EXPECT_EQ((std::vector<std::string>(strings.begin(), strings.end())),
            (std::vector<std::string>{"a", "", "c d"}));
  EXPECT_EQ(std::to_integer<int>(metadata.GetBytes("bytes").value()[2]), 62);
}

TEST(GgufWriterTest, WhatIsWrittenIsRead) {
  const TestFolder folder;
  const auto path = folder.path() / "m.gguf";
  const std::vector<TensorSpec> specs = {{"q", Dtype::kQ4K, {2, 256}},
                                         {"empty", Dtype::kF32, {0, 4}},
                                         {"scalar", Dtype::kF32, {}},
                                         {"h", Dtype::kF16, {3, 5}}};
  auto writer = GgufWriter::Create(path, EveryKind(), specs);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  const auto data = Counting(288 + 4 + 30);
  for (std::size_t at = 0; at < data.size(); at += 7) {  // pieces that cross the tensors' ends
    const std::size_t n = std::min<std::size_t>(7, data.size() - at);
    ASSERT_TRUE(writer->Append(std::span(data).subspan(at, n)));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->Finish());

  const auto opened = Checkpoint::Open(path);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  ASSERT_NE((*opened)->gguf(), nullptr);
  ExpectEveryKind(*(*opened)->gguf());
  std::vector<std::byte> back;
  for (const TensorSpec& spec : specs) {
    const TensorView* view = (*opened)->Find(spec.name);
    ASSERT_NE(view, nullptr) << spec.name;
    EXPECT_EQ(view->dtype, spec.dtype);
    EXPECT_EQ(view->shape, spec.shape);
    back.insert(back.end(), view->bytes.begin(), view->bytes.end());
  }
  EXPECT_EQ(back, data);
  EXPECT_EQ((*opened)->Find("q")->n_elements(), 512u);
}

TEST(GgufWriterTest, ValuesAreCopiedFromAnotherFile) {
  const TestFolder folder;
  auto first = GgufWriter::Create(folder.path() / "a.gguf", EveryKind(), {});
  ASSERT_TRUE(first.has_value() && first->Finish());
  const auto opened = Checkpoint::Open(folder.path() / "a.gguf");
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  GgufPairs copy;
  for (const auto& [key, value] : (*opened)->gguf()->values()) copy.Set(key, value);
  auto second = GgufWriter::Create(folder.path() / "b.gguf", copy, {});
  ASSERT_TRUE(second.has_value() && second->Finish());
  const auto again = Checkpoint::Open(folder.path() / "b.gguf");
  ASSERT_TRUE(again.has_value()) << again.error().message;
  ExpectEveryKind(*(*again)->gguf());
}

TEST(GgufWriterTest, ImpossibleFilesAreRefused) {
  const TestFolder folder;
  GgufPairs alignment, empty_key, bad_key;
  alignment.SetUint32("general.alignment", 64);
  empty_key.SetUint32("", 1);
  bad_key.SetUint32("\xff", 1);
  const TensorSpec good = {"t", Dtype::kF32, {1}};
  const struct {
    GgufPairs pairs;
    std::vector<TensorSpec> tensors;
    const char* message;
  } kCases[] = {
      {alignment, {good}, "key 'general.alignment' is given"},
      {empty_key, {good}, "empty key"},
      {bad_key, {good}, "is not UTF-8"},
      {{}, {good, good}, "tensor 't' is given twice"},
      {{}, {{"", Dtype::kF32, {1}}}, "empty tensor name"},
      {{}, {{std::string(64, 'n'), Dtype::kF32, {1}}}, "longer than 63 bytes"},
      {{}, {{"t", Dtype::kF32, {1, 1, 1, 1, 1}}}, "more than 4 dimensions"},
      {{}, {{"t", Dtype::kKhq4, {32}}}, "GGUF files hold no KHQ4"},
      {{}, {{"t", Dtype::kQ4K, {4, 128}}}, "are not whole blocks of Q4_K"},
      {{}, {{"t", Dtype::kF32, {std::size_t{1} << 40, std::size_t{1} << 40}}}, "overflows"},
  };
  for (const auto& bad : kCases) {
    const auto writer = GgufWriter::Create(folder.path() / "bad.gguf", bad.pairs, bad.tensors);
    ASSERT_FALSE(writer.has_value()) << bad.message;
    EXPECT_EQ(writer.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(writer.error().message.find(bad.message), std::string::npos)
        << writer.error().message;
  }
}

TEST(GgufWriterTest, TooFewAndTooManyBytes) {
  const TestFolder folder;
  const auto path = folder.path() / "m.gguf";
  auto writer = GgufWriter::Create(path, {}, {{"t", Dtype::kF32, {2}}});
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE(writer->Append(Counting(4)));
  const auto early = writer->Finish();
  ASSERT_FALSE(early.has_value());
  EXPECT_NE(early.error().message.find("tensor 't' is unfinished: 4 of 8 bytes"), std::string::npos)
      << early.error().message;
  const auto more = writer->Append(Counting(5));
  ASSERT_FALSE(more.has_value());
  EXPECT_NE(more.error().message.find("1 bytes more than the tensors have"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace lattice::weights
