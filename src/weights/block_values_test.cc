// Every GGUF block format against values made by the format's own Python package
// (tools/make_block_values.py), bit for bit.

#include <gtest/gtest.h>

#include <cstring>

#include "numeric/quantise_blocks.h"
#include "weights/checkpoint.h"

namespace lattice::weights {
namespace {

std::shared_ptr<const Checkpoint> Values() {
  static const auto file =
      Checkpoint::Open(std::string(LATTICE_FIXTURES) + "/gguf_blocks.safetensors");
  return file.has_value() ? file.value() : nullptr;
}

class BlockValuesTest : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { ASSERT_NE(Values(), nullptr); }
};

class QuantisedValuesTest : public BlockValuesTest {};

TEST_P(BlockValuesTest, DecodesBitForBit) {
  const std::string name(DtypeName(GetParam()));
  const TensorView* raw = Values()->Find(name + ".raw");
  const TensorView* expected = Values()->Find(name + ".f32");
  ASSERT_TRUE(raw != nullptr && expected != nullptr);
  ASSERT_EQ(raw->shape[1], LayoutOf(GetParam()).bytes);
  std::vector<float> values(expected->n_elements());
  WidenToF32(GetParam(), raw->bytes, values);
  const auto want = expected->ToF32().value();
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(std::memcmp(&values[i], &want[i], sizeof(float)), 0)
        << i << ": " << values[i] << ", expected " << want[i];
  }
}

TEST_P(QuantisedValuesTest, AreEqualBitForBit) {
  ASSERT_TRUE(CanQuantise(GetParam()));
  const auto values = Values()->Find("values")->ToF32().value();
  const TensorView* expected = Values()->Find(std::string(DtypeName(GetParam())) + ".quantised");
  ASSERT_NE(expected, nullptr);
  std::vector<std::byte> bytes(StorageBytes(GetParam(), values.size()));
  QuantiseBlocks(GetParam(), values, bytes);
  ASSERT_EQ(bytes.size(), expected->bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], expected->bytes[i]) << "byte " << i % LayoutOf(GetParam()).bytes
                                            << " of block " << i / LayoutOf(GetParam()).bytes;
  }
}

std::string FormatName(const testing::TestParamInfo<Dtype>& of) {
  return std::string(DtypeName(of.param));
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockValuesTest,
                         testing::Values(Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0, Dtype::kQ5_1,
                                         Dtype::kQ8_0, Dtype::kQ2K, Dtype::kQ3K, Dtype::kQ4K,
                                         Dtype::kQ5K, Dtype::kQ6K, Dtype::kIq4Nl, Dtype::kIq4Xs,
                                         Dtype::kMxfp4),
                         FormatName);
INSTANTIATE_TEST_SUITE_P(Formats, QuantisedValuesTest,
                         testing::Values(Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0, Dtype::kQ5_1,
                                         Dtype::kQ8_0),
                         FormatName);

}  // namespace
}  // namespace lattice::weights
