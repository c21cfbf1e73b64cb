#include "models/weight_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/files.h"
#include "models/weight_cache.h"

namespace lattice::models {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kSizes[] = {100, 64, 70'000, 1, 4096};

Sha256Digest Identity(char c) {
  Sha256Digest identity;
  identity.fill(static_cast<std::byte>(c));
  return identity;
}

std::byte Content(std::size_t piece, std::size_t i) {
  return static_cast<std::byte>(piece * 37 + i * 11 + (i >> 8));
}

class WeightFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("weight_file_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = folder_ / "one.packed";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<WeightFile> Open(char identity = 'a') const {
    return WeightFile::Open(file_, Identity(identity));
  }

  /// Takes all pieces as a backend would: fills what is not filled, and checks what is.
  /// Returns how many were filled.
  static std::size_t Load(WeightFile& weights, std::uint64_t first_tag = 1000) {
    std::size_t n_filled = 0;
    for (std::size_t p = 0; p < std::size(kSizes); ++p) {
      const auto piece = weights.Take(kSizes[p], first_tag + p);
      EXPECT_TRUE(piece.has_value());
      EXPECT_EQ(piece->bytes.size(), kSizes[p]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece->bytes.data()) % 64, 0u);
      n_filled += piece->is_filled;
      for (std::size_t i = 0; i < kSizes[p]; ++i) {
        if (!piece->is_filled) piece->bytes[i] = Content(p, i);
        EXPECT_EQ(piece->bytes[i], Content(p, i)) << p << " " << i;
      }
    }
    return n_filled;
  }

  void Make() const {
    const auto weights = Open();
    Load(*weights);
    weights->Finish();
  }

  std::string Bytes() const { return ReadFile(file_, 1 << 22).value(); }
  void Write(const std::string& bytes) const {
    fs::remove(file_);
    std::ofstream(file_, std::ios::binary) << bytes;
  }
  std::size_t CountFiles() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_, file_;
};

TEST_F(WeightFileTest, TheSecondStartFindsWhatTheFirstFilled) {
  {
    const auto weights = Open();
    EXPECT_EQ(Load(*weights), 0u);
    EXPECT_FALSE(weights->is_read());
    EXPECT_FALSE(fs::exists(file_));
    weights->Finish();
  }
  EXPECT_EQ(CountFiles(), 1u);
  const auto again = Open();
  EXPECT_EQ(Load(*again), std::size(kSizes));
  EXPECT_TRUE(again->is_read());
  const std::string bytes = Bytes();
  EXPECT_TRUE(CheckWeightFile(std::as_bytes(std::span(bytes))));
}

TEST_F(WeightFileTest, AFileThatIsReadIsNotWrittenAgain) {
  Make();
  const auto written = fs::last_write_time(file_);
  Make();
  EXPECT_EQ(fs::last_write_time(file_), written);
}

TEST_F(WeightFileTest, WhatIsNotFinishedLeavesNothing) {
  Load(*Open());
  EXPECT_EQ(CountFiles(), 0u);
  Open()->Finish();  // nothing was packed
  EXPECT_EQ(CountFiles(), 0u);
}

TEST_F(WeightFileTest, ADeadWritersFileIsRemovedAndALivingOnesIsNot) {
  std::ofstream(folder_ / "two.packed.tmp-123") << "left over";
  const auto living = AtomicFile::Create(file_);
  ASSERT_TRUE(living);
  EXPECT_EQ(CountFiles(), 2u);
  ASSERT_TRUE(WeightCache(folder_, {1000, 0, 0}).MakeRoom(1000));
  EXPECT_EQ(CountFiles(), 1u);
  EXPECT_FALSE(fs::exists(folder_ / "two.packed.tmp-123"));
}

TEST_F(WeightFileTest, TwoWritersAtOnceBothServeAndOneFileStays) {
  {
    const auto one = Open(), two = Open();
    EXPECT_EQ(Load(*one), 0u);
    EXPECT_EQ(Load(*two), 0u);
    one->Finish();
    two->Finish();
  }
  EXPECT_EQ(CountFiles(), 1u);
  EXPECT_EQ(Load(*Open()), std::size(kSizes));
}

TEST_F(WeightFileTest, AFileOfAnotherIdentityIsMadeAnew) {
  Make();
  {
    const auto other = Open('b');
    EXPECT_EQ(Load(*other), 0u);
    other->Finish();
  }
  EXPECT_EQ(Load(*Open('b')), std::size(kSizes));
}

TEST_F(WeightFileTest, OtherTagsMakeTheFileAnew) {
  Make();
  {
    const auto weights = Open();
    EXPECT_EQ(Load(*weights, 2000), 0u);
    weights->Finish();
  }
  EXPECT_EQ(Load(*Open(), 2000), std::size(kSizes));
}

TEST_F(WeightFileTest, FromAnotherTagOrSizeOnTheFileIsMadeAnew) {
  const auto load = [this](bool other_tag) {
    const auto weights = Open();
    const auto first = weights->Take(kSizes[0], 1000);
    const auto second = weights->Take(kSizes[1] + !other_tag, 1001 + other_tag);
    EXPECT_TRUE(first && second);
    EXPECT_TRUE(first->is_filled);
    EXPECT_EQ(first->bytes[5], Content(0, 5));
    const bool filled = second->is_filled;
    if (!filled) std::ranges::fill(second->bytes, std::byte{7});
    EXPECT_EQ(second->bytes.back(), std::byte{7});
    weights->Finish();
    EXPECT_EQ(first->bytes[5], Content(0, 5));
    return filled;
  };
  for (const bool other_tag : {true, false}) {
    Make();
    EXPECT_FALSE(load(other_tag));
    EXPECT_TRUE(load(other_tag));
  }
}

TEST_F(WeightFileTest, MorePiecesThanTheFileHasAreServedFromMemory) {
  Make();
  const auto weights = Open();
  Load(*weights);
  const auto more = weights->Take(64, 5000);
  ASSERT_TRUE(more);
  EXPECT_FALSE(more->is_filled);
}

TEST_F(WeightFileTest, APlaceThatCannotBeWrittenServesFromMemory) {
  for (const fs::path& place : {folder_ / "none" / "x.packed", folder_, fs::path()}) {
    const auto weights = WeightFile::Open(place, Identity('a'));
    EXPECT_EQ(Load(*weights), 0u);
    weights->Finish();
  }
  EXPECT_EQ(CountFiles(), 0u);
}

TEST_F(WeightFileTest, PiecesLargerThanAWriteComeBackWhole) {
  const std::size_t size = (std::size_t{40} << 20) + 12345;
  for (const bool filled : {false, true}) {
    const auto weights = Open();
    for (std::uint64_t tag = 0; tag < 2; ++tag) {
      const auto piece = weights->Take(size, tag);
      ASSERT_TRUE(piece);
      ASSERT_EQ(piece->is_filled, filled);
      for (std::size_t i = 0; i < size; i += 4093) {
        if (!filled) piece->bytes[i] = Content(tag, i);
        ASSERT_EQ(piece->bytes[i], Content(tag, i));
      }
    }
    weights->Finish();
  }
}

struct Damage {
  const char* what;
  void (*apply)(std::string& bytes);
};

void Poke(std::string& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}
std::size_t TableAt(const std::string& bytes) { return bytes.size() - 32 * std::size(kSizes); }

constexpr Damage kDamages[] = {
    {"empty", [](std::string& b) { b.clear(); }},
    {"shorter than the header", [](std::string& b) { b.resize(4095); }},
    {"last byte missing", [](std::string& b) { b.pop_back(); }},
    {"last entry missing", [](std::string& b) { b.resize(b.size() - 32); }},
    {"cut in a piece", [](std::string& b) { b.resize(b.size() / 2); }},
    {"a byte more", [](std::string& b) { b.push_back('x'); }},
    {"an entry more", [](std::string& b) { b.append(32, '\0'); }},
    {"magic", [](std::string& b) { b[0] ^= 1; }},
    {"version", [](std::string& b) { b[8] ^= 2; }},
    {"reserved", [](std::string& b) { b[12] ^= 1; }},
    {"no pieces", [](std::string& b) { Poke(b, 16, 0); }},
    {"more pieces", [](std::string& b) { Poke(b, 16, 6); }},
    {"pieces whose bytes overflow",
     [](std::string& b) { Poke(b, 16, ~std::uint64_t{0} / 32 + 6); }},
    {"table behind the end", [](std::string& b) { Poke(b, 24, b.size() + 64); }},
    {"table far away", [](std::string& b) { Poke(b, 24, ~std::uint64_t{63}); }},
    {"table in the header", [](std::string& b) { Poke(b, 24, 64); }},
    {"table unaligned", [](std::string& b) { Poke(b, 24, TableAt(b) + 1); }},
    {"identity", [](std::string& b) { b[40] ^= 1; }},
    {"seal", [](std::string& b) { b[70] ^= 1; }},
    {"tag", [](std::string& b) { b[TableAt(b)] ^= 1; }},
    {"offset", [](std::string& b) { Poke(b, TableAt(b) + 8, 1 << 30); }},
    {"size", [](std::string& b) { Poke(b, TableAt(b) + 16, ~std::uint64_t{0}); }},
    {"checksum", [](std::string& b) { b[b.size() - 1] ^= 1; }},
    {"all zeros", [](std::string& b) { std::ranges::fill(b, '\0'); }},
};

TEST_F(WeightFileTest, DamagedFilesAreMadeAnew) {
  Make();
  const std::string good = Bytes();
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.what);
    std::string bad = good;
    damage.apply(bad);
    EXPECT_FALSE(ParseWeightFile(std::as_bytes(std::span(bad)), Identity('a')));
    Write(bad);
    Make();
    EXPECT_EQ(Bytes(), good);
  }
}

/// A table with a seal of its own, so that the numbers themselves are looked at.
TEST_F(WeightFileTest, SealedTablesThatLeadElsewhereAreRefused) {
  const Sha256Digest identity = Identity('a');
  const auto refused = [&](std::vector<WeightPiece> pieces) {
    const std::size_t table = 8192;
    const WeightFileFrame frame = MakeWeightFileFrame(pieces, table, identity);
    std::string file = frame.header;
    file.resize(table);
    file += frame.table;
    return !ParseWeightFile(std::as_bytes(std::span(file)), identity);
  };
  EXPECT_FALSE(refused({{1, 4096, 64, 0}, {1, 4160, 4032, 0}}));
  EXPECT_TRUE(refused({{1, 0, 64, 0}}));
  EXPECT_TRUE(refused({{1, 4097, 64, 0}}));
  EXPECT_TRUE(refused({{1, 4096, 4097, 0}}));
  EXPECT_TRUE(refused({{1, 4096, ~std::uint64_t{0}, 0}}));
  EXPECT_TRUE(refused({{1, ~std::uint64_t{63}, 128, 0}}));
  EXPECT_TRUE(refused({{1, 8192 + 64, 0, 0}}));
  EXPECT_TRUE(refused({{1, 4096, 128, 0}, {1, 4160, 64, 0}}));
  EXPECT_TRUE(refused({{1, 4224, 64, 0}, {1, 4096, 64, 0}}));
}

TEST_F(WeightFileTest, ChangedPiecesAreFoundByALookAtEveryByte) {
  Make();
  std::string bytes = Bytes();
  const auto file = std::as_bytes(std::span(bytes));
  const auto pieces = ParseWeightFile(file, Identity('a'));
  ASSERT_TRUE(pieces);
  EXPECT_TRUE(CheckWeightFile(file));
  for (const WeightPiece& piece : *pieces) {
    for (const std::size_t at : {piece.offset, piece.offset + piece.size - 1}) {
      bytes[at] ^= 4;
      EXPECT_FALSE(CheckWeightFile(file));
      EXPECT_TRUE(ParseWeightFile(file, Identity('a')));
      bytes[at] ^= 4;
    }
  }
}

TEST(WeightChecksumTest, EveryBitAndTheLengthCount) {
  std::vector<std::byte> bytes(201);  // the last one is zero
  for (std::size_t i = 0; i < 200; ++i) bytes[i] = Content(1, i);
  for (std::size_t n = 0; n <= 200; ++n) {
    const std::span<std::byte> part(bytes.data(), n);
    const std::uint64_t sum = WeightChecksum(part);
    EXPECT_NE(sum, WeightChecksum({bytes.data(), n + 1}));
    for (std::size_t bit = 0; bit < n * 8; ++bit) {
      const auto flip = static_cast<std::byte>(1u << bit % 8);
      part[bit / 8] ^= flip;
      EXPECT_NE(WeightChecksum(part), sum);
      part[bit / 8] ^= flip;
    }
  }
}

}  // namespace
}  // namespace lattice::models
