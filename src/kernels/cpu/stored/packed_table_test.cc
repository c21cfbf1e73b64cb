#include "kernels/cpu/stored/packed_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/api/weight_memory.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/stored/random_weights.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kRows = 37, kCols = 768;

class PackedTableTest : public testing::Test {
 protected:
  std::vector<float> Embedded(const Table& table) {
    std::vector<std::int32_t> rows(kRows);
    for (std::size_t i = 0; i < kRows; ++i) rows[i] = static_cast<std::int32_t>(kRows - 1 - i);
    const Lookup lookup = {&table, rows};
    const auto out = backend_->MakeBuffer();
    backend_->Embed({&lookup, 1}, 1.0f, *out);
    std::vector<float> values(kRows * kCols);
    backend_->Read(*out, values);
    return values;
  }

  std::shared_ptr<const LinearWeights> Layer(std::span<const HostTensor> matrices,
                                             Precision precision,
                                             std::span<const HostTensor> biases = {}) {
    return backend_->MakeStoredLinear(matrices, biases, precision, memory_).value();
  }

  ThreadPool pool_{2};
  ProcessWeightMemory memory_;
  std::unique_ptr<Backend> backend_ = MakeCpuBackend(pool_, CpuFeatures::Detect());
};

TEST_F(PackedTableTest, RowsAreThoseOfTheFile) {
  for (const Dtype dtype : kBlockDtypes) {
    const RandomWeights weights(dtype, kRows, kCols, 7);
    const HostTensor tensor = weights.tensor();
    const auto table = backend_->MakeTable(Layer({&tensor, 1}, Precision::kInt8));
    ASSERT_NE(table, nullptr) << DtypeName(dtype);
    EXPECT_EQ(table->rows(), kRows);
    EXPECT_EQ(table->cols(), kCols);
    EXPECT_TRUE(backend_->Packs(dtype, Precision::kInt8));
    EXPECT_EQ(Embedded(*table), Embedded(*backend_->MakeTable(tensor).value())) << DtypeName(dtype);
  }
}

TEST_F(PackedTableTest, RowsOfWhatIsKeptInAnotherFormatAreRoundedToIt) {
  const RandomWeights weights(Dtype::kBf16, kRows, kCols, 8);
  HostTensor tensor = weights.tensor();
  tensor.store_as = Dtype::kQ6K;
  const auto table = backend_->MakeTable(Layer({&tensor, 1}, Precision::kInt8));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(Embedded(*table), Embedded(*backend_->MakeTable(tensor).value()));
}

TEST_F(PackedTableTest, OnlyOnePackedMatrixHasATable) {
  const RandomWeights blocks(Dtype::kQ8_0, kRows, kCols, 9), floats(Dtype::kF16, kRows, kCols, 9);
  const RandomWeights bias_values(Dtype::kF32, 1, kRows, 9);
  const HostTensor both[] = {blocks.tensor(), blocks.tensor()};
  const HostTensor block = blocks.tensor(), real = floats.tensor(), bias = bias_values.tensor();
  EXPECT_EQ(backend_->MakeTable(Layer(both, Precision::kInt8)), nullptr);
  EXPECT_EQ(backend_->MakeTable(Layer({&block, 1}, Precision::kInt8, {&bias, 1})), nullptr);
  EXPECT_EQ(backend_->MakeTable(Layer({&real, 1}, Precision::kInt8)), nullptr);
  EXPECT_EQ(backend_->MakeTable(Layer({&block, 1}, Precision::kF32)), nullptr);
  EXPECT_FALSE(backend_->Packs(Dtype::kQ8_0, Precision::kF32));
  EXPECT_FALSE(backend_->Packs(Dtype::kF16, Precision::kInt8));
}

}  // namespace
}  // namespace lattice::kernels
