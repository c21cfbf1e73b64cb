#include "weights/quantise_plan.h"

#include <gtest/gtest.h>

#include "weights/test_files.h"

namespace lattice::weights {
namespace {

std::shared_ptr<const Checkpoint> Source(const TestFolder& folder) {
  const auto path = folder.path() / "source.gguf";
  GgufPairs pairs;
  pairs.SetString("general.architecture", "llama");
  pairs.SetUint32("general.file_type", 0);
  pairs.SetUint32("llama.block_count", 11);
  pairs.SetUint32("quantize.imatrix.entries_count", 3);
  const std::vector<TensorSpec> specs = {{"token_embd.weight", Dtype::kF16, {2, 256}},
                                         {"blk.10.ffn_down.weight", Dtype::kF16, {2, 256}},
                                         {"blk.9.ffn_up.weight", Dtype::kQ8_0, {2, 32}},
                                         {"blk.9.attn_q.weight", Dtype::kQ4_0, {2, 32}},
                                         {"output_norm.weight", Dtype::kF32, {256}}};
  auto writer = GgufWriter::Create(path, pairs, specs);
  EXPECT_TRUE(writer);
  for (const TensorSpec& spec : specs) {
    std::size_t n = 1;
    for (const std::size_t size : spec.shape) n *= size;
    EXPECT_TRUE(writer->Append(std::vector<std::byte>(StorageBytes(spec.dtype, n))));
  }
  EXPECT_TRUE(writer->Finish());
  return Checkpoint::Open(path).value();
}

TEST(QuantisePlanTest, ACopyHasTheTensorsByLayer) {
  const TestFolder folder;
  const auto source = Source(folder);
  const GgufPlan plan = PlanGgufCopy(*source);
  std::vector<std::string> names;
  for (const TensorJob& job : plan.jobs) {
    names.push_back(job.spec.name);
    EXPECT_TRUE(job.IsCopy());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"output_norm.weight", "token_embd.weight",
                                             "blk.9.attn_q.weight", "blk.9.ffn_up.weight",
                                             "blk.10.ffn_down.weight"}));
}

TEST(QuantisePlanTest, ThePolicyIsAppliedAndTold) {
  const TestFolder folder;
  const auto source = Source(folder);
  GgufPlan plan = PlanGgufCopy(*source);
  const QuantiseNotes notes = ApplyPolicy({.type = Dtype::kQ4K}, plan);
  EXPECT_EQ(plan.jobs[0].spec.dtype, Dtype::kF32);
  EXPECT_EQ(plan.jobs[1].spec.dtype, Dtype::kQ6K);   // no head of its own: it is the head
  EXPECT_EQ(plan.jobs[2].spec.dtype, Dtype::kQ5_0);  // 32 columns
  EXPECT_EQ(plan.jobs[4].spec.dtype, Dtype::kQ6K);   // the last of 11 layers
  EXPECT_EQ(notes.fell_back, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(notes.requantised, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(plan.tensor_bytes(), 1024u + 2 * 210 + 2 * 22 + 2 * 22 + 2 * 210);

  const auto file = folder.path() / "out.gguf";
  ASSERT_TRUE(GgufWriter::Create(file, plan.pairs, {}).value().Finish());
  const auto written = Checkpoint::Open(file).value();
  EXPECT_EQ(written->gguf()->GetUint("general.file_type").value(), 15u);
  EXPECT_EQ(written->gguf()->GetUint("general.quantization_version").value(), 2u);
  EXPECT_EQ(written->gguf()->GetUint("llama.block_count").value(), 11u);
  EXPECT_FALSE(written->gguf()->Has("quantize.imatrix.entries_count"));
}

TEST(QuantisePlanTest, TheSameTypeIsCopied) {
  const TestFolder folder;
  const auto source = Source(folder);
  GgufPlan plan = PlanGgufCopy(*source);
  const QuantiseNotes notes = ApplyPolicy({.type = Dtype::kQ8_0}, plan);
  EXPECT_TRUE(plan.jobs[3].IsCopy());
  EXPECT_EQ(notes.requantised, (std::vector<std::size_t>{2}));
}

}  // namespace
}  // namespace lattice::weights
