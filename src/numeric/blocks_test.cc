#include "numeric/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "numeric/decode_blocks.h"
#include "numeric/dtype.h"
#include "numeric/float16.h"
#include "numeric/quantise_blocks.h"

namespace lattice {
namespace {

constexpr Dtype kBlockDtypes[] = {Dtype::kQ4_0,  Dtype::kQ4_1, Dtype::kQ5_0,  Dtype::kQ5_1,
                                  Dtype::kQ8_0,  Dtype::kQ2K,  Dtype::kQ3K,   Dtype::kQ4K,
                                  Dtype::kQ5K,   Dtype::kQ6K,  Dtype::kIq4Nl, Dtype::kIq4Xs,
                                  Dtype::kMxfp4, Dtype::kKhq4, Dtype::kKhq3};

std::vector<std::byte> RandomBytes(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng() & 0x3F);  // finite f16 fields
  return bytes;
}

TEST(BlocksTest, NamesRoundTrip) {
  for (const Dtype dtype : kBlockDtypes) {
    EXPECT_EQ(DtypeFromName(DtypeName(dtype)), dtype);
    EXPECT_TRUE(IsBlock(dtype) && IsWeight(dtype) && !IsFloat(dtype)) << DtypeName(dtype);
  }
  EXPECT_EQ(DtypeName(Dtype::kQ4K), "Q4_K");
  EXPECT_EQ(StorageBytes(Dtype::kQ6K, 512), 420u);
  EXPECT_FALSE(IsBlock(Dtype::kF16) || IsWeight(Dtype::kI8));
  EXPECT_TRUE(IsWeight(Dtype::kF16));
}

// Every part of a row, also one that begins or ends inside a block, equals the part of the whole.
TEST(BlocksTest, PartsEqualTheWhole) {
  for (const Dtype dtype : kBlockDtypes) {
    const BlockLayout layout = LayoutOf(dtype);
    const std::size_t n = 3 * layout.elements;
    const auto row = RandomBytes(StorageBytes(dtype, n), 7);
    std::vector<float> whole(n);
    WidenToF32(dtype, row, whole);
    for (std::size_t begin = 0; begin < n; begin += 13) {
      for (std::size_t size = 1; begin + size <= n; size += 37) {
        std::vector<float> part(size);
        WidenPartToF32(dtype, row, begin, part);
        ASSERT_EQ(std::memcmp(part.data(), whole.data() + begin, 4 * size), 0)
            << DtypeName(dtype) << " " << begin << " " << size;
      }
    }
  }
}

TEST(BlocksTest, PairsOfTheOriginalsFormat) {
  BlockKhq4 block = {.scale = F32ToF16(0.5f), .bias = F32ToF16(-4.0f), .qs = {}};
  block.qs[0] = 0x0F;  // element 0 is 15, element 1 is 0
  block.qs[15] = 0x21;
  float out[32];
  DecodeBlock(block, out);
  EXPECT_EQ(out[0], 3.5f);
  EXPECT_EQ(out[1], -4.0f);
  EXPECT_EQ(out[30], -3.5f);
  EXPECT_EQ(out[31], -3.0f);
}

TEST(BlocksTest, PlanesOfTheOriginalsThreeBits) {
  BlockKhq3 block = {.scale = F32ToF16(1.0f), .bias = F32ToF16(0.0f), .low = {}, .high = {}};
  block.low[0] = 0b11'10'01'00;
  block.high[0] = 0b00001010;
  float out[32];
  DecodeBlock(block, out);
  const float want[] = {0, 5, 2, 7, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i], want[i]) << i;
}

TEST(BlocksTest, SmallestScalesOfMxfp4) {
  EXPECT_EQ(Mxfp4Scale(0), 0x1p-128f);
  EXPECT_EQ(Mxfp4Scale(1), 0x1p-127f);
  EXPECT_EQ(Mxfp4Scale(2), 0x1p-126f);
  EXPECT_EQ(Mxfp4Scale(128), 1.0f);
  EXPECT_EQ(Mxfp4Scale(255), 0x1p127f);
}

// No value of a block is farther from its code than half a step, and the f16 rounding of the scale.
TEST(QuantiseBlocksTest, ErrorIsBoundedByTheStep) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(32 * 200);
  for (float& v : values) v = normal(rng);
  const struct {
    Dtype dtype;
    float n_steps;  // across the range from -extreme to extreme, or from min to max
  } kCases[] = {{Dtype::kQ4_0, 16},
                {Dtype::kQ4_1, 15},
                {Dtype::kQ5_0, 32},
                {Dtype::kQ5_1, 31},
                {Dtype::kQ8_0, 254}};
  for (const auto& [dtype, n_steps] : kCases) {
    std::vector<std::byte> bytes(StorageBytes(dtype, values.size()));
    QuantiseBlocks(dtype, values, bytes);
    std::vector<float> back(values.size());
    WidenToF32(dtype, bytes, back);
    for (std::size_t b = 0; b < values.size(); b += 32) {
      float extreme = 0;
      for (std::size_t i = b; i < b + 32; ++i) extreme = std::fmax(extreme, std::fabs(values[i]));
      // The formats around zero have no code for the end opposite to the extreme: one whole step.
      const bool lopsided = dtype == Dtype::kQ4_0 || dtype == Dtype::kQ5_0;
      const float bound = 2 * extreme / n_steps * (lopsided ? 1.0f : 0.5f) + extreme * 0x1p-9f;
      for (std::size_t i = b; i < b + 32; ++i) {
        ASSERT_LE(std::fabs(back[i] - values[i]), bound) << DtypeName(dtype) << " " << i;
      }
    }
  }
}

TEST(QuantiseBlocksTest, TiniestAndConstantBlocks) {
  for (const Dtype dtype : {Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0, Dtype::kQ5_1, Dtype::kQ8_0}) {
    EXPECT_TRUE(CanQuantise(dtype));
    for (const float value : {0.0f, -0.0f, 1e-45f, -1e-39f, 1.0f, -3.0f}) {
      const std::vector<float> values(32, value);
      std::vector<std::byte> bytes(StorageBytes(dtype, 32));
      QuantiseBlocks(dtype, values, bytes);
      std::vector<float> back(32);
      WidenToF32(dtype, bytes, back);
      for (const float v : back) {
        EXPECT_LE(std::fabs(v - value), std::fabs(value) * 0x1p-10f + 1e-30f) << DtypeName(dtype);
      }
    }
  }
  EXPECT_FALSE(CanQuantise(Dtype::kQ3K) || CanQuantise(Dtype::kF32));
}

}  // namespace
}  // namespace lattice
