// SentencePiece files that break the format, or are made to hang or exhaust their reader.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {
namespace {

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Integer(int field, std::uint64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(value);
}
std::string Bytes(int field, const std::string& bytes) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Float(int field, float value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return Varint(static_cast<std::uint64_t>(field) << 3 | 5) + bytes;
}

enum Type { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
std::string Piece(const std::string& text, float score, int type) {
  return Bytes(1, Bytes(1, text) + Float(2, score) + Integer(3, static_cast<std::uint64_t>(type)));
}
std::string Trainer(int model_type) {
  return Bytes(2, Integer(3, static_cast<std::uint64_t>(model_type)));
}

// A small file that is right.
std::string Unk() { return Piece("<unk>", 0, kUnknown); }
std::string Good() { return Unk() + Piece("a", -1, kNormal) + Piece("b", -2, kNormal); }

struct Case {
  std::string name, file;
  ErrorCode code;
  std::string fragment;  // of the message
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> Cases() {
  using enum ErrorCode;
  const auto map = [](const std::string& blob) { return Good() + Bytes(3, Bytes(2, blob)); };
  const float infinity = std::numeric_limits<float>::infinity();
  return {
      {"Empty", "", kCorruptData, "no pieces"},
      {"NoUnknown", Piece("a", 0, kNormal), kCorruptData, "no unknown piece"},
      {"OnlyUnknown", Unk(), kCorruptData, "no piece that stands for text"},
      {"TwoUnknown", Good() + Piece("?", 0, kUnknown), kCorruptData, "piece 3"},
      {"EmptyPiece", Good() + Piece("", 0, kNormal), kCorruptData, "piece 3: empty"},
      {"RepeatedPiece", Good() + Piece("a", 0, kUserDefined), kCorruptData, "'a' is defined twice"},
      {"PieceNotUtf8", Good() + Piece("\xC3", 0, kNormal), kCorruptData, "piece 3: not UTF-8"},
      {"PieceIsInteger", Good() + Integer(1, 5), kCorruptData, "piece 3: field 1"},
      {"PieceTextIsFloat", Good() + Bytes(1, Float(1, 2)), kCorruptData, "expected bytes"},
      {"ScoreIsInteger", Good() + Bytes(1, Bytes(1, "c") + Integer(2, 1)), kCorruptData,
       "expected a float"},
      {"ScoreIsNotANumber", Good() + Piece("c", infinity - infinity, kNormal), kCorruptData,
       "not finite"},
      {"ScoreIsInfinite", Good() + Piece("c", -infinity, kNormal), kCorruptData, "not finite"},
      {"UnknownPieceType", Good() + Piece("c", 0, 9), kCorruptData, "unknown type 9"},
      {"WordModel", Good() + Trainer(3), kUnsupported, "3 (word)"},
      {"CharModel", Good() + Trainer(4), kUnsupported, "4 (char)"},
      {"UnknownModel", Good() + Trainer(77), kUnsupported, "77"},
      {"ByteWithoutFallback", Good() + Piece("<0x00>", 0, kByte), kCorruptData,
       "without byte_fallback"},
      {"ByteMisspelled", Good() + Piece("<0xZZ>", 0, kByte), kCorruptData, "<0x00>"},
      {"BytesMissing", Good() + Bytes(2, Integer(35, 1)), kCorruptData, "0 of 256"},
      {"LongPiece", Good() + Piece(std::string(5000, 'x'), 0, kNormal), kUnsupported, "5000 bytes"},
      {"CutInsideKey", Good() + "\x80", kCorruptData, "cut short"},
      {"CutInsidePiece", Good() + Piece("c", 0, kNormal).substr(0, 5), kCorruptData, "are left"},
      {"CutInsideFloat", Good() + Bytes(1, std::string("\x15\0\0", 3)), kCorruptData, "cut short"},
      {"NegativeLength", Good() + "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", kCorruptData,
       "18446744073709551615 bytes"},
      {"HugeLength", Good() + std::string("\x0A") + Varint(std::uint64_t{1} << 40) + "x",
       kCorruptData, "1099511627776 bytes"},
      {"EndlessVarint", Good() + std::string(12, '\xFF'), kCorruptData, "over 64 bits"},
      {"FieldZero", Good() + std::string("\0\0", 2), kCorruptData, "field number"},
      {"Group", Good() + "\x0B\x0C", kCorruptData, "wire type 3"},
      {"WireTypeSeven", Good() + "\x0F", kCorruptData, "wire type 7"},
      {"MapTooShort", map("ab"), kCorruptData, "normalizer_spec"},
      {"MapSizeBeyondEnd", map("\xFF\xFF\xFF\x7F" + std::string(8, 'x')), kCorruptData,
       "2147483647"},
      {"MapNotUtf8", map(std::string("\4\0\0\0\0\0\0\0\xFF\0", 10)), kCorruptData, "not UTF-8"},
      {"MapReplacementTooLong", map(std::string(8, '\0') + std::string(5000, 'x')), kCorruptData,
       "replacement"},
      {"NormalizerIsInteger", Good() + Integer(3, 1), kCorruptData, "normalizer_spec"},
  };
}

class MalformedSentencePieceTest : public testing::TestWithParam<Case> {};

TEST_P(MalformedSentencePieceTest, IsRefusedWithItsPlace) {
  const auto tokenizer = Tokenizer::FromSentencePiece(GetParam().file);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, GetParam().code) << tokenizer.error().message;
  EXPECT_NE(tokenizer.error().message.find(GetParam().fragment), std::string::npos)
      << tokenizer.error().message;
}

INSTANTIATE_TEST_SUITE_P(Table, MalformedSentencePieceTest, testing::ValuesIn(Cases()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(OddSentencePieceTest, UnknownFieldsOfEveryWireTypeAreSkipped) {
  const std::string file = Good() + Integer(200, 1) + Float(201, 1) + Bytes(202, "x") +
                           Varint(203 << 3 | 1) + std::string(8, 'x');
  const auto tokenizer = Tokenizer::FromSentencePiece(file);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto encoding = (*tokenizer)->Encode("ab", {});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (std::vector<TokenId>{0, 1, 2}));  // The dummy prefix is unknown here.
}

TEST(OddSentencePieceTest, EveryPrefixOfAFileIsHandled) {
  const std::string file = Good() + Trainer(2) + Bytes(3, Integer(3, 0));
  for (std::size_t n = 0; n < file.size(); ++n) {
    (void)Tokenizer::FromSentencePiece(std::string(file.data(), n)).has_value();
  }
}

TEST(OddSentencePieceTest, AMapThatPointsOutsideItselfChangesNothing) {
  std::string blob("\x40\0\0\0", 4);
  blob += std::string(64, '\xFF');
  const auto tokenizer = Tokenizer::FromSentencePiece(Good() + Bytes(3, Bytes(2, blob)));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto encoding = (*tokenizer)->Encode("ab", {});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (std::vector<TokenId>{0, 1, 2}));
}

TEST(OddSentencePieceTest, LongPiecesOfOneLetterStayBounded) {
  std::string file = Unk() + Piece("a", -1, kNormal);
  for (std::size_t n = 2; n <= 1024; n *= 2) file += Piece(std::string(n, 'a'), -1, kUnused);
  const std::string text(std::size_t{1} << 18, 'a');
  for (const int model_type : {1, 2}) {
    const auto tokenizer = Tokenizer::FromSentencePiece(file + Trainer(model_type));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const auto begin = std::chrono::steady_clock::now();
    const auto encoding = (*tokenizer)->Encode(text, {});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(encoding);
    EXPECT_EQ(encoding->ids.size(), text.size() + 1);
    EXPECT_LT(seconds.count(), 20.0);
  }
}

}  // namespace
}  // namespace lattice::tokenizers
