#include "weights/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/files.h"
#include "weights/checkpoint.h"
#include "weights/safetensors_header.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

std::size_t FilesIn(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(SafetensorsWriterTest, WhatIsWrittenIsRead) {
  const TestFolder folder;
  const auto path = folder.path() / "model.safetensors";
  const std::vector<float> values = {1.0f, -0.0f, 3.5f, 4.0f, 5.0f, 6.0f};
  const std::byte flags[] = {std::byte{1}, std::byte{0}};
  auto writer = SafetensorsWriter::Create(path,
                                          {{"m \"quoted\"\n\xC3\xA9", Dtype::kF32, {2, 3}},
                                           {"none", Dtype::kF32, {0, 5}},
                                           {"flags", Dtype::kBool, {2}}},
                                          {{"format", "pt"}, {"note", "a\\b"}});
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  // Pieces need not follow the tensors' borders.
  ASSERT_TRUE(writer->Append(std::span(values).first(1)));
  ASSERT_TRUE(writer->Append(std::span(values).subspan(1)));
  ASSERT_TRUE(writer->Append(std::span<const std::byte>(flags)));
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->Finish());
  EXPECT_EQ(FilesIn(folder.path()), 1u);

  const auto checkpoint = Checkpoint::Open(folder.path());
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->tensors().size(), 3u);
  const TensorView* matrix = (*checkpoint)->Find("m \"quoted\"\n\xC3\xA9");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(std::memcmp(matrix->bytes.data(), values.data(), matrix->bytes.size()), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix->bytes.data()) % 8, 0u);
  EXPECT_EQ((*checkpoint)->Find("none")->n_elements(), 0u);
  EXPECT_EQ((*checkpoint)->Find("flags")->bytes[0], std::byte{1});

  const auto text = ReadFile(path, 1000);
  ASSERT_TRUE(text.has_value());
  const auto header = ParseSafetensorsHeader(std::as_bytes(std::span(*text)));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->metadata,
            (std::map<std::string, std::string>{{"format", "pt"}, {"note", "a\\b"}}));
}

TEST(SafetensorsWriterTest, AMappedFileMayBeReplaced) {
  const TestFolder folder;
  const auto path = folder.path() / "model.safetensors";
  const auto write = [&](float value) {
    auto writer = SafetensorsWriter::Create(path, {{"a", Dtype::kF32, {1}}});
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->Append(std::span<const float>(&value, 1)));
    ASSERT_TRUE(writer->Finish());
  };
  write(1.0f);
  const auto old = Checkpoint::Open(path);
  ASSERT_TRUE(old.has_value());
  write(2.0f);
  EXPECT_EQ((*old)->Find("a")->ToF32()->at(0), 1.0f);
  EXPECT_EQ((*Checkpoint::Open(path))->Find("a")->ToF32()->at(0), 2.0f);
}

TEST(SafetensorsWriterTest, AnUnfinishedFileLeavesNothing) {
  const TestFolder folder;
  const float value = 1.0f;
  {
    auto writer = SafetensorsWriter::Create(folder.path() / "f",
                                            {{"a", Dtype::kF32, {1}}, {"b", Dtype::kF32, {2}}});
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->Append(std::span<const float>(&value, 1)));
    const auto finished = writer->Finish();
    ASSERT_FALSE(finished.has_value());
    EXPECT_NE(finished.error().message.find("tensor 'b' is unfinished: 4 of 12 bytes"),
              std::string::npos)
        << finished.error().message;
    const std::byte many[9] = {};
    const auto appended = writer->Append(std::span<const std::byte>(many));
    ASSERT_FALSE(appended.has_value());
    EXPECT_EQ(appended.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(FilesIn(folder.path()), 0u);
}

TEST(SafetensorsWriterTest, BadSpecsAreRefused) {
  const TestFolder folder;
  const std::vector<std::vector<TensorSpec>> cases = {
      {{"a", Dtype::kF32, {}}, {"a", Dtype::kF32, {}}},
      {{"__metadata__", Dtype::kF32, {}}},
      {{"a", Dtype::kQ8_0, {32}}},
      {{"\xff", Dtype::kF32, {}}},
      {{std::string("a\0", 2), Dtype::kF32, {}}},
      {{"a", Dtype::kF32, std::vector<std::size_t>(65, 1)}},
      {{"a", Dtype::kF32, {std::size_t{1} << 62}}},
      {{"a", Dtype::kU8, {~std::size_t{0}}}, {"b", Dtype::kU8, {1}}},
  };
  for (const auto& specs : cases) {
    const auto writer = SafetensorsWriter::Create(folder.path() / "f", specs);
    ASSERT_FALSE(writer.has_value()) << specs[0].name;
    EXPECT_EQ(writer.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(SafetensorsWriter::Create(folder.path() / "f", {}, {{"k", "\xff"}}).has_value());
  EXPECT_FALSE(SafetensorsWriter::Create(folder.path() / "none" / "f", {}).has_value());
  EXPECT_EQ(FilesIn(folder.path()), 0u);
}

}  // namespace
}  // namespace lattice::weights
