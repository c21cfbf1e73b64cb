// Wrong config.json and weight files: each must be refused by name, none may crash.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "models/test_rewrite.h"

namespace lattice::models {
namespace {

namespace json = boost::json;

Error LoadError(const std::filesystem::path& folder,
                kernels::Precision precision = kernels::Precision::kF32) {
  ThreadPool pool(1);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  auto model = LoadModel(folder, *backend, precision);
  return model ? Error{ErrorCode::kInternal, "loaded"} : std::move(model).error();
}

struct ConfigCase {
  const char* fixture;
  const char* key;    ///< Of config.json, or "a.b" for one inside.
  const char* value;  ///< JSON; empty: the key is taken out.
  ErrorCode code;
  const char* message;  ///< Must occur in the error.
};

constexpr ErrorCode kCorrupt = ErrorCode::kCorruptData;
constexpr ErrorCode kUnknown = ErrorCode::kUnsupported;

constexpr ConfigCase kConfigCases[] = {
    {"bert", "model_type", "", kCorrupt, "missing 'model_type'"},
    {"bert", "model_type", "7", kCorrupt, "model_type: expected a string"},
    {"bert", "model_type", "\"nomic_bert\"", kUnknown, "known: bert, roberta, xlm-roberta"},
    {"bert", "architectures", "[\"JinaBertModel\"]", kUnknown, "unknown class 'JinaBertModel'"},
    {"bert", "architectures", "\"BertModel\"", kCorrupt, "architectures: expected an array"},
    {"bert", "hidden_size", "", kCorrupt, "missing 'hidden_size'"},
    {"bert", "hidden_size", "0", kCorrupt, "hidden_size: 0 is outside"},
    {"bert", "hidden_size", "-48", kCorrupt, "hidden_size: -48 is outside"},
    {"bert", "hidden_size", "48.5", kCorrupt, "hidden_size: expected an integer"},
    {"bert", "hidden_size", "1e30", kCorrupt, "hidden_size: "},
    {"bert", "hidden_size", "\"48\"", kCorrupt, "hidden_size: expected an integer"},
    {"bert", "hidden_size", "50", kCorrupt, "does not divide into 4 heads"},
    {"bert", "hidden_size", "52", kCorrupt, "heads of an even size"},
    {"bert", "num_attention_heads", "0", kCorrupt, "num_attention_heads: 0 is outside"},
    {"bert", "num_attention_heads", "5", kCorrupt, "num_attention_heads: hidden_size 48"},
    {"bert", "num_hidden_layers", "1000000000", kCorrupt, "num_hidden_layers: 1000000000"},
    {"bert", "num_hidden_layers", "null", kCorrupt, "missing 'num_hidden_layers'"},
    {"bert", "vocab_size", "18446744073709551615", kCorrupt, "vocab_size: "},
    {"bert", "intermediate_size", "[]", kCorrupt, "intermediate_size: expected an integer"},
    {"bert", "layer_norm_eps", "", kCorrupt, "missing 'layer_norm_eps'"},
    {"bert", "layer_norm_eps", "-1e-5", kCorrupt, "layer_norm_eps: expected a number between"},
    {"bert", "layer_norm_eps", "1e-60", kCorrupt, "layer_norm_eps: expected a number between"},
    {"bert", "hidden_act", "\"mish\"", kUnknown, "hidden_act: unknown activation 'mish'"},
    {"bert", "position_embedding_type", "\"relative_key\"", kUnknown, "position_embedding_type"},
    {"bert", "is_decoder", "true", kUnknown, "is_decoder"},
    {"bert", "quantization_config", "{\"quant_method\": \"gptq\"}", kUnknown, "'gptq'"},
    {"bert_reranker", "id2label", "{}", kCorrupt, "id2label: 0 labels"},
    {"bert_reranker", "id2label", "3", kCorrupt, "id2label: expected an object"},
    {"xlm_roberta", "pad_token_id", "", kCorrupt, "missing 'pad_token_id'"},
    {"xlm_roberta", "pad_token_id", "900", kCorrupt, "pad_token_id: 900 is outside"},
    {"xlm_roberta", "max_position_embeddings", "2", kCorrupt, "leaves none of 2"},
    {"modernbert", "local_attention", "1", kCorrupt, "local_attention: 1"},
    {"modernbert", "norm_bias", "true", kUnknown, "norm_bias: true"},
    {"modernbert", "layer_types", "[\"full_attention\"]", kCorrupt, "1 entries for 4"},
    {"modernbert", "rope_parameters", "", kCorrupt, "missing 'global_rope_theta'"},
    {"modernbert", "rope_parameters.sliding_attention", "", kCorrupt,
     "rope_parameters: missing 'sliding_attention'"},
    {"modernbert", "global_rope_theta", "80000", kCorrupt, "contradicts global_rope_theta"},
    {"qwen3_embedding", "num_key_value_heads", "3", kCorrupt, "not a multiple of"},
    {"qwen3_embedding", "num_key_value_heads", "", kCorrupt, "missing 'num_key_value_heads'"},
    {"qwen3_embedding", "head_dim", "31", kCorrupt, "head_dim 31 is odd"},
    {"qwen3_embedding", "head_dim", "", kCorrupt, "missing 'head_dim'"},
    {"qwen3_embedding", "layer_types",
     "[\"full_attention\", \"sliding_attention\", \"full_attention\"]", kCorrupt, "contradicts"},
    {"qwen3_embedding", "layer_types",
     "[\"full_attention\", \"linear_attention\", \"full_attention\"]", kUnknown,
     "layer_types[1]: unknown layer type 'linear_attention'"},
    {"qwen3_embedding", "rope_parameters.rope_type", "\"su\"", kUnknown,
     "unknown rotary scaling 'su'"},
    {"qwen3_embedding", "rope_parameters.rope_theta", "0", kCorrupt, "rope_theta: 0"},
    {"embeddinggemma", "sliding_window", "", kCorrupt, "missing 'sliding_window'"},
    {"embeddinggemma", "sliding_window", "1", kCorrupt, "sliding_window: 1"},
    {"embeddinggemma", "final_logit_softcapping", "30.0", kUnknown, "final_logit_softcapping"},
    {"embeddinggemma", "query_pre_attn_scalar", "0", kCorrupt, "query_pre_attn_scalar: 0"},
    {"embeddinggemma", "use_bidirectional_attention", "\"all\"", kCorrupt, "expected a boolean"},
    {"embeddinggemma", "model_type", "\"gemma3\"", kCorrupt, "missing 'text_config'"},
    {"llama", "num_attention_heads", "5", kCorrupt, "5 is not a multiple of num_key_value_heads 3"},
    {"llama", "rms_norm_eps", "", kCorrupt, "missing 'rms_norm_eps'"},
    {"llama", "rope_parameters.factor", "", kCorrupt, "rope_parameters: missing 'factor'"},
    {"llama", "architectures", "[\"LlamaForTokenClassification\"]", kUnknown,
     "known: LlamaModel, LlamaForCausalLM, LlamaForSequenceClassification"},
    {"llama", "model_type", "\"mistral\"", kUnknown, "unknown class 'LlamaForCausalLM'"},
    {"qwen2", "attention_bias", "true", kUnknown, "attention_bias: true"},
    {"qwen2", "max_position_embeddings", "", kCorrupt, "missing 'max_position_embeddings'"},
    {"gemma3", "query_pre_attn_scalar", "", kCorrupt, "missing 'query_pre_attn_scalar'"},
    {"gemma3", "layer_types", "[]", kCorrupt, "layer_types: 0 entries for 6"},
    {"qwen3_5", "linear_num_value_heads", "3", kCorrupt, "not a multiple of linear_num_key_heads"},
    {"qwen3_5", "linear_key_head_dim", "", kCorrupt, "missing 'linear_key_head_dim'"},
    {"qwen3_5", "linear_conv_kernel_dim", "0", kCorrupt, "linear_conv_kernel_dim: 0 is outside"},
    {"qwen3_5", "layer_types", "[\"full_attention\"]", kCorrupt, "1 entries for 4"},
    {"qwen3_5", "layer_types", "", kCorrupt, "missing 'full_attention_interval'"},
    {"qwen3_5", "rope_parameters.rope_theta", "", kCorrupt, "missing 'rope_theta'"},
    {"qwen3_5", "partial_rotary_factor", "0.5", kCorrupt, "contradicts"},
    {"qwen3_5", "attn_output_gate", "false", kUnknown, "attn_output_gate: false"},
    {"qwen3_5_moe", "num_experts_per_tok", "9", kCorrupt, "num_experts_per_tok: 9 is outside"},
    {"qwen3_5_moe", "num_experts", "", kCorrupt, "missing 'num_experts'"},
    {"qwen3_5_moe", "num_local_experts", "7", kCorrupt, "differs from 'num_experts'"},
    {"qwen3_5_moe", "shared_expert_intermediate_size", "", kCorrupt,
     "missing 'shared_expert_intermediate_size'"},
    {"gemma4", "layer_types", "[]", kCorrupt, "layer_types: 0 entries for 6"},
    {"gemma4", "num_kv_shared_layers", "5", kCorrupt, "layer 2 has no earlier layer of its kind"},
    {"gemma4", "num_kv_shared_layers", "6", kCorrupt, "num_kv_shared_layers: 6 is outside"},
    {"gemma4", "per_layer_config", "", kCorrupt, "missing 'global_head_dim'"},
    {"gemma4", "per_layer_config", "[]", kCorrupt, "per_layer_config: expected an object"},
    {"gemma4", "per_layer_config.2", "64", kCorrupt, "expected an object"},
    {"gemma4", "per_layer_config.2", "{\"sliding_window\": 16}", kUnknown,
     "'sliding_window' of a layer is not known"},
    {"gemma4", "per_layer_config.2", "{\"head_dim\": 64, \"num_key_value_heads\": 3}", kCorrupt,
     "not a multiple of"},
    {"gemma4", "final_logit_softcapping", "", kCorrupt, "missing 'final_logit_softcapping'"},
    {"gemma4", "vocab_size_per_layer_input", "700", kCorrupt, "700 differs from vocab_size 768"},
    {"gemma4", "use_bidirectional_attention", "\"all\"", kUnknown, "use_bidirectional_attention"},
};

void Edit(json::object& config, std::string key, const std::string& value) {
  json::object* at = &config;
  if (const auto dot = key.find('.'); dot != std::string::npos) {
    at = &(*at)[key.substr(0, dot)].as_object();
    key = key.substr(dot + 1);
  }
  if (value.empty()) {
    at->erase(key);
  } else {
    (*at)[key] = ParseJson(value).value();
  }
}

TEST(BadModelTest, WrongConfigsAreRefusedByName) {
  for (const ConfigCase& c : kConfigCases) {
    EditableModel model(c.fixture);
    Edit(model.config, c.key, c.value);
    const TestFolder folder;
    model.Write(folder);
    const Error error = LoadError(folder.path());
    const std::string what = std::string(c.fixture) + " " + c.key + " = " + c.value;
    EXPECT_EQ(error.code, c.code) << what << " gave: " << error.message;
    EXPECT_NE(error.message.find(c.message), std::string::npos) << what << ": " << error.message;
    EXPECT_NE(error.message.find("config.json"), std::string::npos) << error.message;
  }
}

TEST(BadModelTest, BrokenConfigFilesAreRefused) {
  for (const char* text : {"", "{", "[]", "null", "{\"model_type\": \"bert\"} x", "\xff\xfe"}) {
    const TestFolder folder;
    folder.Write("config.json", text);
    EXPECT_EQ(LoadError(folder.path()).code, kCorrupt) << text;
  }
  EXPECT_EQ(LoadError("/nowhere/at/all").code, ErrorCode::kNotFound);
}

struct WeightCase {
  const char* name;
  const char* fixture;
  std::function<void(EditableModel&)> edit;
  ErrorCode code;
  std::vector<const char*> messages;
};

const std::vector<WeightCase>& WeightCases() {
  static const std::vector<WeightCase> kCases = {
      {"no embedding",
       "bert",
       [](EditableModel& m) { m.tensors.erase("embeddings.word_embeddings.weight"); },
       ErrorCode::kNotFound,
       {"word_embeddings", "prefixes"}},
      {"no layer weight",
       "bert",
       [](EditableModel& m) { m.tensors.erase("encoder.layer.1.output.dense.weight"); },
       ErrorCode::kNotFound,
       {"missing tensor 'encoder.layer.1.output.dense.weight' [48, 128]"}},
      {"no layer bias",
       "bert",
       [](EditableModel& m) { m.tensors.erase("encoder.layer.2.attention.self.key.bias"); },
       ErrorCode::kNotFound,
       {"'encoder.layer.2.attention.self.key.bias' [48]"}},
      {"more layers than there are",
       "bert",
       [](EditableModel& m) { m.config["num_hidden_layers"] = 4; },
       ErrorCode::kNotFound,
       {"encoder.layer.3."}},
      {"other vocabulary",
       "bert",
       [](EditableModel& m) { m.config["vocab_size"] = 801; },
       ErrorCode::kCorruptData,
       {"word_embeddings", "801", "800"}},
      {"other positions",
       "xlm_roberta",
       [](EditableModel& m) { m.config["max_position_embeddings"] = 131; },
       ErrorCode::kCorruptData,
       {"position_embeddings", "131", "130"}},
      {"other width",
       "bert",
       [](EditableModel& m) { m.config["intermediate_size"] = 64; },
       ErrorCode::kCorruptData,
       {"intermediate.dense", "64", "128"}},
      {"transposed",
       "modernbert",
       [](EditableModel& m) {
         m.tensors["layers.1.mlp.Wo.weight"].shape = {96, 48};
       },
       ErrorCode::kCorruptData,
       {"layers.1.mlp.Wo.weight", "96", "48"}},
      {"integer weights",
       "bert",
       [](EditableModel& m) {
         m.tensors["pooler.dense.weight"].dtype = Dtype::kI32;
         m.tensors["encoder.layer.0.output.dense.weight"].dtype = Dtype::kI32;
       },
       ErrorCode::kUnsupported,
       {"encoder.layer.0.output.dense.weight", "I32"}},
      {"scaled weights",
       "qwen3_embedding",
       [](EditableModel& m) {
         m.Add("layers.0.mlp.up_proj.weight_scale", {1}, std::vector<float>{2.0f});
       },
       ErrorCode::kUnsupported,
       {"layers.0.mlp.up_proj.weight_scale"}},
      {"labels",
       "bert_reranker",
       [](EditableModel& m) {
         m.config["id2label"] = json::object{{"0", "a"}, {"1", "b"}};
       },
       ErrorCode::kCorruptData,
       {"classifier.weight", "[2, 48]", "[1, 48]"}},
      {"no pooler",
       "bert_reranker",
       [](EditableModel& m) { m.tensors.erase("bert.pooler.dense.weight"); },
       ErrorCode::kNotFound,
       {"bert.pooler.dense.weight"}},
      {"no head",
       "xlm_roberta_reranker",
       [](EditableModel& m) { m.tensors.erase("classifier.out_proj.bias"); },
       ErrorCode::kNotFound,
       {"classifier.out_proj.bias"}},
      {"head norm",
       "qwen3_embedding",
       [](EditableModel& m) { m.tensors.erase("layers.1.self_attn.q_norm.weight"); },
       ErrorCode::kNotFound,
       {"layers.1.self_attn.q_norm.weight' [32]"}},
      {"kv heads",
       "qwen3_embedding",
       [](EditableModel& m) { m.config["num_key_value_heads"] = 4; },
       ErrorCode::kCorruptData,
       {"layers.0.self_attn.k_proj.weight", "[128, 64]", "[64, 64]"}},
      {"sandwich norm",
       "embeddinggemma",
       [](EditableModel& m) { m.tensors.erase("layers.3.post_feedforward_layernorm.weight"); },
       ErrorCode::kNotFound,
       {"layers.3.post_feedforward_layernorm.weight' [64]"}},
  };
  return kCases;
}

TEST(BadModelTest, WrongWeightsAreRefusedByName) {
  for (const WeightCase& c : WeightCases()) {
    EditableModel model(c.fixture);
    c.edit(model);
    const TestFolder folder;
    model.Write(folder);
    const Error error = LoadError(folder.path());
    EXPECT_EQ(error.code, c.code) << c.name << " gave: " << error.message;
    for (const char* part : c.messages) {
      EXPECT_NE(error.message.find(part), std::string::npos) << c.name << ": " << error.message;
    }
    EXPECT_NE(error.message.find(folder.path().string()), std::string::npos) << error.message;
  }
}

TEST(BadModelTest, MissingOrCutWeightFilesAreRefused) {
  EditableModel model("bert");
  const TestFolder folder;
  model.WriteConfig(folder);
  EXPECT_EQ(LoadError(folder.path()).code, ErrorCode::kNotFound);
  model.Write(folder);
  const auto file = folder.path() / "model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(LoadError(folder.path()).code, ErrorCode::kCorruptData);
}

class BadNumbersTest : public testing::TestWithParam<const char*> {};

TEST_P(BadNumbersTest, NonFiniteWeightsLoadAndRun) {
  EditableModel model(GetParam());
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(), 3.4e38f, -1e-45f};
  std::size_t next = 0;
  for (auto& [name, tensor] : model.tensors) {
    std::memcpy(tensor.bytes.data(), &bad[next++ % std::size(bad)], sizeof(float));
  }
  const TestFolder folder;
  model.Write(folder);
  LoadedModel loaded(folder.path());
  PackedTexts texts;
  texts.Add(std::vector<TokenId>{0, 1, 2, 3, 4, 5, 6, 7});
  texts.Add(std::vector<TokenId>{9});
  const auto values = loaded.Forward(texts.batch());
  EXPECT_EQ(values.size(), texts.ids.size() * loaded.model->info().hidden);
  if (loaded.model->info().n_labels > 0) {
    EXPECT_EQ(loaded.Classify(texts.batch()).size(), 2u);
  }
  // Eight bits have no place for them.
  EXPECT_EQ(LoadError(folder.path(), kernels::Precision::kInt8).code, ErrorCode::kCorruptData);
}

INSTANTIATE_TEST_SUITE_P(Tiny, BadNumbersTest,
                         testing::Values("bert_reranker", "xlm_roberta_reranker", "modernbert",
                                         "qwen3_embedding", "embeddinggemma"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace lattice::models
