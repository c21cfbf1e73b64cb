#include "weights/quantise_policy.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace lattice::weights {
namespace {

constexpr std::array<std::size_t, 2> kWhole{512, 1024};  // rows are whole blocks of 256
constexpr std::array<std::size_t, 2> kNarrow{512, 576};  // of 32 only
constexpr std::array<std::size_t, 2> kOdd{512, 100};

Dtype TypeOf(const QuantisePolicy& policy, std::string_view name,
             std::span<const std::size_t> shape = kWhole) {
  const auto choice = ChooseQuantisedType(policy, name, shape);
  return choice ? choice->type : Dtype::kI8;  // kI8: stays as it is
}

TEST(QuantisePolicyTest, VectorsRoutersAndConvolutionsStay) {
  const QuantisePolicy policy{.type = Dtype::kQ4_0, .n_blocks = 8};
  const std::array<std::size_t, 1> vector{1024};
  const std::array<std::size_t, 2> row{1, 1024};
  EXPECT_FALSE(ChooseQuantisedType(policy, "blk.0.attn_norm.weight", vector));
  EXPECT_FALSE(ChooseQuantisedType(policy, "blk.0.ffn_gate_inp_shexp.weight", row));
  EXPECT_FALSE(ChooseQuantisedType(policy, "blk.0.attn_q.bias", kWhole));
  for (const char* name : {"blk.0.ffn_gate_inp.weight", "blk.0.ssm_conv1d.weight", "blk.0.ssm_a",
                           "position_embd.weight", "token_types.weight"}) {
    EXPECT_FALSE(ChooseQuantisedType(policy, name, kWhole)) << name;
  }
}

TEST(QuantisePolicyTest, HeadsGetMoreBitsThanTheRest) {
  QuantisePolicy policy{.type = Dtype::kQ4_0, .n_blocks = 8};
  EXPECT_EQ(TypeOf(policy, "blk.0.attn_q.weight"), Dtype::kQ4_0);
  EXPECT_EQ(TypeOf(policy, "output.weight"), Dtype::kQ6K);
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kQ4_0);
  policy.tied_output = true;
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kQ6K);
  policy.type = Dtype::kQ8_0;
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kQ8_0);
  policy.type = Dtype::kBf16;
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kBf16);
  EXPECT_EQ(TypeOf(policy, "blk.3.ffn_down.weight", kOdd), Dtype::kBf16);
}

TEST(QuantisePolicyTest, OverridesAndPure) {
  QuantisePolicy policy{.type = Dtype::kQ4K, .tied_output = true, .n_blocks = 8};
  policy.output_type = Dtype::kQ8_0;
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kQ8_0);  // tied: it is the head
  policy.embedding_type = Dtype::kF16;
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kF16);
  policy = {.type = Dtype::kQ4K, .pure = true, .tied_output = true, .n_blocks = 8};
  EXPECT_EQ(TypeOf(policy, "token_embd.weight"), Dtype::kQ4K);
  EXPECT_EQ(TypeOf(policy, "blk.0.ffn_down.weight"), Dtype::kQ4K);
}

TEST(QuantisePolicyTest, ValuesAndDownProjectionsOfSomeLayers) {
  const QuantisePolicy policy{.type = Dtype::kQ4K, .n_blocks = 24};
  for (const char* part : {"attn_v", "attn_qkv", "ffn_down", "ffn_down_exps"}) {
    std::string more;
    for (std::size_t i = 0; i < 24; ++i) {
      const std::string name = "blk." + std::to_string(i) + "." + part + ".weight";
      const Dtype type = TypeOf(policy, name);
      EXPECT_TRUE(type == Dtype::kQ4K || type == Dtype::kQ6K);
      if (type == Dtype::kQ6K) more += std::to_string(i) + " ";
    }
    EXPECT_EQ(more, "0 1 2 5 8 11 14 17 20 21 22 23 ") << part;
  }
  EXPECT_EQ(TypeOf(policy, "blk.0.attn_k.weight"), Dtype::kQ4K);
  EXPECT_EQ(TypeOf({.type = Dtype::kQ4_0, .n_blocks = 24}, "blk.0.attn_v.weight"), Dtype::kQ4_0);
}

TEST(QuantisePolicyTest, RowsThatAreNotWholeBlocks) {
  const struct {
    Dtype type, narrow, odd;
  } kCases[] = {{Dtype::kQ4K, Dtype::kQ5_0, Dtype::kF16},
                {Dtype::kQ5K, Dtype::kQ5_1, Dtype::kF16},
                {Dtype::kQ6K, Dtype::kQ8_0, Dtype::kF16},
                {Dtype::kQ4_0, Dtype::kQ4_0, Dtype::kF16}};
  for (const auto& one : kCases) {
    const QuantisePolicy policy{.type = one.type, .n_blocks = 8};
    const auto narrow = ChooseQuantisedType(policy, "blk.1.attn_q.weight", kNarrow);
    ASSERT_TRUE(narrow);
    EXPECT_EQ(narrow->type, one.narrow);
    EXPECT_EQ(narrow->fell_back, one.type != one.narrow);
    const auto odd = ChooseQuantisedType(policy, "blk.1.attn_q.weight", kOdd);
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->type, one.odd);
    EXPECT_TRUE(odd->fell_back);
  }
}

}  // namespace
}  // namespace lattice::weights
