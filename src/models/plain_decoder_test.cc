// Families without values of the reference, against a plain decoder in double.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "models/test_generator.h"
#include "models/test_plain_decoder.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

namespace json = boost::json;

// Of logits: |a - b| / (1 + |b|). Seen: at most 2e-5.
constexpr double kTolerance = 1e-4;

Ids SomeIds() {
  Ids ids;
  for (TokenId i = 0; i < 70; ++i) ids.push_back(i * 43 % 768);
  return ids;
}

void ExpectSame(const EditableModel& model, const PlainDecoder::Options& options,
                const char* what) {
  const TestFolder folder;
  model.Write(folder);
  Generator generator(folder.path());
  const auto sequence = generator.store->New();
  const Ids ids = SomeIds();
  const double distance =
      Distance(generator.Read(*sequence, ids), PlainDecoder(model, options).Read(ids));
  std::cout << what << ": " << distance << "\n";
  EXPECT_LE(distance, kTolerance) << what;
}

PlainDecoder::Options Qwen3Options() {
  return {.n_layers = 3,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 32,
          .rotary_dim = 32,
          .scale = 1 / std::sqrt(32.0),
          .head_norms = true};
}

TEST(PlainDecoderTest, ItIsRightAboutAFixture) {
  const Golden golden(std::filesystem::path(LATTICE_FIXTURES) / "qwen3" / "golden.safetensors");
  Ids ids = golden.Ints("input_ids");
  ids.resize(40);
  const EditableModel model("qwen3");
  const auto logits = PlainDecoder(model, Qwen3Options()).Read(ids);
  const std::vector<float> want = golden.Floats("logits");
  EXPECT_LE(Distance(logits, std::span(want).first(logits.size())), 1e-5);
}

TEST(PlainDecoderTest, Gemma2HasSoftCapsAndSlidesInEvenLayers) {
  EditableModel model("gemma3");
  std::erase_if(model.tensors, [](const auto& t) {
    return t.first.ends_with("q_norm.weight") || t.first.ends_with("k_norm.weight");
  });
  model.config["model_type"] = "gemma2";
  model.config["architectures"] = json::array{"Gemma2ForCausalLM"};
  model.config["attn_logit_softcapping"] = 2.0;
  model.config["final_logit_softcapping"] = 3.0;
  model.config["sliding_window"] = 16;
  model.config["rope_parameters"] = json::object{{"rope_type", "default"}, {"rope_theta", 1e4}};
  model.config.erase("layer_types");
  PlainDecoder::Options options{.n_layers = 6,
                                .n_heads = 4,
                                .n_kv_heads = 1,
                                .head_dim = 32,
                                .rotary_dim = 32,
                                .scale = 1 / std::sqrt(24.0),
                                .embed_scale = 8,
                                .norm_offset = 1,
                                .attention_cap = 2,
                                .logit_cap = 3,
                                .sandwich = true,
                                .gelu = true,
                                .windows = {16, 0, 16, 0, 16, 0}};
  ExpectSame(model, options, "gemma2");
  model.config["attn_logit_softcapping"] = nullptr;
  model.config["final_logit_softcapping"] = nullptr;
  options.attention_cap = options.logit_cap = 0;
  ExpectSame(model, options, "gemma2 without caps");
}

TEST(PlainDecoderTest, Qwen3MoeMixesInTheLayersThatItSays) {
  for (const bool renormalise : {true, false}) {
    EditableModel model("qwen3");
    model.config["model_type"] = "qwen3_moe";
    model.config["architectures"] = json::array{"Qwen3MoeForCausalLM"};
    model.config["num_experts"] = 5;
    model.config["num_experts_per_tok"] = 2;
    model.config["moe_intermediate_size"] = 32;
    model.config["norm_topk_prob"] = renormalise;
    model.config["mlp_only_layers"] = json::array{1};
    std::mt19937 rng(3);
    std::normal_distribution<float> normal(0, 0.15f);
    const auto random = [&](std::size_t rows, std::size_t cols) {
      std::vector<float> values(rows * cols);
      for (float& value : values) value = normal(rng);
      return values;
    };
    for (const int layer : {0, 2}) {
      const std::string at = "model.layers." + std::to_string(layer) + ".mlp.";
      model.Add(at + "gate.weight", {5, 64}, random(5, 64));
      for (int e = 0; e < 5; ++e) {
        const std::string one = at + "experts." + std::to_string(e) + ".";
        model.Add(one + "gate_proj.weight", {32, 64}, random(32, 64));
        model.Add(one + "up_proj.weight", {32, 64}, random(32, 64));
        model.Add(one + "down_proj.weight", {64, 32}, random(64, 32));
      }
    }
    PlainDecoder::Options options = Qwen3Options();
    options.n_used = 2;
    options.renormalise = renormalise;
    ExpectSame(model, options, renormalise ? "qwen3_moe" : "qwen3_moe, not renormalised");
  }
}

TEST(PlainDecoderTest, SmolLm3SlidesWhereItKnowsNoPositions) {
  EditableModel model("llama");
  model.config["model_type"] = "smollm3";
  model.config["architectures"] = json::array{"SmolLM3ForCausalLM"};
  model.config["rope_parameters"] =
      json::object{{"rope_theta", 5e6}, {"partial_rotary_factor", 0.5}};
  model.config["no_rope_layer_interval"] = 2;
  model.config["use_sliding_window"] = true;
  model.config["sliding_window"] = 20;
  ExpectSame(model,
             {.n_layers = 3,
              .n_heads = 6,
              .n_kv_heads = 3,
              .head_dim = 12,
              .rotary_dim = 6,
              .theta = 5e6,
              .scale = 1 / std::sqrt(12.0),
              .rotary = {true, false, true},
              .windows = {0, 20, 0}},
             "smollm3");
}

TEST(PlainDecoderTest, Qwen2WindowsBeginAtALayer) {
  EditableModel model("qwen3");
  model.config.erase("layer_types");
  model.config["use_sliding_window"] = true;
  model.config["sliding_window"] = 9;
  model.config["max_window_layers"] = 1;
  PlainDecoder::Options options = Qwen3Options();
  options.windows = {0, 9, 9};
  ExpectSame(model, options, "windows from layer 1");
}

}  // namespace
}  // namespace lattice::models
