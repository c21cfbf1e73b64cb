// Other spellings of the same generators: nested configs, prefixes, packed and stacked tensors.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/test_generator.h"
#include "models/test_rewrite.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

namespace json = boost::json;

Ids SomeIds() {
  Ids ids;
  for (TokenId i = 0; i < 70; ++i) ids.push_back(i * 41 % 768);
  return ids;
}

std::vector<float> LogitsOf(const EditableModel& model, const Ids& ids = SomeIds()) {
  const TestFolder folder;
  model.Write(folder);
  Generator generator(folder.path());
  const auto sequence = generator.store->New();
  return generator.Read(*sequence, ids);
}

void ReplacePrefix(EditableModel& model, const std::string& from, const std::string& to) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.starts_with(from)) names.push_back(name);
  }
  for (const auto& name : names) model.Rename(name, to + name.substr(from.size()));
}

/// The text model inside of one that sees images, whose own parts are not looked at.
void Nest(EditableModel& model, const char* type, const char* architecture,
          const std::string& prefix = "model.language_model.") {
  ReplacePrefix(model, "model.", prefix);
  json::object text = model.config;
  text.erase("architectures");
  model.config = {{"model_type", type},
                  {"architectures", json::array{architecture}},
                  {"text_config", text},
                  {"vision_config", {{"depth", 2}, {"hidden_size", 3}}}};
  for (const char* beside :
       {"model.visual.blocks.0.norm1.weight", "model.visual.patch_embed.proj.weight",
        "visual.merger.norm.weight", "model.vision_tower.norm.weight",
        "vision_tower.transformer.layers.0.attention.q_proj.weight",
        "multi_modal_projector.linear_1.weight", "model.multi_modal_projector.norm.weight",
        "mtp.norm.weight", "mtp.layers.0.self_attn.q_proj.weight"}) {
    model.Add(beside, {3}, std::vector<float>(3));
  }
}

TEST(GeneratorVariantsTest, TextModelsInsideOfOthersMeanTheSame) {
  for (const auto& [fixture, type, architecture] :
       {std::tuple("qwen3_5", "qwen3_5", "Qwen3_5ForConditionalGeneration"),
        std::tuple("qwen3_5_untied", "qwen3_5", "Qwen3_5ForConditionalGeneration"),
        std::tuple("qwen3_5_moe", "qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration"),
        std::tuple("gemma3", "gemma3", "Gemma3ForConditionalGeneration"),
        std::tuple("gemma4", "gemma4", "Gemma4ForConditionalGeneration")}) {
    EditableModel model(fixture);
    const auto want = LogitsOf(model);
    Nest(model, type, architecture);
    EXPECT_TRUE(SameBits(LogitsOf(model), want)) << fixture;
  }
}

TEST(GeneratorVariantsTest, ALoadTellsOnceOfThePartThatIsNotUsed) {
  const auto remarks = [](const EditableModel& model) {
    const TestFolder folder;
    model.Write(folder);
    ThreadPool pool(1);
    const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
    std::vector<std::string> said;
    LoadOptions options;
    options.log = [&](LogLevel, std::string_view message) { said.emplace_back(message); };
    EXPECT_TRUE(LoadModel(folder.path(), *backend, options));
    return said;
  };
  EditableModel model("qwen3_5");
  EXPECT_TRUE(remarks(model).empty());
  Nest(model, "qwen3_5", "Qwen3_5ForConditionalGeneration");
  const auto said = remarks(model);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("its vision part is not used"), std::string::npos) << said[0];
}

TEST(GeneratorVariantsTest, Mistral3WrapsMistral) {
  for (const bool tied : {true, false}) {
    for (const char* prefix : {"language_model.model.", "model.language_model."}) {
      EditableModel model("llama");
      model.config["model_type"] = "mistral";
      model.config["architectures"] = json::array{"MistralForCausalLM"};
      model.config["sliding_window"] = nullptr;
      model.config["tie_word_embeddings"] = tied;
      if (!tied) {
        std::vector<float> head = model.Floats("model.embed_tokens.weight");
        std::ranges::reverse(head);
        model.Add("lm_head.weight", model.tensors.at("model.embed_tokens.weight").shape, head);
      }
      const auto want = LogitsOf(model);
      Nest(model, "mistral3", "Mistral3ForConditionalGeneration", prefix);
      // The older files have the head behind the prefix too.
      if (!tied && prefix[0] == 'l') {
        model.Rename("lm_head.weight", "language_model.lm_head.weight");
      }
      EXPECT_TRUE(SameBits(LogitsOf(model), want)) << prefix << tied;
      // Where the inner config is silent the outer one counts.
      model.config["text_config"].as_object().erase("tie_word_embeddings");
      model.config["tie_word_embeddings"] = tied;
      EXPECT_TRUE(SameBits(LogitsOf(model), want)) << prefix << tied;
    }
  }
}

TEST(GeneratorVariantsTest, AWrapperWithoutItsTextModelIsRefused) {
  EditableModel model("llama");
  model.config["model_type"] = "mistral3";
  model.config["architectures"] = json::array{"Mistral3ForConditionalGeneration"};
  const TestFolder folder;
  model.Write(folder);
  ThreadPool pool(1);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  const auto loaded = LoadModel(folder.path(), *backend, LoadOptions{});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("text_config"), std::string::npos)
      << loaded.error().message;
}

TEST(GeneratorVariantsTest, TheOuterConfigSaysWhetherAHeadIsTied) {
  EditableModel model("qwen3_5");
  model.tensors["lm_head.weight"] = model.tensors.at("model.embed_tokens.weight");
  const auto want = LogitsOf(model);
  Nest(model, "qwen3_5", "Qwen3_5ForConditionalGeneration");
  model.config["tie_word_embeddings"] = false;
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
  std::vector<float> zeros(768 * 64);
  model.Add("lm_head.weight", {768, 64}, zeros);
  for (const float logit : LogitsOf(model)) ASSERT_EQ(logit, 0.0f);
}

TEST(GeneratorVariantsTest, MlxFilesMeanTheSame) {
  EditableModel model("qwen3_5_moe");
  const auto want = LogitsOf(model);
  for (auto& [name, tensor] : model.tensors) {
    if (name.ends_with("conv1d.weight")) std::swap(tensor.shape[1], tensor.shape[2]);
    if (!name.ends_with("norm.weight") || name.ends_with("linear_attn.norm.weight")) continue;
    std::vector<float> values = model.Floats(name);
    for (float& value : values) value += 1.0f;
    model.Add(name, tensor.shape, values);
  }
  ReplacePrefix(model, "model.", "language_model.model.");
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
}

/// All experts' tensors AT.experts.N.PART.weight, taken out of the model, one after another.
EditableModel::Tensor TakeExperts(EditableModel& model, const std::string& at,
                                  std::initializer_list<const char*> parts) {
  EditableModel::Tensor all;
  for (int e = 0; e < 8; ++e) {
    std::size_t rows = 0;
    for (const char* part : parts) {
      const auto node =
          model.tensors.extract(at + "experts." + std::to_string(e) + "." + part + ".weight");
      const EditableModel::Tensor& one = node.mapped();
      rows += one.shape[0];
      all.shape = {8, rows, one.shape[1]};
      all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
    }
  }
  return all;
}

TEST(GeneratorVariantsTest, ExpertsInOneTensorMeanTheSame) {
  EditableModel fused("qwen3_5_moe"), stacked("qwen3_5_moe");
  const auto want = LogitsOf(fused);
  for (int layer = 0; layer < 4; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".mlp.";
    fused.tensors[at + "experts.gate_up_proj"] = TakeExperts(fused, at, {"gate_proj", "up_proj"});
    fused.tensors[at + "experts.down_proj"] = TakeExperts(fused, at, {"down_proj"});
    for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
      stacked.tensors[at + "switch_mlp." + part + ".weight"] = TakeExperts(stacked, at, {part});
    }
  }
  EXPECT_TRUE(SameBits(LogitsOf(fused), want));
  EXPECT_TRUE(SameBits(LogitsOf(stacked), want));
}

/// Rows of several tensors, group by group: of each a share of its rows.
EditableModel::Tensor Interleave(EditableModel& model, std::size_t n_groups,
                                 std::vector<std::pair<std::string, std::size_t>> parts) {
  EditableModel::Tensor packed;
  std::size_t rows = 0;
  for (std::size_t g = 0; g < n_groups; ++g) {
    for (const auto& [name, first] : parts) {
      const EditableModel::Tensor& whole = model.tensors.at(name);
      const std::size_t row = whole.bytes.size() / whole.shape[0];
      // Queries and keys are a part of one tensor with the values.
      const bool keys = name.ends_with("qkv.weight") && first < 64;
      const std::size_t all = name.ends_with("qkv.weight") ? (keys ? 32 : 64) : whole.shape[0];
      const std::size_t n = all / n_groups;
      const auto begin = whole.bytes.begin() + static_cast<std::ptrdiff_t>((first + g * n) * row);
      packed.bytes.insert(packed.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(n * row));
      packed.shape = {rows += n, whole.shape[1]};
    }
  }
  return packed;
}

TEST(GeneratorVariantsTest, RowsPackedByKeyHeadMeanTheSame) {
  EditableModel model("qwen3_5_moe");
  const auto want = LogitsOf(model);
  for (int layer = 0; layer < 3; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".linear_attn.";
    const std::string qkv = at + "in_proj_qkv.weight", z = at + "in_proj_z.weight";
    const std::string b = at + "in_proj_b.weight", a = at + "in_proj_a.weight";
    const auto qkvz = Interleave(model, 2, {{qkv, 0}, {qkv, 32}, {qkv, 64}, {z, 0}});
    const auto ba = Interleave(model, 2, {{b, 0}, {a, 0}});
    model.tensors[at + "in_proj_qkvz.weight"] = qkvz;
    model.tensors[at + "in_proj_ba.weight"] = ba;
    for (const std::string& name : {qkv, z, b, a}) model.tensors.erase(name);
  }
  model.config["model_type"] = "qwen3_next";
  model.config["norm_topk_prob"] = true;
  model.config["decoder_sparse_step"] = 1;
  model.config["mlp_only_layers"] = json::array();
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
}

TEST(GeneratorVariantsTest, MistralIsLlamaWithAWindow) {
  EditableModel model("llama");
  const auto want = LogitsOf(model);
  model.config["model_type"] = "mistral";
  model.config["architectures"] = json::array{"MistralForCausalLM"};
  model.config["sliding_window"] = nullptr;
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
  model.config["sliding_window"] = 70;
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
  // Through one layer a token sees the window and nothing else; only distances count.
  model.config["num_hidden_layers"] = 1;
  model.config["sliding_window"] = 16;
  const Ids ids = SomeIds();
  const auto all = LogitsOf(model, ids), last = LogitsOf(model, Ids(ids.end() - 16, ids.end()));
  EXPECT_LE(Distance(std::span(all).last(768), std::span(last).last(768)), 1e-5);
  const auto fewer = LogitsOf(model, Ids(ids.end() - 15, ids.end()));
  EXPECT_GT(Distance(std::span(all).last(768), std::span(fewer).last(768)), 1e-4);
}

TEST(GeneratorVariantsTest, SmolLm3IsLlamaWithLayersThatKnowNoPositions) {
  EditableModel model("llama");
  const auto want = LogitsOf(model);
  model.config["model_type"] = "smollm3";
  model.config["architectures"] = json::array{"SmolLM3ForCausalLM"};
  model.config["no_rope_layers"] = json::array{1, 1, 1};
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
  model.config.erase("no_rope_layers");
  EXPECT_TRUE(SameBits(LogitsOf(model), want)) << "every fourth of three layers";
  // Without positions the last token sees a set, in whatever order.
  model.config["num_hidden_layers"] = 1;
  Ids ids = SomeIds();
  for (const bool rotary : {false, true}) {
    model.config["no_rope_layers"] = json::array{rotary ? 1 : 0};
    const auto before = LogitsOf(model, ids);
    std::swap(ids[0], ids[3]);
    const auto after = LogitsOf(model, ids);
    const double moved = Distance(std::span(before).last(768), std::span(after).last(768));
    EXPECT_EQ(moved > 1e-5, rotary) << moved;
  }
}

TEST(GeneratorVariantsTest, BiasesOfLlamaAreThoseOfQwen2AndMore) {
  EditableModel model("qwen2");
  const auto want = LogitsOf(model);
  model.config["model_type"] = "llama";
  model.config["architectures"] = json::array{"LlamaForCausalLM"};
  model.config["attention_bias"] = true;
  model.config["mlp_bias"] = true;
  for (int layer = 0; layer < 3; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer);
    model.Add(at + ".self_attn.o_proj.bias", {64}, std::vector<float>(64));
    model.Add(at + ".mlp.gate_proj.bias", {160}, std::vector<float>(160));
    model.Add(at + ".mlp.up_proj.bias", {160}, std::vector<float>(160));
    model.Add(at + ".mlp.down_proj.bias", {64}, std::vector<float>(64));
  }
  EXPECT_TRUE(SameBits(LogitsOf(model), want));
  model.Add("model.layers.1.mlp.down_proj.bias", {64}, std::vector<float>(64, 0.5f));
  EXPECT_FALSE(SameBits(LogitsOf(model), want));
}

}  // namespace
}  // namespace lattice::models
