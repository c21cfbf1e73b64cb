#include "weights/gguf_metadata.h"

#include <gtest/gtest.h>

#include "weights/gguf_header.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

// Metadata over bytes that live as long as it.
class Pairs {
 public:
  Pairs(std::uint64_t n, std::string_view pairs) : file_(GgufFile(0, n, pairs, 0)) {
    auto header = ParseGgufHeader(std::as_bytes(std::span(file_)));
    EXPECT_TRUE(header.has_value()) << header.error().message;
    if (header) metadata_ = std::move(header->metadata);
    metadata_.SetWhere("a.gguf");
  }
  const GgufMetadata* operator->() const { return &metadata_; }

 private:
  std::string file_;
  GgufMetadata metadata_;
};

template <typename T>
void ExpectError(const Result<T>& result, ErrorCode code, std::string_view message) {
  ASSERT_FALSE(result.has_value()) << message;
  EXPECT_EQ(result.error().code, code);
  EXPECT_EQ(result.error().message, message);
}

TEST(GgufMetadataTest, IntegersOfAnyWidth) {
  const Pairs pairs(
      8, GgufPair("u8", 0, "\xff") + GgufPair("i8", 1, "\xff") + GgufPair("u16", 2, "\x01\x02") +
             GgufPair("i16", 3, "\xfe\xff") + GgufPair("u32", 4, Le<std::uint32_t>(1u << 31)) +
             GgufPair("i32", 5, Le<std::int32_t>(-7)) + GgufPair("u64", 10, Le(~std::uint64_t{0})) +
             GgufPair("i64", 11, Le<std::int64_t>(5)));
  EXPECT_EQ(pairs->GetUint("u8").value(), 255u);
  EXPECT_EQ(pairs->GetInt("i8").value(), -1);
  EXPECT_EQ(pairs->GetUint("u16").value(), 0x201u);
  EXPECT_EQ(pairs->GetInt("i16").value(), -2);
  EXPECT_EQ(pairs->GetInt("u32").value(), std::int64_t{1} << 31);
  EXPECT_EQ(pairs->GetInt("i32").value(), -7);
  EXPECT_EQ(pairs->GetUint("u64").value(), ~std::uint64_t{0});
  EXPECT_EQ(pairs->GetUint("i64").value(), 5u);
  ExpectError(pairs->GetUint("i8"), ErrorCode::kCorruptData, "a.gguf: key 'i8': is negative");
  ExpectError(pairs->GetInt("u64"), ErrorCode::kCorruptData, "a.gguf: key 'u64': is 2^63 or more");
  ExpectError(pairs->GetFloat("i32"), ErrorCode::kCorruptData,
              "a.gguf: key 'i32': expected a float, found i32");
}

TEST(GgufMetadataTest, AbsentKeysAndFallbacks) {
  const Pairs pairs(1, GgufPair("s", 8, GgufText("text")));
  ExpectError(pairs->GetUint("x"), ErrorCode::kNotFound, "a.gguf: key 'x': is missing");
  ExpectError(pairs->GetStrings("x"), ErrorCode::kNotFound, "a.gguf: key 'x': is missing");
  EXPECT_EQ(pairs->UintOr("x", 3).value(), 3u);
  EXPECT_EQ(pairs->IntOr("x", -3).value(), -3);
  EXPECT_EQ(pairs->FloatOr("x", 0.5).value(), 0.5);
  EXPECT_TRUE(pairs->BoolOr("x", true).value());
  EXPECT_EQ(pairs->StringOr("x", "none").value(), "none");
  EXPECT_EQ(pairs->StringOr("s", "none").value(), "text");
  ExpectError(pairs->UintOr("s", 3), ErrorCode::kCorruptData,
              "a.gguf: key 's': expected an integer, found string");
  ExpectError(pairs->BoolOr("s", true), ErrorCode::kCorruptData,
              "a.gguf: key 's': expected a bool, found string");
}

TEST(GgufMetadataTest, FloatsAndBools) {
  const Pairs pairs(5, GgufPair("f", 6, Le(1.5f)) + GgufPair("d", 12, Le(2.5)) +
                           GgufPair("yes", 7, "\x02") + GgufPair("no", 7, std::string(1, '\0')) +
                           GgufPair("u", 0, "\1"));
  EXPECT_EQ(pairs->GetFloat("f").value(), 1.5);
  EXPECT_EQ(pairs->GetFloat("d").value(), 2.5);
  EXPECT_TRUE(pairs->GetBool("yes").value());
  EXPECT_FALSE(pairs->GetBool("no").value());
  ExpectError(pairs->GetBool("u"), ErrorCode::kCorruptData,
              "a.gguf: key 'u': expected a bool, found u8");
}

TEST(GgufMetadataTest, Arrays) {
  const Pairs pairs(
      6, GgufArray("i", 5, 2, Le<std::int32_t>(4) + Le<std::int32_t>(-4)) +
             GgufArray("f", 6, 2, Le(0.5f) + Le(-1.0f)) +
             GgufArray("b", 7, 3, std::string("\0\1\1", 3)) + GgufArray("bytes", 0, 3, "abc") +
             GgufArray("s", 8, 3, GgufText("one") + GgufText("") + GgufText("three")) +
             GgufPair("scalar", 4, Le<std::uint32_t>(6)));
  EXPECT_EQ(pairs->GetInts("i").value(), (std::vector<std::int64_t>{4, -4}));
  ExpectError(pairs->GetUints("i"), ErrorCode::kCorruptData,
              "a.gguf: key 'i': element 1 of array of 2 i32 does not fit an array of non-negative "
              "integers");
  EXPECT_EQ(pairs->GetFloats("f").value(), (std::vector<float>{0.5f, -1.0f}));
  EXPECT_EQ(pairs->GetBools("b").value(), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(pairs->GetBytes("bytes").value().size(), 3u);
  ExpectError(pairs->GetInts("scalar"), ErrorCode::kCorruptData,
              "a.gguf: key 'scalar': expected an array of integers, found u32");
  ExpectError(pairs->GetUint("i"), ErrorCode::kCorruptData,
              "a.gguf: key 'i': expected an integer, found array of 2 i32");
  const auto strings = pairs->GetStrings("s");
  ASSERT_TRUE(strings.has_value());
  EXPECT_EQ(strings->size(), 3u);
  EXPECT_EQ((std::vector<std::string>(strings->begin(), strings->end())),
            (std::vector<std::string>{"one", "", "three"}));
  ExpectError(pairs->GetStrings("f"), ErrorCode::kCorruptData,
              "a.gguf: key 'f': expected an array of strings, found array of 2 f32");
}

TEST(GgufMetadataTest, OneValueOrOnePerLayer) {
  const Pairs pairs(2, GgufArray("each", 4, 2, Le<std::uint32_t>(8) + Le<std::uint32_t>(2)) +
                           GgufPair("all", 4, Le<std::uint32_t>(6)));
  EXPECT_EQ(pairs->GetUintPerLayer("each", 2).value(), (std::vector<std::uint64_t>{8, 2}));
  EXPECT_EQ(pairs->GetUintPerLayer("all", 3).value(), (std::vector<std::uint64_t>{6, 6, 6}));
  ExpectError(pairs->GetUintPerLayer("each", 3), ErrorCode::kCorruptData,
              "a.gguf: key 'each': has 2 elements for 3 layers");
}

}  // namespace
}  // namespace lattice::weights
