#include "weights/gguf_split.h"

#include <gtest/gtest.h>

#include "weights/checkpoint.h"
#include "weights/gguf_writer.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

// A part with one tensor of one element, named after it.
void WritePart(const TestFolder& folder, std::string_view file, std::uint32_t number,
               std::uint32_t count, std::uint32_t n_tensors, const std::string& tensor) {
  GgufPairs pairs;
  pairs.SetUint32("split.no", number);
  pairs.SetUint32("split.count", count);
  pairs.SetInt32("split.tensors.count", static_cast<std::int32_t>(n_tensors));
  auto writer = GgufWriter::Create(folder.path() / file, pairs, {{tensor, Dtype::kF32, {1}}});
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  const float value = static_cast<float>(number) + 0.5f;
  EXPECT_TRUE(writer->Append(std::span(&value, 1)));
  EXPECT_TRUE(writer->Finish());
}

Error ErrorOf(const std::filesystem::path& path) {
  const auto checkpoint = Checkpoint::Open(path);
  EXPECT_FALSE(checkpoint.has_value());
  return checkpoint.has_value() ? Error{ErrorCode::kInternal, "opened"} : checkpoint.error();
}

TEST(GgufSplitTest, OpensAllPartsGivenTheFirst) {
  const TestFolder folder;
  WritePart(folder, "m-00001-of-00003.gguf", 0, 3, 3, "a");
  WritePart(folder, "m-00002-of-00003.gguf", 1, 3, 3, "b");
  WritePart(folder, "m-00003-of-00003.gguf", 2, 3, 3, "c");
  const auto opened = Checkpoint::Open(folder.path() / "m-00001-of-00003.gguf");
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  ASSERT_EQ((*opened)->tensors().size(), 3u);
  EXPECT_EQ((*opened)->Find("c")->ToF32().value()[0], 2.5f);
  ASSERT_NE((*opened)->gguf(), nullptr);
  EXPECT_EQ((*opened)->gguf()->GetUint("split.no").value(), 0u);

  const Error second = ErrorOf(folder.path() / "m-00002-of-00003.gguf");
  EXPECT_EQ(second.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(second.message.find("part 2 of 3; open the first, m-00001-of-00003.gguf"),
            std::string::npos)
      << second.message;
}

TEST(GgufSplitTest, WrongPartsAreRefused) {
  const struct {
    const char* what;
    std::uint32_t number, count, n_tensors;  // of the second part; n_tensors of the first
    const char* tensor;
    const char* message;
  } kCases[] = {
      {"number", 0, 2, 2, "b", "is part 1 of 2, expected part 2 of 2"},
      {"count", 1, 3, 2, "b", "is part 2 of 3, expected part 2 of 2"},
      {"tensors", 1, 2, 3, "b", "the parts hold 2 tensors, but 3 are announced"},
      {"name", 1, 2, 2, "a", "tensor 'a' is already in another file"},
      {"no such part", 2, 2, 2, "b", "'split.no' is 2 where 'split.count' is 2"},
  };
  for (const auto& bad : kCases) {
    const TestFolder folder;
    WritePart(folder, "m-00001-of-00002.gguf", 0, 2, bad.n_tensors, "a");
    WritePart(folder, "m-00002-of-00002.gguf", bad.number, bad.count, 2, bad.tensor);
    const Error error = ErrorOf(folder.path() / "m-00001-of-00002.gguf");
    EXPECT_EQ(error.code, ErrorCode::kCorruptData) << bad.what;
    EXPECT_NE(error.message.find(bad.message), std::string::npos) << error.message;
  }
}

TEST(GgufSplitTest, MissingAndRenamedParts) {
  const TestFolder folder;
  WritePart(folder, "m-00001-of-00002.gguf", 0, 2, 2, "a");
  const Error missing = ErrorOf(folder.path() / "m-00001-of-00002.gguf");
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
  EXPECT_NE(missing.message.find("m-00002-of-00002.gguf"), std::string::npos) << missing.message;
  WritePart(folder, "renamed.gguf", 0, 2, 2, "a");
  const Error renamed = ErrorOf(folder.path() / "renamed.gguf");
  EXPECT_EQ(renamed.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(renamed.message.find("does not end in -00001-of-00002.gguf"), std::string::npos)
      << renamed.message;
  WritePart(folder, "far.gguf", 0, 4'000'000'000, 2, "a");
  EXPECT_EQ(ErrorOf(folder.path() / "far.gguf").code, ErrorCode::kCorruptData);
}

TEST(GgufSplitTest, NamesHaveFiveDigits) {
  EXPECT_EQ(GgufPartEnding(0, 2), "-00001-of-00002.gguf");
  EXPECT_EQ(GgufPartEnding(99'998, 99'999), "-99999-of-99999.gguf");
}

}  // namespace
}  // namespace lattice::weights
