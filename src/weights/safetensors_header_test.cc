#include "weights/safetensors_header.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "weights/test_files.h"

namespace lattice::weights {
namespace {

// Parses an exactly sized heap copy, so that a sanitizer sees any read past the end.
Result<SafetensorsHeader> Parse(std::string_view file) {
  const std::vector<char> copy(file.begin(), file.end());
  return ParseSafetensorsHeader(std::as_bytes(std::span(copy)));
}

std::string Repeat(std::string_view text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

// One float tensor "a" with the given members in place of the usual ones.
std::string OneF32(std::string_view shape, std::string_view offsets) {
  return R"({"a":{"dtype":"F32","shape":)" + std::string(shape) + R"(,"data_offsets":)" +
         std::string(offsets) + "}}";
}

struct BadFile {
  const char* what;
  std::string file;
  std::string message;  // a part of it
  ErrorCode code = ErrorCode::kCorruptData;
};

const std::string kA = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
const std::string kB = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]})";

std::vector<BadFile> BadLengths() {
  return {
      {"no bytes", "", "has 0 bytes"},
      {"seven bytes", std::string(7, '\0'), "has 7 bytes"},
      {"header of no bytes", std::string(8, '\0'), "found the end"},
      {"header longer than the file", FileOf("{}", 0).substr(0, 9), "is more than the 1 bytes"},
      {"header length 2^64 - 1", std::string(8, '\xff') + "{}", "18446744073709551615 is above"},
      {"header length above the limit", std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + "{}",
       "100000001 is above the limit"},
      {"a GGUF file", std::string("GGUF\3\0\0\0 more", 13), "like a GGUF file"},
      {"a zip file", std::string("PK\3\4\x14\0\0\0 more", 13), "like a PyTorch or zip file"},
      {"a pointer file", "version https://git-lfs.github.com/spec/v1", "Git LFS pointer"},
      {"truncated data", FileOf("{" + kA + "}", 1), "has only 1: is it truncated"},
      {"no data", FileOf("{" + kA + "}", 0), "tensor 'a': ends at byte 2"},
      {"trailing byte", FileOf("{" + kA + "}", 3), "1 more bytes follow"},
      {"trailing data without tensors", FileOf("{}", 5), "5 more bytes follow"},
  };
}

std::vector<BadFile> BadJson() {
  return {
      {"an array", FileOf("[]", 0), "expected '{', found '['"},
      {"a byte order mark", FileOf("\xEF\xBB\xBF{}", 0), "JSON at byte 0: expected '{'"},
      {"no end", FileOf("{" + kA, 2), "expected '}', found the end"},
      {"two documents", FileOf("{}{}", 0), "expected the end of the text, found '{'"},
      {"NUL padding", FileOf(std::string("{}\0", 3), 0), "found '\\x00'"},
      {"trailing comma", FileOf("{" + kA + ",}", 2), "expected a string, found '}'"},
      {"single quotes", FileOf("{'a':1}", 0), "expected a string"},
      {"unquoted key", FileOf("{a:1}", 0), "expected a string"},
      {"no colon", FileOf(R"({"a" 1})", 0), "expected ':'"},
      {"not UTF-8", FileOf("{\"\xff\":1}", 0), "not valid UTF-8"},
      {"overlong UTF-8", FileOf("{\"\xc0\x80\":1}", 0), "not valid UTF-8"},
      {"UTF-8 surrogate", FileOf("{\"\xed\xa0\x80\":1}", 0), "not valid UTF-8"},
      {"lone high surrogate", FileOf(R"({"\ud800":1})", 0), "lone surrogate"},
      {"lone low surrogate", FileOf(R"({"\udc00":1})", 0), "lone surrogate"},
      {"two high surrogates", FileOf(R"({"\ud800\ud800":1})", 0), "lone surrogate"},
      {"NUL in a name", FileOf(R"({"a\u0000b":1})", 0), "U+0000"},
      {"bare newline in a name", FileOf("{\"a\nb\":1}", 0), "string without an end"},
      {"bad escape", FileOf(R"({"\x41":1})", 0), "unknown escape"},
      {"short escape", FileOf(R"({"\u00g0":1})", 0), "expected a hex digit"},
      {"string without an end", FileOf(R"({"a)", 0), "string without an end"},
      {"escape at the end", FileOf("{\"a\\", 0), "string without an end"},
      {"100,000 brackets", FileOf(R"({"a":)" + std::string(100'000, '['), 0), "expected '{'"},
      {"100,000 braces", FileOf(Repeat(R"({"a":)", 100'000), 0), "unknown key 'a'"},
  };
}

std::vector<BadFile> BadEntries() {
  return {
      {"a number for a tensor", FileOf(R"({"a":1})", 0),
       "tensor 'a': JSON at byte 5: expected '{'"},
      {"null for a tensor", FileOf(R"({"a":null})", 0), "expected '{'"},
      {"no dtype", FileOf(R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1), "missing 'dtype'"},
      {"no shape", FileOf(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1), "missing 'shape'"},
      {"no offsets", FileOf(R"({"a":{"dtype":"U8","shape":[]}})", 1), "missing 'data_offsets'"},
      {"empty entry", FileOf(R"({"a":{}})", 0), "tensor 'a': missing"},
      {"unknown key", FileOf(R"({"a":{"dtype":"U8","strides":[1]}})", 0), "unknown key 'strides'"},
      {"repeated dtype", FileOf(R"({"a":{"dtype":"U8","dtype":"I8"}})", 0), "repeated key 'dtype'"},
      {"repeated shape", FileOf(R"({"a":{"shape":[],"shape":[]}})", 0), "repeated key 'shape'"},
      {"repeated offsets", FileOf(R"({"a":{"data_offsets":[0,1],"data_offsets":[0,1]}})", 1),
       "repeated key 'data_offsets'"},
      {"repeated name", FileOf("{" + kA + "," + kA + "}", 2), "tensor 'a' occurs twice"},
      {"repeated name, escaped", FileOf("{" + kB + R"(,"\u0062)" + kA.substr(2) + "}", 4),
       "tensor 'b' occurs twice"},
      {"unknown dtype", FileOf(R"({"a":{"dtype":"F33"}})", 0),
       "unknown dtype 'F33'; known: F64, F32, F16, BF16"},
      {"dtype in lower case", FileOf(R"({"a":{"dtype":"f32"}})", 0), "unknown dtype 'f32'"},
      {"a dtype of other files", FileOf(R"({"a":{"dtype":"Q4_0"}})", 0), "unknown dtype 'Q4_0'"},
      {"empty dtype", FileOf(R"({"a":{"dtype":""}})", 0), "unknown dtype ''"},
      {"dtype as number", FileOf(R"({"a":{"dtype":32}})", 0), "expected a string"},
      {"4-bit dtype", FileOf(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1),
       "tensor 'a': dtype F4 is not supported", ErrorCode::kUnsupported},
      {"6-bit dtype", FileOf(R"({"a":{"dtype":"F6_E2M3"}})", 0), "F6_E2M3 is not supported",
       ErrorCode::kUnsupported},
      {"scale dtype", FileOf(R"({"a":{"dtype":"F8_E8M0"}})", 0), "F8_E8M0 is not supported",
       ErrorCode::kUnsupported},
      {"complex dtype", FileOf(R"({"a":{"dtype":"C64"}})", 0), "C64 is not supported",
       ErrorCode::kUnsupported},
      {"metadata is an array", FileOf(R"({"__metadata__":[]})", 0),
       "__metadata__: JSON at byte 16"},
      {"metadata with a number", FileOf(R"({"__metadata__":{"a":1}})", 0), "expected a string"},
      {"metadata with an object", FileOf(R"({"__metadata__":{"a":{}}})", 0), "expected a string"},
      {"metadata key repeated", FileOf(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
       "repeated key 'a'"},
      {"metadata twice", FileOf(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "'__metadata__' occurs twice"},
  };
}

std::vector<BadFile> BadNumbers() {
  const std::string big = "4611686018427387904";  // 2^62
  return {
      {"negative dimension", FileOf(OneF32("[-1]", "[0,4]"), 4), "non-negative integer, found '-'"},
      {"fraction", FileOf(OneF32("[1.0]", "[0,4]"), 4), "expected a plain integer, found '.'"},
      {"exponent", FileOf(OneF32("[1e0]", "[0,4]"), 4), "expected a plain integer, found 'e'"},
      {"leading zero", FileOf(OneF32("[01]", "[0,4]"), 4), "leading zero"},
      {"plus", FileOf(OneF32("[+1]", "[0,4]"), 4), "found '+'"},
      {"hexadecimal", FileOf(OneF32("[0x1]", "[0,4]"), 4), "expected ']', found 'x'"},
      {"NaN", FileOf(OneF32("[NaN]", "[0,4]"), 4), "found 'N'"},
      {"text", FileOf(OneF32("[\"1\"]", "[0,4]"), 4), "found '\"'"},
      {"true", FileOf(OneF32("[true]", "[0,4]"), 4), "found 't'"},
      {"2^64", FileOf(OneF32("[18446744073709551616]", "[0,4]"), 4), "2^64 or more"},
      {"500 digits", FileOf(OneF32("[" + std::string(500, '9') + "]", "[0,4]"), 4), "2^64 or more"},
      {"nested shape", FileOf(OneF32("[[1]]", "[0,4]"), 4), "found '['"},
      {"shape is a number", FileOf(OneF32("1", "[0,4]"), 4), "expected '['"},
      {"size wraps to 0", FileOf(OneF32("[" + big + ",4]", "[0,0]"), 0),
       "F32 [" + big + ", 4] overflows"},
      {"bytes wrap to 0", FileOf(OneF32("[" + big + "]", "[0,0]"), 0), "overflows"},
      {"overflow beside a zero", FileOf(OneF32("[" + big + ",0," + big + "]", "[0,0]"), 0),
       "overflows"},
      {"65 dimensions", FileOf(OneF32("[1" + Repeat(",1", 64) + "]", "[0,4]"), 4),
       "tensor 'a': more than 64 dimensions", ErrorCode::kUnsupported},
      {"one offset", FileOf(OneF32("[1]", "[0]"), 4), "expected ','"},
      {"three offsets", FileOf(OneF32("[1]", "[0,4,8]"), 4), "expected ']'"},
      {"offsets in reverse", FileOf(OneF32("[1]", "[4,0]"), 4), "[4, 0] do not span the 4 bytes"},
      {"too few bytes", FileOf(OneF32("[2]", "[0,4]"), 4), "do not span the 8 bytes of F32 [2]"},
      {"too many bytes", FileOf(OneF32("[1]", "[0,8]"), 8), "do not span the 4 bytes of F32 [1]"},
      {"far offsets", FileOf(OneF32("[1]", "[18446744073709551611,18446744073709551615]"), 4),
       "begins at byte 18446744073709551611"},
      {"hole before", FileOf(OneF32("[1]", "[1,5]"), 5), "begins at byte 1 of the data"},
      {"hole between",
       FileOf("{" + kA + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})", 4),
       "tensor 'b': begins at byte 3 of the data; the tensor before it ends at 2"},
      {"overlap", FileOf("{" + kA + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3),
       "tensor 'b': begins at byte 1"},
      {"two tensors of the same bytes",
       FileOf("{" + kA + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2),
       "tensor 'b': begins at byte 0"},
      {"an empty tensor inside another",
       FileOf("{" + kA + R"(,"e":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})", 2),
       "tensor 'e': begins at byte 1"},
  };
}

class BadFileTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadFileTest, IsRefused) {
  const auto header = Parse(GetParam().file);
  ASSERT_FALSE(header.has_value());
  EXPECT_EQ(header.error().code, GetParam().code) << header.error().message;
  EXPECT_NE(header.error().message.find(GetParam().message), std::string::npos)
      << header.error().message;
}

std::string CaseName(const testing::TestParamInfo<BadFile>& info) {
  std::string name;
  for (const char c : std::string_view(info.param.what)) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Length, BadFileTest, testing::ValuesIn(BadLengths()), CaseName);
INSTANTIATE_TEST_SUITE_P(Json, BadFileTest, testing::ValuesIn(BadJson()), CaseName);
INSTANTIATE_TEST_SUITE_P(Entry, BadFileTest, testing::ValuesIn(BadEntries()), CaseName);
INSTANTIATE_TEST_SUITE_P(Number, BadFileTest, testing::ValuesIn(BadNumbers()), CaseName);

TEST(SafetensorsHeaderTest, AcceptsOddButLegalFiles) {
  const std::string cases[] = {
      FileOf("{}", 0),
      FileOf(" \n\t\r{ } \n", 0),
      FileOf("{" + kA + "}" + std::string(4096, ' '), 2),
      FileOf(std::string(4096, '\n') + "{" + kA + "}", 2),
      FileOf("{" + kB + "," + kA + "}", 4),  // header order is not data order
      FileOf(OneF32("[]", "[0,4]"), 4),      // rank 0
      FileOf(OneF32("[0]", "[0,0]"), 0),     // no elements
      FileOf(OneF32("[1000000,0,3]", "[0,0]"), 0),
      FileOf(OneF32("[1" + Repeat(",1", 63) + "]", "[0,4]"), 4),
      FileOf("{" + kA + "," + kB + R"(,"e":{"dtype":"F64","shape":[0],"data_offsets":[2,2]}})", 4),
      FileOf(R"({"":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1),
      FileOf(R"({"__metadata__":{}})", 0),
      FileOf(R"({"a":{"data_offsets":[0,1],"shape":[ 1 ],"dtype":"F8_E4M3"}})", 1),
  };
  for (const std::string& file : cases) {
    const auto header = Parse(file);
    EXPECT_TRUE(header.has_value()) << file << ": " << header.error().message;
  }
}

TEST(SafetensorsHeaderTest, GivesWhatTheHeaderSays) {
  const auto header = Parse(FileOf(
      R"({"__metadata__":{"format":"pt"},"\ud83d\ude00\n":{"dtype":"I16","shape":[2,1],"data_offsets":[2,6]},)" +
          kA + "}",
      6));
  ASSERT_TRUE(header.has_value()) << header.error().message;
  ASSERT_EQ(header->entries.size(), 2u);
  EXPECT_EQ(header->entries[0].name, "a");
  EXPECT_EQ(header->entries[1].name, "\xF0\x9F\x98\x80\n");
  EXPECT_EQ(header->entries[1].dtype, Dtype::kI16);
  EXPECT_EQ(header->entries[1].shape, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(header->entries[1].begin, 2u);
  EXPECT_EQ(header->entries[1].end, 6u);
  EXPECT_EQ(header->metadata.at("format"), "pt");
}

// A file cut at any byte is refused: no shorter file means the same.
TEST(SafetensorsHeaderTest, EveryTruncationIsRefused) {
  const std::string file = FileOf("{" + kA + "," + kB + R"(,"__metadata__":{"k":"v"}})", 4);
  ASSERT_TRUE(Parse(file).has_value());
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_FALSE(Parse(std::string_view(file).substr(0, n)).has_value()) << n;
  }
}

double SecondsToParse(std::size_t n_tensors) {
  // Names with a long common beginning, in an order that is not sorted.
  std::string header = "{";
  for (std::size_t i = 0; i < n_tensors; ++i) {
    const std::string at = std::to_string(i);
    const std::string next = std::to_string(i + 1);
    header += (i == 0 ? "" : ",");
    header += "\"model.layers.weight." + std::string(at.rbegin(), at.rend()) +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + at + "," + next + "]}";
  }
  const std::string file = FileOf(header + "}", n_tensors);
  const auto start = std::chrono::steady_clock::now();
  const auto parsed = ParseSafetensorsHeader(std::as_bytes(std::span(file)));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return seconds.count();
}

TEST(SafetensorsHeaderTest, OneMillionTensorsTakeLinearTime) {
  const double small = SecondsToParse(125'000);
  const double large = SecondsToParse(1'000'000);
  std::printf("125,000 tensors %.3f s, 1,000,000 tensors %.3f s\n", small, large);
  // 8 times the input; quadratic time would be 64 times. The rest is for a busy machine.
  EXPECT_LT(large, small * 32);
}

}  // namespace
}  // namespace lattice::weights
