#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/input_file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"

namespace lattice {
namespace {

class FilesTest : public testing::Test {
 protected:
  FilesTest() : folder_(testing::TempDir() + "files_test." + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(FilesTest, WriteThenReadGivesTheSameBytes) {
  const std::string content("a\0b\xff", 4);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "old"));
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", content));
  const auto read = ReadFile(folder_ / "f", 100);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, content);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FilesTest, AReaderOfTheOldFileKeepsItsBytes) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "old bytes"));
  const auto mapped = MappedFile::Open(folder_ / "f");
  ASSERT_TRUE(mapped.has_value());
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "n"));
  EXPECT_EQ(mapped->bytes().size(), 9u);
  EXPECT_EQ(static_cast<char>(mapped->bytes()[8]), 's');
}

TEST_F(FilesTest, OverwriteChangesAppendedBytesOnly) {
  auto file = AtomicFile::Create(folder_ / "f");
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->Append("0000 rows"));
  ASSERT_TRUE(file->Overwrite(1, "12"));
  ASSERT_TRUE(file->Append("!"));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(*ReadFile(folder_ / "f", 100), "0120 rows!");
}

TEST_F(FilesTest, TheUmaskDecidesWhoMayRead) {
  const mode_t before = umask(077);
  const Status written = WriteFileAtomically(folder_ / "f", "private");
  umask(before);
  ASSERT_TRUE(written.has_value());
  struct stat info = {};
  ASSERT_EQ(stat((folder_ / "f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FilesTest, WhatIsNoFileIsNotReplaced) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(WriteFileAtomically(folder_ / "pipe", "x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FilesTest, LimitIsAnError) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "12345"));
  const auto read = ReadFile(folder_ / "f", 4);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(FilesTest, MissingFolderPipeAndEmpty) {
  EXPECT_EQ(MappedFile::Open(folder_ / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(folder_).error().code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(folder_ / "pipe").error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "empty", ""));
  EXPECT_TRUE(MappedFile::Open(folder_ / "empty")->bytes().empty());
  EXPECT_FALSE(WriteFileAtomically(folder_ / "none" / "f", "x").has_value());
}

TEST_F(FilesTest, AFileThatIsCutWhileItIsReadIsAnError) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "1234567890"));
  const auto file = InputFile::Open(folder_ / "f");
  ASSERT_TRUE(file.has_value());
  std::array<std::byte, 4> bytes{};
  ASSERT_TRUE(file->Read(6, bytes));
  EXPECT_EQ(bytes[3], std::byte{'0'});
  std::filesystem::resize_file(folder_ / "f", 9);
  const Status status = file->Read(6, bytes);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCorruptData);
  EXPECT_NE(status.error().message.find("9 of 10 bytes"), std::string::npos);
}

TEST_F(FilesTest, SyncingAFolderThatIsNotThereIsAnError) {
  EXPECT_TRUE(SyncFolder(folder_));
  EXPECT_FALSE(SyncFolder(folder_ / "none"));
}

TEST(Sha256Test, KnownText) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("bc");
  const std::string digits = ToHex(hash.Finish());
  EXPECT_EQ(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(IsHex(digits, 64));
  EXPECT_FALSE(IsHex(digits, 63));
  EXPECT_FALSE(IsHex("BA", 2));
  EXPECT_FALSE(IsHex("g0", 2));
}

}  // namespace
}  // namespace lattice
