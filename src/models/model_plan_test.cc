#include "models/model_plan.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "models/model_files.h"
#include "numeric/dtype.h"

namespace lattice::models {
namespace {

// The fields of Qwen3.5-35B-A3B's text model.
constexpr const char* k35BA3B = R"({
  "model_type": "qwen3_5_moe", "text_config": {
  "model_type": "qwen3_5_moe_text", "vocab_size": 248320, "hidden_size": 2048,
  "num_hidden_layers": 40, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
  "max_position_embeddings": 262144, "rms_norm_eps": 1e-6, "hidden_act": "silu",
  "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
  "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
  "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
  "shared_expert_intermediate_size": 512, "tie_word_embeddings": false,
  "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25}}})";

ModelDescription Describe35BA3B() {
  const auto json = ParseJson(k35BA3B).value();
  const JsonView config(json, "config.json: ");
  return FindFamily(config).value()->describe(config).value();
}

/// Elements of its matrices, tensor by tensor, and of what stays in f32.
struct Elements {
  std::size_t matrices = 0, floats = 0;
};
Elements Count35BA3B() {
  constexpr std::size_t kHidden = 2048, kVocab = 248320, kFfn = 512, kExperts = 256;
  Elements n;
  n.matrices = 2 * kVocab * kHidden;  // embedding and head
  n.floats = kHidden;
  for (int layer = 0; layer < 40; ++layer) {
    n.matrices += (kExperts + 1) * 3 * kFfn * kHidden;
    n.floats += kExperts * kHidden + kHidden + 2 * kHidden;  // router, shared gate, norms
    if (layer % 4 == 3) {
      n.matrices += (2 * 16 + 2 * 2 + 16) * 256 * kHidden;
      n.floats += 2 * 256;
    } else {
      const std::size_t channels = 2 * 16 * 128 + 32 * 128, values = 32 * 128;
      n.matrices += (channels + 2 * values) * kHidden;
      n.floats += 2 * 32 * kHidden + 4 * channels + 2 * 32 + 128;
    }
  }
  return n;
}

TEST(ModelPlanTest, A35BMixtureOfFourBitsRunsIn24Gigabytes) {
  const Elements n = Count35BA3B();
  EXPECT_NEAR(static_cast<double>(n.matrices + n.floats), 34.66e9, 0.2e9);  // it is called 35B
  const std::size_t weights = StorageBytes(Dtype::kQ4_0, n.matrices) + 4 * n.floats;
  const ModelPlan plan = PlanOf(Describe35BA3B(), weights);
  const ModelUse use{.n_tokens = 32768, .n_sequences = 1, .n_rows = 512, .n_logit_rows = 1};
  EXPECT_EQ(plan.info.n_layers, 40u);
  EXPECT_EQ(plan.state.BytesPerToken(kernels::KvType::kF16), 10u * 2 * 2 * 256 * 2);
  EXPECT_EQ(plan.KvBytes(use), (32768u + 64) * 20480);
  // 30 layers: 32 states of 128 x 128; 32 rows of keys, u and decays; 35 rows of 8192 channels.
  EXPECT_EQ(plan.StateBytes(use), 30u * 4 * (32 * 128 * 128 + 32 * (2048 + 4096 + 32) + 35 * 8192));
  EXPECT_LT(plan.ScratchBytes(use), 200u << 20);
  EXPECT_GT(plan.TotalBytes(use), std::size_t{20'000'000'000});
  EXPECT_TRUE(plan.CheckFits(use, 24'000'000'000));
}

TEST(ModelPlanTest, WhatDoesNotFitIsRefusedWithTheNumbers) {
  const ModelPlan plan = PlanOf(Describe35BA3B(), 19'000'000'000);
  ModelUse use{.n_tokens = 262144, .n_sequences = 1};
  const auto tight = plan.CheckFits(use, 22'000'000'000);
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, ErrorCode::kResourceExhausted);
  for (const char* part :
       {"24.", "22.00 GB are free", "weights 19.00 GB", "262144 tokens 5.37 GB"}) {
    EXPECT_NE(tight.error().message.find(part), std::string::npos) << tight.error().message;
  }
  use.n_tokens = 262145;
  EXPECT_EQ(plan.CheckFits(use, std::size_t{1} << 40).error().code, ErrorCode::kInvalidArgument);
  use.n_sequences = 2;
  EXPECT_TRUE(plan.CheckFits(use, std::size_t{1} << 40));
}

TEST(ModelPlanTest, AFileIsPlannedFromItsHeaders) {
  const auto files = ModelFiles::Open(std::filesystem::path(LATTICE_FIXTURES) / "gemma4");
  ASSERT_TRUE(files) << files.error().message;
  const ModelPlan plan = PlanOf(**files);
  const auto file = std::filesystem::path(LATTICE_FIXTURES) / "gemma4" / "model.safetensors";
  EXPECT_LT(plan.weights_bytes, std::filesystem::file_size(file));
  EXPECT_GT(plan.weights_bytes, std::filesystem::file_size(file) - 20000);  // its header
  // Layers 0, 1, 3 keep 32 values for keys and for values, layer 2 keeps 64; 4 and 5 none.
  EXPECT_EQ(plan.state.BytesPerToken(kernels::KvType::kF32), 2u * (3 * 32 + 64) * 4);
  EXPECT_EQ(plan.state.BytesPerSequence(), 0u);
}

}  // namespace
}  // namespace lattice::models
