// Models in GGUF files: tiny ones, converted here from the fixtures, compute what the fixtures do;
// real ones, where they are at hand, what the reference did with them.
#include <gtest/gtest.h>

#include "models/gguf_config.h"
#include "models/test_generator.h"
#include "models/test_gguf.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

Ids SomeIds() {
  Ids ids;
  for (TokenId i = 0; i < 70; ++i) ids.push_back(i * 37 % 768);
  return ids;
}

std::vector<float> LogitsOf(const std::filesystem::path& path) {
  Generator generator(path);
  const auto sequence = generator.store->New();
  return generator.Read(*sequence, SomeIds());
}

std::vector<float> LogitsOf(const GgufVersion& version) {
  const TestFolder folder;
  version.Write(folder.path() / "model.gguf");
  return LogitsOf(folder.path() / "model.gguf");
}

std::vector<float> FixtureLogits(const char* name) {
  return LogitsOf(std::filesystem::path(LATTICE_FIXTURES) / name);
}

GgufVersion Llama() {
  GgufVersion version("llama", EditableModel("llama"));
  version.pairs().SetFloat(version.Key("rope.freq_base"), 500000.0f);
  version.PairRotaryRows(12);
  return version;
}

TEST(GgufModelTest, LlamaRowsAndFrequenciesMeanTheSame) {
  GgufVersion version = Llama();
  // Divisors that make the fixture's scaled frequencies: factor 8 within 64 tokens.
  std::vector<float> divisors;
  for (int j = 0; j < 6; ++j) {
    const double inv = std::pow(500000.0, -j / 6.0), turns = 64 * inv / (2 * M_PI);
    const double kept = turns > 4 ? 1 : turns < 1 ? 0 : (turns - 1) / 3;
    divisors.push_back(static_cast<float>(1 / ((1 - kept) / 8 + kept)));
  }
  version.model().Add("rope_freqs.weight", {6}, divisors);
  EXPECT_LE(Distance(LogitsOf(version), FixtureLogits("llama")), 1e-5);
}

TEST(GgufModelTest, Qwen2AndQwen3MeanTheSame) {
  GgufVersion qwen2("qwen2", EditableModel("qwen2"));
  EXPECT_TRUE(SameBits(LogitsOf(qwen2), FixtureLogits("qwen2")));
  GgufVersion qwen3("qwen3", EditableModel("qwen3"));
  qwen3.pairs().SetFloat(qwen3.Key("rope.freq_base"), 10000.0f);
  EXPECT_TRUE(SameBits(LogitsOf(qwen3), FixtureLogits("qwen3")));
}

TEST(GgufModelTest, Gemma3MeansTheSame) {
  GgufVersion version("gemma3", EditableModel("gemma3"));
  version.AddOneToNorms();
  version.pairs().SetFloat(version.Key("rope.freq_base"), 1e6f);
  version.pairs().SetUint32(version.Key("attention.sliding_window"), 32);
  const auto got = LogitsOf(version);
  EditableModel fixture("gemma3");  // Files have no place for this one: it is the heads' size.
  fixture.config["query_pre_attn_scalar"] = 32;
  const TestFolder folder;
  fixture.Write(folder);
  EXPECT_TRUE(SameBits(got, LogitsOf(folder.path())));
}

/// Value heads by their place among those of a key head, and all else that converters do.
GgufVersion Hybrid(const char* architecture, const char* fixture) {
  GgufVersion version(architecture, EditableModel(fixture));
  EditableModel& model = version.model();
  const auto count = [&](const char* key) {
    return static_cast<std::size_t>(model.config.at(key).as_int64());
  };
  const std::size_t n_keys = count("linear_num_key_heads"), n = count("linear_num_value_heads");
  const std::size_t key_width = n_keys * 16, d = 16;
  version.Set("ssm.conv_kernel", "linear_conv_kernel_dim");
  version.Set("ssm.state_size", "linear_key_head_dim");
  version.Set("ssm.group_count", "linear_num_key_heads");
  version.Set("ssm.time_step_rank", "linear_num_value_heads");
  version.pairs().SetUint32(version.Key("ssm.inner_size"), static_cast<std::uint32_t>(n * d));
  version.pairs().SetUint32(version.Key("rope.dimension_count"),
                            static_cast<std::uint32_t>(count("head_dim") / 4));
  version.pairs().SetFloat(version.Key("rope.freq_base"), 1e7f);
  version.AddOneToNorms();

  const auto head = [&](std::size_t i) { return i % n_keys * (n / n_keys) + i / n_keys; };
  const auto row = [&](std::size_t i) { return head(i / d) * d + i % d; };
  const auto channel = [&](std::size_t i) {
    return i < 2 * key_width ? i : 2 * key_width + row(i - 2 * key_width);
  };
  for (auto& entry : model.tensors) {
    const std::string& name = entry.first;
    EditableModel::Tensor& tensor = entry.second;
    if (name.ends_with("A_log")) {
      std::vector<float> values = model.Floats(name);
      for (float& value : values) value = -std::exp(value);
      model.Add(name, tensor.shape, values);
    }
    const auto is = [&](const char* end) { return name.ends_with(end); };
    if (is("in_proj_qkv.weight") || is("conv1d.weight")) Reorder(tensor, channel);
    if (is("in_proj_z.weight")) Reorder(tensor, row);
    if (is("in_proj_a.weight") || is("in_proj_b.weight") || is("A_log") || is("dt_bias")) {
      Reorder(tensor, head);
    }
    if (is("conv1d.weight")) tensor.shape = {tensor.shape[0], tensor.shape[2]};
    if (is("linear_attn.out_proj.weight")) {
      const std::vector<float> values = model.Floats(name);
      std::vector<float> moved;
      for (std::size_t i = 0; i < values.size(); ++i) {
        moved.push_back(values[i / (n * d) * (n * d) + row(i % (n * d))]);
      }
      model.Add(name, tensor.shape, moved);
    }
  }
  return version;
}

TEST(GgufModelTest, HybridsWithReorderedValueHeadsMeanTheSame) {
  EXPECT_LE(Distance(LogitsOf(Hybrid("qwen35", "qwen3_5")), FixtureLogits("qwen3_5")), 1e-4);
  EXPECT_TRUE(
      SameBits(LogitsOf(Hybrid("qwen35", "qwen3_5_untied")), FixtureLogits("qwen3_5_untied")));
}

/// Experts of one kind lie in one tensor.
void StackExperts(EditableModel& model, const std::string& to) {
  for (int layer = 0; layer < 4; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".mlp.";
    for (const std::string part : {"gate_proj", "up_proj", "down_proj"}) {
      EditableModel::Tensor all;
      for (int e = 0; e < 8; ++e) {
        const auto node =
            model.tensors.extract(at + "experts." + std::to_string(e) + "." + part + ".weight");
        ASSERT_FALSE(node.empty());
        const EditableModel::Tensor& one = node.mapped();
        all.shape = {8, one.shape[0], one.shape[1]};
        all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
      }
      model.tensors[at + to + "." + part] = std::move(all);
    }
  }
}

TEST(GgufModelTest, MixturesOfHybridsMeanTheSame) {
  GgufVersion version = Hybrid("qwen35moe", "qwen3_5_moe");
  version.Set("expert_count", "num_experts");
  version.Set("expert_used_count", "num_experts_per_tok");
  version.Set("expert_feed_forward_length", "moe_intermediate_size");
  version.Set("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
  StackExperts(version.model(), "experts");
  for (auto& [name, tensor] : version.model().tensors) {
    if (name.ends_with("shared_expert_gate.weight")) tensor.shape = {tensor.shape[1]};
  }
  EXPECT_LE(Distance(LogitsOf(version), FixtureLogits("qwen3_5_moe")), 1e-4);
}

TEST(GgufModelTest, Gemma4MeansTheSame) {
  GgufVersion version("gemma4", EditableModel("gemma4"));
  const auto key = [&](const char* name) { return version.Key(name); };
  weights::GgufPairs& pairs = version.pairs();
  pairs.SetUint32(key("attention.key_length"), 64);
  pairs.SetUint32(key("attention.value_length"), 64);
  pairs.SetUint32(key("attention.key_length_swa"), 32);
  pairs.SetUint32(key("attention.sliding_window"), 32);
  pairs.SetUint32(key("attention.shared_kv_layers"), 2);
  pairs.SetUint32(key("embedding_length_per_layer_input"), 16);
  pairs.SetFloat(key("final_logit_softcapping"), 3.0f);
  pairs.SetFloat(key("rope.freq_base"), 1e6f);
  pairs.SetFloat(key("rope.freq_base_swa"), 1e4f);
  pairs.SetBools(key("attention.sliding_window_pattern"), {true, true, false, true, true, false});
  std::vector<float> divisors(32, 1e30f);
  for (int j = 0; j < 8; ++j) divisors[static_cast<std::size_t>(j)] = 1.0f;
  version.model().Add("rope_freqs.weight", {32}, divisors);
  EXPECT_LE(Distance(LogitsOf(version), FixtureLogits("gemma4")), 1e-5);
}

TEST(GgufModelTest, WrongMetadataIsRefusedByName) {
  const struct {
    std::function<void(GgufVersion&)> edit;
    ErrorCode code;
    const char* message;
  } cases[] = {
      {[](GgufVersion& v) { v.pairs().SetString("general.architecture", "rwkv"); },
       ErrorCode::kUnsupported, "'rwkv'; known: llama"},
      {[](GgufVersion& v) { v.pairs().SetString("general.architecture", "qwen2"); },
       ErrorCode::kNotFound, "qwen2.block_count"},
      {[](GgufVersion& v) { v.pairs().SetUint32("llama.block_count", 0); }, ErrorCode::kCorruptData,
       "llama.block_count: 0"},
      {[](GgufVersion& v) { v.pairs().SetUint32("llama.block_count", 4); }, ErrorCode::kNotFound,
       "blk.3.attn_"},
      {[](GgufVersion& v) { v.pairs().SetString("llama.embedding_length", "big"); },
       ErrorCode::kCorruptData, "llama.embedding_length"},
      {[](GgufVersion& v) { v.pairs().SetUint32("llama.embedding_length", 73); },
       ErrorCode::kCorruptData, "token_embd.weight"},
      {[](GgufVersion& v) { v.pairs().SetUint32("llama.attention.head_count", 0); },
       ErrorCode::kCorruptData, "0 heads"},
      {[](GgufVersion& v) { v.pairs().SetUint32("llama.expert_count", 8); },
       ErrorCode::kUnsupported, "llama.expert_count: 8"},
      {[](GgufVersion& v) { v.pairs().SetUint32("llama.attention.value_length", 8); },
       ErrorCode::kUnsupported, "llama.attention.value_length: 8"},
      {[](GgufVersion& v) { v.pairs().SetString("llama.rope.scaling.type", "su"); },
       ErrorCode::kUnsupported, "llama.rope.scaling.type"},
      {[](GgufVersion& v) {
         v.model().Add("rope_freqs.weight", {2}, std::vector<float>{1, 1});
       },
       ErrorCode::kCorruptData, "expected 6 numbers, found 2"},
      {[](GgufVersion& v) { v.model().Add("blk.0.attn_q.bias", {72}, std::vector<float>(72)); },
       ErrorCode::kUnsupported, "blk.0.attn_q.bias"},
      {[](GgufVersion& v) { v.model().tensors.erase("model.embed_tokens.weight"); },
       ErrorCode::kNotFound, "token_embd.weight"},
  };
  ThreadPool pool(1);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  for (const auto& c : cases) {
    GgufVersion version = Llama();
    c.edit(version);
    const TestFolder folder;
    const auto file = folder.path() / "model.gguf";
    version.Write(file);
    const auto model = LoadModel(file, *backend, LoadOptions{});
    ASSERT_FALSE(model) << c.message;
    EXPECT_EQ(model.error().code, c.code) << model.error().message;
    EXPECT_NE(model.error().message.find(c.message), std::string::npos) << model.error().message;
    EXPECT_NE(model.error().message.find("model.gguf"), std::string::npos) << model.error().message;
  }
}

}  // namespace
}  // namespace lattice::models
