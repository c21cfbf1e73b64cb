// Parts of Gemma 4 without values of the reference, against its formulas in double.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "models/test_generator.h"
#include "models/test_plain_gemma4.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

namespace json = boost::json;

// Of logits, which lie between -3 and 3: |a - b| / (1 + |b|). Seen: at most 1e-4, for the engine as
// for the reference's own f32 values.
constexpr double kTolerance = 5e-4;

Ids SomeIds() {
  Ids ids;
  for (TokenId i = 0; i < 70; ++i) ids.push_back(i * 43 % 768);
  return ids;
}

PlainGemma4::Options FixtureOptions() {
  PlainGemma4::Options options{
      .layers = {}, .n_heads = 4, .window = 32, .logit_cap = 3, .layer_input = 16};
  for (std::size_t i = 0; i < 6; ++i) {
    options.layers.push_back({.sliding = i % 3 != 2,
                              .n_kv_heads = 1,
                              .head_dim = i % 3 != 2 ? std::size_t{32} : 64,
                              .kv_source = i < 4    ? i
                                           : i == 4 ? std::size_t{3}
                                                    : 2});
  }
  return options;
}

class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : rng_(seed) {}
  void Add(EditableModel& model, const std::string& name, const std::vector<std::size_t>& shape,
           float mean, float deviation) {
    std::normal_distribution<float> normal(mean, deviation);
    std::size_t n = 1;
    for (const std::size_t side : shape) n *= side;
    std::vector<float> values(n);
    for (float& value : values) value = normal(rng_);
    model.Add(name, shape, values);
  }

 private:
  std::mt19937 rng_;
};

/// Experts of 24 beside every dense layer.
void AddMixtures(EditableModel& model, std::size_t n_experts, std::size_t n_used) {
  model.config["enable_moe_block"] = true;
  model.config["num_experts"] = n_experts;
  model.config["top_k_experts"] = n_used;
  model.config["moe_intermediate_size"] = 24;
  RandomTensors random(5);
  for (int layer = 0; layer < 6; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".";
    random.Add(model, at + "router.proj.weight", {n_experts, 64}, 0, 2);
    random.Add(model, at + "router.scale", {64}, 1, 0.3f);
    random.Add(model, at + "router.per_expert_scale", {n_experts}, 1, 0.3f);
    random.Add(model, at + "experts.gate_up_proj", {n_experts, 48, 64}, 0, 0.15f);
    random.Add(model, at + "experts.down_proj", {n_experts, 64, 24}, 0, 0.15f);
    for (const char* norm : {"pre_feedforward_layernorm_2", "post_feedforward_layernorm_1",
                             "post_feedforward_layernorm_2"}) {
      random.Add(model, at + norm + ".weight", {64}, 1, 0.3f);
    }
  }
}

std::vector<float> LogitsOf(const EditableModel& model) {
  const TestFolder folder;
  model.Write(folder);
  Generator generator(folder.path());
  const auto sequence = generator.store->New();
  return generator.Read(*sequence, SomeIds());
}

void ExpectSame(const EditableModel& model, const PlainGemma4::Options& options, const char* what) {
  const double distance = Distance(LogitsOf(model), PlainGemma4(model, options).Read(SomeIds()));
  std::cout << what << ": " << distance << "\n";
  EXPECT_LE(distance, kTolerance) << what;
}

TEST(PlainGemma4Test, ItIsRightAboutTheFixture) {
  const Golden golden(std::filesystem::path(LATTICE_FIXTURES) / "gemma4" / "golden.safetensors");
  Ids ids = golden.Ints("input_ids");
  ids.resize(60);
  const auto logits = PlainGemma4(EditableModel("gemma4"), FixtureOptions()).Read(ids);
  const std::vector<float> want = golden.Floats("logits");
  const double distance = Distance(logits, std::span(want).first(logits.size()));
  std::cout << "fixture: " << distance << "\n";
  EXPECT_LE(distance, kTolerance);
  ExpectSame(EditableModel("gemma4"), FixtureOptions(), "gemma4");
}

TEST(PlainGemma4Test, MixturesStandBesideTheDenseLayers) {
  for (const std::size_t n_used : {1, 3}) {
    EditableModel model("gemma4");
    AddMixtures(model, 6, n_used);
    PlainGemma4::Options options = FixtureOptions();
    options.n_used = n_used;
    ExpectSame(model, options, "mixtures");
    // They change much: each formula above can be seen in the logits.
    options.mixtures = false;
    EXPECT_GT(Distance(LogitsOf(model), PlainGemma4(model, options).Read(SomeIds())), 0.1);
  }
}

/// The shape of the 26B-A4B: no inputs per layer, keys that are values in full layers.
TEST(PlainGemma4Test, KeysAreValuesInFullLayers) {
  EditableModel model("gemma4");
  AddMixtures(model, 6, 2);
  model.config["attention_k_eq_v"] = true;
  model.config["num_global_key_value_heads"] = 2;
  model.config["hidden_size_per_layer_input"] = 0;
  model.config["global_head_dim"] = 64;
  model.config.erase("per_layer_config");
  model.tensors.erase("model.layers.2.self_attn.v_proj.weight");
  RandomTensors(6).Add(model, "model.layers.2.self_attn.k_proj.weight", {128, 64}, 0, 0.15f);
  PlainGemma4::Options options = FixtureOptions();
  options.layers[2].n_kv_heads = options.layers[5].n_kv_heads = 2;
  options.layer_input = 0;
  options.n_used = 2;
  ExpectSame(model, options, "keys as values");
}

TEST(PlainGemma4Test, LayersThatShareKeysMayBeTwiceAsWide) {
  EditableModel model("gemma4");
  model.config["use_double_wide_mlp"] = true;
  RandomTensors random(7);
  for (const char* layer : {"4", "5"}) {
    const std::string at = std::string("model.layers.") + layer + ".mlp.";
    random.Add(model, at + "gate_proj.weight", {320, 64}, 0, 0.15f);
    random.Add(model, at + "up_proj.weight", {320, 64}, 0, 0.15f);
    random.Add(model, at + "down_proj.weight", {64, 320}, 0, 0.15f);
  }
  ExpectSame(model, FixtureOptions(), "double width");
}

}  // namespace
}  // namespace lattice::models
