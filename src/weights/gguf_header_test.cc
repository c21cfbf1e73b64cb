#include "weights/gguf_header.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/mapped_file.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

// Parses an exactly sized heap copy, so that a sanitizer sees any read past the end. What is
// accepted is also walked.
Result<std::size_t> Parse(std::string_view file) {
  const std::vector<char> copy(file.begin(), file.end());
  const auto header = ParseGgufHeader(std::as_bytes(std::span(copy)));
  if (!header) return header.error();
  std::size_t n = 0;
  for (const auto& [key, value] : header->metadata.values()) {
    if (const auto strings = header->metadata.GetStrings(key)) {
      for (const std::string_view text : *strings) n += text.size();
    }
  }
  return n + header->entries.size();
}

constexpr std::uint64_t kHuge = ~std::uint64_t{0};
constexpr std::uint64_t kU32 = 4, kString = 8, kArray = 9, kBool = 7;

struct BadFile {
  const char* what;
  std::string file;
  std::string message;  // a part of it
  ErrorCode code = ErrorCode::kCorruptData;
};

// A file with pairs only.
std::string Pairs(std::uint64_t n, std::string_view pairs) { return GgufFile(0, n, pairs, 0); }
// One pair "k" whose value is too long for a file that ends with it.
std::string Cut(std::string_view pair) {
  return "GGUF" + Le<std::uint32_t>(3) + Le<std::uint64_t>(0) + Le<std::uint64_t>(1) +
         std::string(pair);
}
// A file with one tensor "t", or two.
std::string One(const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset,
                std::size_t n_data) {
  return GgufFile(1, 0, GgufTensor("t", dims, type, offset), n_data);
}
std::string Two(std::string_view first, std::string_view second, std::size_t n_data) {
  return GgufFile(2, 0, std::string(first) + std::string(second), n_data);
}
std::string Align(std::uint32_t type, std::string_view value, std::size_t alignment = 32) {
  return GgufFile(0, 1, GgufPair("general.alignment", type, value), 0, alignment);
}

std::vector<BadFile> BadBegins() {
  using enum ErrorCode;
  const auto version = [](std::uint32_t v) { return GgufFile(0, 0, "", 0, 32, v); };
  return {
      {"no bytes", "", "byte 0: the magic number takes 4 bytes, but only 0 are left"},
      {"three bytes", "GGU", "only 3 are left"},
      {"magic alone", "GGUF", "byte 4: the version takes 4 bytes"},
      {"another magic", "GGML" + version(3).substr(4), "begins with 'GGML', not with 'GGUF'"},
      {"magic in reverse", "FUGG" + version(3).substr(4), "begins with 'FUGG'"},
      {"magic of control bytes", std::string("\0\1\2\3", 4) + version(3).substr(4), "\\x00"},
      {"version 0", version(0), "version 0"},
      {"version 1", version(1), "version 1; versions 2 and 3 are read", kUnsupported},
      {"version 4", version(4), "version 4; versions 2 and 3 are read", kUnsupported},
      {"a far version", version(0xFFFFFFFF), "version 4294967295", kUnsupported},
      {"big endian, version 3", version(0x03000000), "big-endian", kUnsupported},
      {"big endian, version 2", version(0x02000000), "big-endian", kUnsupported},
      {"no counts", version(3).substr(0, 8), "byte 8: the number of tensors takes 8 bytes"},
      {"one count", version(3).substr(0, 20), "byte 16: the number of keys takes 8 bytes"},
      {"2^64 - 1 tensors", GgufFile(kHuge, 0, "", 0), "18446744073709551615, more than the"},
      {"2^63 tensors", GgufFile(std::uint64_t{1} << 63, 0, "", 0), "more than the 16 bytes left"},
      {"2^64 - 1 keys", GgufFile(0, kHuge, "", 0), "the number of keys is 18446744073709551615"},
      {"more keys than bytes", GgufFile(0, 100, "", 512), "byte 24: the number of keys is 100"},
      {"more tensors than bytes", GgufFile(1000, 0, "", 4096), "the number of tensors is 1000"},
      {"too many keys", GgufFile(0, 70'000, "", 1'000'000), "above the limit of 65536",
       kUnsupported},
      {"too many tensors", GgufFile(300'000, 0, "", 8'000'000), "above the limit of 262144",
       kUnsupported},
  };
}

std::vector<BadFile> BadPairs() {
  using enum ErrorCode;
  const std::string k = GgufPair("k", kU32, Le<std::uint32_t>(1));
  std::string deep = Le<std::uint32_t>(0) + Le<std::uint64_t>(0);
  for (int i = 0; i < 5; ++i) deep = Le<std::uint32_t>(9) + Le<std::uint64_t>(1) + deep;
  return {
      {"key of 2^64 - 1 bytes", Cut(Le(kHuge) + "kkkkkk"),
       "a key takes 18446744073709551615 bytes"},
      {"key longer than the file", Cut(Le<std::uint64_t>(7) + "kkkkkk"),
       "byte 32: a key takes 7 bytes, but only 6 are left"},
      {"empty key", Pairs(1, GgufPair("", kU32, Le<std::uint32_t>(1))), "empty key"},
      {"key not UTF-8", Pairs(1, GgufPair("\xff", kU32, Le<std::uint32_t>(1))), "is not UTF-8"},
      {"key with NUL", Pairs(1, GgufPair(std::string("a\0b", 3), kU32, Le<std::uint32_t>(1))),
       "holds U+0000"},
      {"key twice", Pairs(2, k + k), "key 'k' occurs twice"},
      {"type 13", Pairs(1, GgufPair("k", 13, Le<std::uint32_t>(1))),
       "key 'k': byte 37: unknown type 13"},
      {"type 2^32 - 1", Pairs(1, GgufPair("k", 0xFFFFFFFF, "1234")), "unknown type 4294967295"},
      {"no type", Cut(GgufText("key123")), "key 'key123': byte 38: a value's type takes 4 bytes"},
      {"half a value", Cut(GgufPair("k", 10, "1234")),
       "a value takes 8 bytes, but only 4 are left"},
      {"no value", Cut(GgufPair("key", kBool, "")), "a value takes 1 bytes"},
      {"string of 2^64 - 1 bytes", Cut(GgufPair("k", kString, Le(kHuge) + "text")),
       "a string takes 18446744073709551615 bytes, but only 4 are left"},
      {"string longer than the file", Cut(GgufPair("k", kString, Le<std::uint64_t>(5) + "text")),
       "a string takes 5 bytes"},
      {"second key missing",
       Cut(GgufPair("k", kString, GgufText(std::string(20, 'x')))).replace(16, 1, "\2"),
       "a key takes 8 bytes, but only"},
      {"array without a length", Cut(GgufPair("k", kArray, Le<std::uint32_t>(4))),
       "an array's length takes 8 bytes"},
      {"array of type 99", Pairs(1, GgufArray("k", 99, 0, "")), "unknown type 99"},
      {"array of 2^64 - 1 numbers", Pairs(1, GgufArray("k", kU32, kHuge, "")),
       "an array's length is 18446744073709551615, more than the"},
      {"array whose size wraps", Pairs(1, GgufArray("k", 10, (kHuge >> 3) + 2, "12345678")),
       "an array's length is 2305843009213693953"},
      {"array longer than the file", Cut(GgufArray("k", kU32, 2, "1234")),
       "an array's length is 2, more than the 4 bytes left"},
      {"2^61 strings", Pairs(1, GgufArray("k", kString, std::uint64_t{1} << 61, GgufText("a"))),
       "an array's length is 2305843009213693952"},
      {"string of an array too long", Cut(GgufArray("k", kString, 2, GgufText("a") + Le(kHuge))),
       "a string takes"},
      {"array with a string missing", Cut(GgufArray("k", kString, 2, GgufText("12345678"))),
       "a string takes 8 bytes, but only 0 are left"},
      {"arrays too deep", Pairs(1, GgufPair("k", kArray, deep)), "arrays more than 4 deep",
       kUnsupported},
      {"nested array too long",
       Pairs(1, GgufArray("k", 9, 1, Le<std::uint32_t>(4) + Le<std::uint64_t>(1000))),
       "an array's length is 1000"},
      {"many nested arrays announced", Pairs(1, GgufArray("k", 9, 1u << 30, "")),
       "an array's length is 1073741824"},
      {"alignment 0", Align(4, Le<std::uint32_t>(0)), "'general.alignment' is 0; expected a power"},
      {"alignment 3", Align(4, Le<std::uint32_t>(3)), "is 3; expected a power of two"},
      {"alignment 2^31", Align(4, Le<std::uint32_t>(0x80000000)), "is 2147483648; expected"},
      {"alignment 2^63", Align(10, Le(std::uint64_t{1} << 63)), "is 9223372036854775808; expected"},
      {"negative alignment", Align(5, Le<std::int32_t>(-32)), "'general.alignment': is negative"},
      {"alignment as text", Align(kString, GgufText("32")), "expected an integer, found string"},
      {"alignment as float", Align(6, Le(32.0f)), "expected an integer, found f32"},
      {"alignment as array", Pairs(1, GgufArray("general.alignment", 4, 1, Le<std::uint32_t>(32))),
       "expected an integer, found array of 1 u32"},
  };
}

std::vector<BadFile> BadTensors() {
  using enum ErrorCode;
  const auto name = [](std::string_view text) {
    return GgufFile(1, 0, GgufTensor(text, {8}, 0, 0), 32);
  };
  const std::string info = GgufTensor("t", {8}, 0, 0);
  return {
      {"name of 2^64 - 1 bytes", GgufFile(1, 0, Le(kHuge) + info.substr(8), 32),
       "a tensor's name takes 18446744073709551615 bytes"},
      {"empty name", name(""), "empty tensor name"},
      {"name of 64 bytes", name(std::string(64, 'n')), "of 64 bytes; at most 63 are allowed"},
      {"name not UTF-8", name("\xc0\x80"), "is not UTF-8"},
      {"name with NUL", name(std::string("t\0", 2)), "holds U+0000"},
      {"name twice", Two(info, GgufTensor("t", {8}, 0, 32), 64), "tensor 't' occurs twice"},
      {"5 dimensions", One({1, 1, 1, 1, 8}, 0, 0, 32), "tensor 't': 5 dimensions; at most 4"},
      {"2^32 - 1 dimensions", GgufFile(1, 0, GgufText("t") + Le<std::uint32_t>(0xFFFFFFFF), 32),
       "4294967295 dimensions"},
      {"dimensions missing",
       Cut(info).replace(8, 1, "\1").replace(16, 1, std::string(1, '\0')).substr(0, 44),
       "tensor 't': byte 37: a dimension takes 8 bytes, but only 7 are left"},
      {"a removed type", One({8}, 4, 0, 32), "tensor 't': type Q4_2 is not supported",
       kUnsupported},
      {"a type for activations", One({32}, 9, 0, 64), "type Q8_1 is not supported", kUnsupported},
      {"a type not read", One({256}, 16, 0, 96), "type IQ2_XXS is not supported", kUnsupported},
      {"a gap in the types", One({8}, 31, 0, 32), "unknown type 31", kUnsupported},
      {"type 2^32 - 1", One({8}, 0xFFFFFFFF, 0, 32), "unknown type 4294967295", kUnsupported},
      {"product wraps to 0", One({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0, 32),
       "size of F32 [4294967296, 4294967296] overflows"},
      {"product wraps to little",
       One({(std::uint64_t{1} << 42) + 1, 1, std::uint64_t{1} << 22}, 0, 0, 32), "overflows"},
      {"overflow beside a zero", One({0, kHuge, kHuge}, 0, 0, 0), "overflows"},
      {"bytes wrap", One({std::uint64_t{1} << 62}, 0, 0, 32), "overflows"},
      {"sum of sizes wraps",
       Two(GgufTensor("a", {0x7FFFFFFFFFFFFFC0}, 24, 0),
           GgufTensor("b", {0x7FFFFFFFFFFFFFC0}, 24, 0x7FFFFFFFFFFFFFC0), 64),
       "tensor 'a': 9223372036854775744 bytes at offset 0"},
      {"padding wraps", One({kHuge - 8}, 24, 0, 32), "leave the file of"},
      {"2^64 - 1 elements", One({kHuge}, 24, 0, 32), "18446744073709551615 bytes at offset 0"},
      {"rows of half a block", One({16, 2}, 2, 0, 32),
       "rows of Q4_0 [2, 16] are not whole blocks of 32"},
      {"rows of half a super-block", One({128, 2}, 12, 0, 160), "are not whole blocks of 256"},
      {"a block as a scalar", One({}, 8, 0, 64), "rows of Q8_0 [] are not whole blocks"},
      {"offset not 0", One({8}, 0, 32, 96), "offset 32; the tensors before it end at 0"},
      {"offset 2^64 - 32", One({8}, 0, kHuge - 31, 96), "offset 18446744073709551584"},
      {"offset not aligned", Two(info, GgufTensor("u", {8}, 0, 33), 96), "tensor 'u': offset 33"},
      {"overlap", Two(info, GgufTensor("u", {8}, 0, 0), 96),
       "tensor 'u': offset 0; the tensors before it end at 32"},
      {"hole", Two(info, GgufTensor("u", {8}, 0, 64), 96), "tensor 'u': offset 64"},
      {"offset of another alignment",
       GgufFile(2, 1,
                GgufPair("general.alignment", kU32, Le<std::uint32_t>(64)) + info +
                    GgufTensor("u", {8}, 0, 32),
                128, 64),
       "and the alignment is 64"},
      {"last tensor cut by a byte", One({8}, 0, 0, 31),
       "32 bytes at offset 0 of the data at byte 64 leave the file of 95: is it truncated?"},
      {"no data", One({8}, 0, 0, 0), "leave the file of 64"},
      {"second tensor cut", Two(info, GgufTensor("u", {64}, 0, 32), 64),
       "tensor 'u': 256 bytes at offset 32"},
  };
}

class BadGgufTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadGgufTest, IsRefused) {
  const auto parsed = Parse(GetParam().file);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code, GetParam().code) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find(GetParam().message), std::string::npos)
      << parsed.error().message;
}

std::string CaseName(const testing::TestParamInfo<BadFile>& info) {
  std::string name;
  for (const char c : std::string_view(info.param.what)) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Begin, BadGgufTest, testing::ValuesIn(BadBegins()), CaseName);
INSTANTIATE_TEST_SUITE_P(Pair, BadGgufTest, testing::ValuesIn(BadPairs()), CaseName);
INSTANTIATE_TEST_SUITE_P(Tensor, BadGgufTest, testing::ValuesIn(BadTensors()), CaseName);

TEST(GgufHeaderTest, AcceptsOddButLegalFiles) {
  const std::string info = GgufTensor("t", {8}, 0, 0);
  const std::string cases[] = {
      GgufFile(0, 0, "", 0),
      GgufFile(0, 0, "", 0).substr(0, 24),  // no tensors, no padding
      GgufFile(1, 0, info, 32, 32, 2),      // version 2
      GgufFile(1, 0, info, 100),            // what follows is not looked at
      One({}, 0, 0, 4),                     // a scalar
      One({0}, 0, 0, 0),
      One({32, 0, 3}, 2, 0, 0),
      GgufFile(1, 0, GgufTensor(std::string(63, 'n'), {1}, 24, 0), 1),
      Align(0, "\1", 1),
      Align(10, Le<std::uint64_t>(1 << 20), 1 << 20),
      Align(5, Le<std::int32_t>(8), 8),
      Pairs(1, GgufPair("k", kBool, "\x02")),
      Pairs(1, GgufPair("k", kString, GgufText("\xff"))),
      Pairs(1, GgufArray("k", 9, 2,
                         Le<std::uint32_t>(8) + Le<std::uint64_t>(1) + GgufText("a") +
                             Le<std::uint32_t>(4) + Le<std::uint64_t>(0))),
  };
  for (const std::string& file : cases) {
    const auto parsed = Parse(file);
    EXPECT_TRUE(parsed.has_value()) << &file - cases << ": " << parsed.error().message;
  }
}

TEST(GgufHeaderTest, ShapesAreRowMajorAndBytesAreInTheFile) {
  const std::string file = GgufFile(
      3, 1,
      GgufPair("general.alignment", kU32, Le<std::uint32_t>(64)) + GgufTensor("a", {64, 3}, 2, 0) +
          GgufTensor("b", {2, 3, 4}, 1, 128) + GgufTensor("c", {256}, 14, 192),
      192 + 210, 64);
  const auto header = ParseGgufHeader(std::as_bytes(std::span(file)));
  ASSERT_TRUE(header.has_value()) << header.error().message;
  ASSERT_EQ(header->entries.size(), 3u);
  const GgufEntry &a = header->entries[0], &b = header->entries[1], &c = header->entries[2];
  const std::size_t data = file.size() - 192 - 210;
  EXPECT_EQ(data % 64, 0u);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, Dtype::kQ4_0);
  EXPECT_EQ(a.shape, (std::vector<std::size_t>{3, 64}));
  EXPECT_EQ(a.begin, data);
  EXPECT_EQ(a.end, data + 108);
  EXPECT_EQ(b.shape, (std::vector<std::size_t>{4, 3, 2}));
  EXPECT_EQ(b.begin, data + 128);
  EXPECT_EQ(c.dtype, Dtype::kQ6K);
  EXPECT_EQ(c.end, file.size());
  EXPECT_EQ(header->alignment, 64u);
}

// A file cut at any byte is refused: no shorter file means the same.
TEST(GgufHeaderTest, EveryTruncationIsRefused) {
  const std::string file = GgufFile(2, 3,
                                    GgufPair("a", kString, GgufText("text")) +
                                        GgufArray("b", kString, 2, GgufText("x") + GgufText("")) +
                                        GgufArray("c", kU32, 1, "1234") +
                                        GgufTensor("t", {8}, 0, 0) + GgufTensor("u", {8}, 0, 32),
                                    64);
  ASSERT_TRUE(Parse(file).has_value());
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_FALSE(Parse(std::string_view(file).substr(0, n)).has_value()) << n;
  }
}

// A file can be far longer than what was ever written to it: its zeros count as elements.
TEST(GgufHeaderTest, SparseFilesAreBounded) {
  const TestFolder folder;
  const auto open = [&](const std::string& begin, std::size_t n_bytes) {
    const auto path = folder.Write("sparse.gguf", begin);
    std::filesystem::resize_file(path, n_bytes);
    auto file = MappedFile::Open(path);
    EXPECT_TRUE(file.has_value());
    return std::move(file).value();
  };
  const std::size_t n_strings = kMaxGgufWalked + 1;
  const MappedFile strings = open(Cut(GgufArray("k", kString, n_strings, "")), 9 * n_strings);
  const auto refused = ParseGgufHeader(strings.bytes());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("33554433, above the limit of 33554432"),
            std::string::npos)
      << refused.error().message;
  const std::size_t n_numbers = kMaxGgufCopied + 1;
  const MappedFile numbers = open(Cut(GgufArray("k", 0, n_numbers, "")), 2 * n_numbers);
  const auto header = ParseGgufHeader(numbers.bytes());
  ASSERT_TRUE(header.has_value()) << header.error().message;
  EXPECT_EQ(header->metadata.GetBytes("k").value().size(), n_numbers);
  const auto copied = header->metadata.GetInts("k");
  ASSERT_FALSE(copied.has_value());
  EXPECT_EQ(copied.error().code, ErrorCode::kUnsupported);
}

double SecondsToParse(std::size_t n) {
  std::string body;
  for (std::size_t i = 0; i < n / 4; ++i) {
    body += GgufPair("a key with a long beginning " + std::to_string(i * 7919 % n), 0, "1");
  }
  for (std::size_t i = 0; i < n; ++i) {
    body +=
        GgufTensor("a name with a long beginning " + std::to_string(i * 7919 % n), {1}, 24, 32 * i);
  }
  const std::string file = GgufFile(n, n / 4, body, 32 * n);
  const auto start = std::chrono::steady_clock::now();
  const auto parsed = ParseGgufHeader(std::as_bytes(std::span(file)));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return seconds.count();
}

TEST(GgufHeaderTest, ManyTensorsTakeLinearTime) {
  const double small = SecondsToParse(32'000);
  const double large = SecondsToParse(256'000);
  std::printf("32,000 tensors %.3f s, 256,000 tensors %.3f s\n", small, large);
  // 8 times the input; quadratic time would be 64 times. The rest is for a busy machine.
  EXPECT_LT(large, small * 32);
}

}  // namespace
}  // namespace lattice::weights
