#include "models/session_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/files.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

std::string Digest(const std::string& content) {
  Sha256 sha;
  sha.Update(content);
  const Sha256Digest digest = sha.Finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Result<Session> Parse(const std::string& bytes) {
  return ParseSession(std::as_bytes(std::span(bytes)));
}

/// A file of two layers with its checksum.
std::string ValidFile(std::uint64_t n_elsewhere = 0, std::vector<TokenId> ids = {}) {
  const TestFolder folder;
  const auto path = folder.path() / "session";
  auto file = AtomicFile::Create(path).value();
  auto writer = SessionWriter::Begin(
                    file, {kernels::KvType::kQ8, 77, "fingerprint", 2, n_elsewhere, std::move(ids)})
                    .value();
  EXPECT_TRUE(writer.BeginLayer(5));
  EXPECT_TRUE(writer.Append(std::as_bytes(std::span(std::string_view("hel")))));
  EXPECT_TRUE(writer.Append(std::as_bytes(std::span(std::string_view("lo")))));
  EXPECT_TRUE(writer.BeginLayer(0));
  const auto n_bytes = writer.Finish();
  EXPECT_TRUE(file.Commit());
  std::string content = ReadFile(path, 1 << 16).value();
  EXPECT_EQ(n_bytes.value(), content.size());
  return content;
}

TEST(SessionFileTest, WhatIsWrittenIsRead) {
  const std::string file = ValidFile();
  const auto session = Parse(file);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->header.kv_type, kernels::KvType::kQ8);
  EXPECT_EQ(session->header.n_tokens, 77u);
  EXPECT_EQ(session->header.fingerprint, "fingerprint");
  ASSERT_EQ(session->layers.size(), 2u);
  EXPECT_EQ(session->layers[0].size(), 5u);
  EXPECT_EQ(std::memcmp(session->layers[0].data(), "hello", 5), 0);
  EXPECT_TRUE(session->layers[1].empty());
}

TEST(SessionFileTest, APartTellsWhatItIsAPartOf) {
  std::vector<TokenId> ids(77, 5);
  ids[3] = std::numeric_limits<TokenId>::max();
  const auto session = Parse(ValidFile(64, ids));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->header.n_elsewhere, 64u);
  EXPECT_EQ(session->header.ids, ids);
  EXPECT_EQ(session->header.fingerprint, "fingerprint");
  EXPECT_EQ(session->layers.size(), 2u);
  EXPECT_TRUE(Parse(ValidFile(64))->header.ids.empty());
}

TEST(SessionFileTest, SeveralStandInOneFile) {
  const TestFolder folder;
  const auto path = folder.path() / "several";
  {
    auto writer = SessionsWriter::Create(path).value();
    for (const std::string& content : {std::string("one"), std::string(), std::string("three")}) {
      EXPECT_TRUE(writer.Add([&](AtomicFile& file) -> Result<std::uint64_t> {
        LATTICE_TRY_VOID(file.Append(content));
        return content.size();
      }));
    }
    EXPECT_FALSE(exists(path));
    EXPECT_TRUE(writer.Finish());
  }
  const std::string file = ReadFile(path, 1 << 16).value();
  const auto split = [](const std::string& bytes) {
    return SplitSessions(std::as_bytes(std::span(bytes)));
  };
  const auto sessions = split(file);
  ASSERT_TRUE(sessions);
  ASSERT_EQ(sessions->size(), 3u);
  EXPECT_EQ(sessions->at(0).size(), 3u);
  EXPECT_EQ(sessions->at(1).size(), 0u);
  EXPECT_EQ(std::memcmp(sessions->at(2).data(), "three", 5), 0);
  const std::size_t ends[] = {12, 12 + 11, 12 + 19};  // after which there may be no more
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_EQ(split(file.substr(0, n)).has_value(), std::ranges::count(ends, n) == 1) << n;
  }
  std::string changed = file;
  changed[8] = 2;
  EXPECT_EQ(split(changed).error().code, ErrorCode::kUnsupported);
  changed = file;
  changed[12 + 7] = '\x7f';
  EXPECT_EQ(split(changed).error().code, ErrorCode::kCorruptData);
}

TEST(SessionFileTest, EveryCutAndEveryChangedByteIsSeen) {
  const std::string file = ValidFile();
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_EQ(Parse(file.substr(0, n)).error().code, ErrorCode::kCorruptData) << n;
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    const auto session = Parse(changed);
    ASSERT_FALSE(session) << i;
    const bool version = i >= 8 && i < 12;
    EXPECT_EQ(session.error().code, version ? ErrorCode::kUnsupported : ErrorCode::kCorruptData)
        << i;
  }
}

TEST(SessionFileTest, WrongNumbersUnderARightChecksumAreSeen) {
  const std::string file = ValidFile();
  const std::string content = file.substr(0, file.size() - 32);
  const struct {
    std::size_t offset;
    std::string bytes;
    const char* message;
  } cases[] = {
      {12, std::string("\3\0\0\0", 4), "keys and values 3"},
      {24, std::string("\1\1\0\0", 4), "fingerprint of 257 bytes"},
      {24, std::string("\377\0\0\0", 4), "cut off"},
      {28 + 11, std::string("\1\4\0\0", 4), "1025 layers"},
      {28 + 11, std::string("\3\0\0\0", 4), "cut off"},
      {28 + 11, std::string("\1\0\0\0", 4), "8 bytes after the last layer"},
      {28 + 11, std::string("\0\0\0\0", 4), "21 bytes after the last layer"},
      {28 + 15, std::string("\377\377\377\377\377\377\377\377", 8), "cut off"},
      {28 + 15, std::string("\6\0\0\0\0\0\0\0", 8), "cut off"},
      {28 + 15 + 13, std::string("\1\0\0\0\0\0\0\0", 8), "cut off"},
  };
  for (const auto& c : cases) {
    std::string changed = content;
    changed.replace(c.offset, c.bytes.size(), c.bytes);
    const auto session = Parse(changed + Digest(changed));
    ASSERT_FALSE(session) << c.message;
    EXPECT_EQ(session.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(session.error().message.find(c.message), std::string::npos)
        << session.error().message;
  }
  const std::string part = ValidFile(64, std::vector<TokenId>(77, 5));
  const struct {
    std::size_t offset;
    std::string bytes;
    const char* message;
  } parts[] = {
      {24, std::string("\x80\0\0\0\0\0\0\0", 8), "128 of 77 tokens elsewhere"},
      {24, std::string("\1\0\0\0\0\0\0\0", 8), "1 of 77 tokens elsewhere"},
      {32, std::string("\1\0\0\0\0\0\0\0", 8), "1 ids for 77 tokens"},
      {16, std::string("\377\377\377\377\377\377\377\377", 8), "77 ids for 18446744073709551615"},
      {40, std::string("\0\0\0\x80", 4), "an id 2147483648"},
  };
  for (const auto& c : parts) {
    std::string changed = part.substr(0, part.size() - 32);
    changed.replace(c.offset, c.bytes.size(), c.bytes);
    const auto session = Parse(changed + Digest(changed));
    ASSERT_FALSE(session) << c.message;
    EXPECT_NE(session.error().message.find(c.message), std::string::npos)
        << session.error().message;
  }
  const std::string longer = content + "x";
  EXPECT_NE(Parse(longer + Digest(longer)).error().message.find("1 bytes after"),
            std::string::npos);
  EXPECT_NE(Parse("GGUFxxxxxxxxxxxxxxxx").error().message.find("not a saved sequence"),
            std::string::npos);
}

}  // namespace
}  // namespace lattice::models
