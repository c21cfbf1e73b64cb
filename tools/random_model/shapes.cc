#include "shapes.h"

#include <algorithm>
#include <iterator>

namespace lattice::random_model {
namespace {

namespace json = boost::json;

enum class Kind { kBert, kXlmRoberta, kModernBert, kQwen3, kLlama, kGemma3, kQwen35, kQwen35Moe };

struct Shape {
  const char* name;
  Kind kind;
  std::size_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab, positions;
  const char* pooling;
  const char* head;  ///< Class suffix: "Model", "ForCausalLM" or "ForSequenceClassification".
};

constexpr char kScores[] = "ForSequenceClassification", kGenerates[] = "ForCausalLM";

constexpr Shape kShapes[] = {
    {"tiny", Kind::kBert, 48, 2, 4, 4, 12, 96, 800, 128, "mean", "Model"},
    {"minilm", Kind::kBert, 384, 6, 12, 12, 32, 1536, 30522, 512, "mean", "Model"},
    {"bge-small", Kind::kBert, 384, 12, 12, 12, 32, 1536, 30522, 512, "cls", "Model"},
    {"bge-base", Kind::kBert, 768, 12, 12, 12, 64, 3072, 30522, 512, "cls", "Model"},
    {"bge-large", Kind::kBert, 1024, 24, 16, 16, 64, 4096, 30522, 512, "cls", "Model"},
    {"minilm-reranker", Kind::kBert, 384, 6, 12, 12, 32, 1536, 30522, 512, "", kScores},
    {"xlm-roberta-base", Kind::kXlmRoberta, 768, 12, 12, 12, 64, 3072, 250002, 514, "mean",
     "Model"},
    {"bge-m3", Kind::kXlmRoberta, 1024, 24, 16, 16, 64, 4096, 250002, 8194, "cls", "Model"},
    {"bge-reranker-base", Kind::kXlmRoberta, 768, 12, 12, 12, 64, 3072, 250002, 514, "", kScores},
    {"modernbert-base", Kind::kModernBert, 768, 22, 12, 12, 64, 1152, 50368, 8192, "cls", "Model"},
    {"qwen3-embedding-0.6b", Kind::kQwen3, 1024, 28, 16, 8, 128, 3072, 151669, 32768, "lasttoken",
     "Model"},
    {"qwen3-0.6b", Kind::kQwen3, 1024, 28, 16, 8, 128, 3072, 151936, 40960, "", kGenerates},
    {"smollm2-135m", Kind::kLlama, 576, 30, 9, 3, 64, 1536, 49152, 8192, "", kGenerates},
    {"llama-3.2-1b", Kind::kLlama, 2048, 16, 32, 8, 64, 8192, 128256, 131072, "", kGenerates},
    {"gemma-3-270m", Kind::kGemma3, 640, 18, 4, 1, 256, 2048, 262144, 32768, "", kGenerates},
    {"qwen3.5-tiny", Kind::kQwen35, 64, 4, 4, 2, 32, 128, 512, 4096, "", kGenerates},
    {"qwen3.5-0.8b", Kind::kQwen35, 1024, 24, 8, 2, 256, 3584, 248320, 262144, "", kGenerates},
    {"qwen3.5-2b", Kind::kQwen35, 2048, 24, 8, 2, 256, 6144, 248320, 262144, "", kGenerates},
    {"qwen3.5-moe-tiny", Kind::kQwen35Moe, 64, 4, 4, 2, 32, 64, 512, 4096, "", kGenerates},
    {"qwen3.5-35b-a3b", Kind::kQwen35Moe, 2048, 40, 16, 2, 256, 512, 248320, 262144, "",
     kGenerates},
};

const Shape* Find(std::string_view name) {
  const auto shape = std::ranges::find_if(kShapes, [&](const Shape& s) { return s.name == name; });
  return shape == std::end(kShapes) ? nullptr : shape;
}

void Add(json::object& config, const json::object& more) {
  for (const auto& [key, value] : more) config[key] = value;
}

void AddEncoder(const Shape& s, json::object& c) {
  if (s.kind == Kind::kBert) {
    Add(c, {{"hidden_act", "gelu"}, {"layer_norm_eps", 1e-12}, {"type_vocab_size", 2}});
  } else if (s.kind == Kind::kXlmRoberta) {
    Add(c, {{"hidden_act", "gelu"}, {"layer_norm_eps", 1e-5}, {"type_vocab_size", 1}});
    Add(c, {{"pad_token_id", 1}});
  } else {
    Add(c, {{"hidden_activation", "gelu"}, {"norm_eps", 1e-5}, {"local_attention", 128}});
    Add(c, {{"global_attn_every_n_layers", 3}, {"global_rope_theta", 160000.0}});
    Add(c, {{"local_rope_theta", 10000.0}});
  }
}

json::object LlamaThreeScaling() {
  return {{"rope_type", "llama3"},
          {"factor", 32.0},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 8192}};
}

/// Every fourth layer attends; a tiny shape has tiny heads in its other layers too.
void AddQwen35(const Shape& s, json::object& c) {
  const bool tiny = s.hidden < 1024, moe = s.kind == Kind::kQwen35Moe;
  Add(c, {{"rope_parameters", json::object{{"rope_type", "default"},
                                           {"rope_theta", 1e7},
                                           {"partial_rotary_factor", 0.25},
                                           {"mrope_interleaved", true},
                                           {"mrope_section", json::array{11, 11, 10}}}}});
  Add(c, {{"attn_output_gate", true}, {"full_attention_interval", 4}});
  Add(c, {{"linear_conv_kernel_dim", 4}, {"linear_num_key_heads", tiny ? 2 : 16}});
  Add(c, {{"linear_num_value_heads", tiny ? 4 : moe ? 32 : 16}});
  Add(c, {{"linear_key_head_dim", tiny ? 32 : 128}, {"linear_value_head_dim", tiny ? 32 : 128}});
  if (!moe) return;
  c.erase("intermediate_size");
  Add(c, {{"num_experts", tiny ? 8 : 256}, {"num_experts_per_tok", tiny ? 2 : 8}});
  Add(c, {{"moe_intermediate_size", s.ffn}, {"shared_expert_intermediate_size", s.ffn}});
}

void AddDecoder(const Shape& s, json::object& c) {
  Add(c, {{"rms_norm_eps", s.kind == Kind::kLlama ? 1e-5 : 1e-6}});
  Add(c, {{"num_key_value_heads", s.kv_heads}, {"head_dim", s.head_dim}});
  Add(c, {{"tie_word_embeddings", s.kind != Kind::kQwen35Moe}});
  Add(c, {{s.kind == Kind::kGemma3 ? "hidden_activation" : "hidden_act",
           s.kind == Kind::kGemma3 ? "gelu_pytorch_tanh" : "silu"}});
  switch (s.kind) {
    case Kind::kLlama:
      Add(c, {{"rope_theta", s.vocab == 49152 ? 1e5 : 5e5}});
      if (s.vocab != 49152) Add(c, {{"rope_scaling", LlamaThreeScaling()}});
      return;
    case Kind::kGemma3:
      Add(c, {{"rope_theta", 1e6}, {"rope_local_base_freq", 1e4}, {"sliding_window", 512}});
      Add(c, {{"query_pre_attn_scalar", 256}, {"sliding_window_pattern", 6}});
      return;
    case Kind::kQwen35:
    case Kind::kQwen35Moe:
      return AddQwen35(s, c);
    default:
      Add(c, {{"rope_theta", 1e6}});
  }
}

}  // namespace

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

std::optional<json::object> ShapeConfig(std::string_view name) {
  const Shape* s = Find(name);
  if (s == nullptr) return std::nullopt;
  constexpr const char* kTypes[] = {"bert",  "xlm-roberta", "modernbert",   "qwen3",
                                    "llama", "gemma3_text", "qwen3_5_text", "qwen3_5_moe_text"};
  constexpr const char* kClasses[] = {"Bert",  "XLMRoberta", "ModernBert", "Qwen3",
                                      "Llama", "Gemma3",     "Qwen3_5",    "Qwen3_5Moe"};
  const auto kind = static_cast<std::size_t>(s->kind);
  json::object c = {{"model_type", kTypes[kind]},
                    {"architectures", json::array{std::string(kClasses[kind]) + s->head}},
                    {"vocab_size", s->vocab},
                    {"hidden_size", s->hidden},
                    {"num_hidden_layers", s->layers},
                    {"num_attention_heads", s->heads},
                    {"intermediate_size", s->ffn},
                    {"max_position_embeddings", s->positions}};
  if (s->kind <= Kind::kModernBert) {
    AddEncoder(*s, c);
  } else {
    AddDecoder(*s, c);
  }
  if (s->head == kScores) Add(c, {{"id2label", {{"0", "LABEL_0"}}}});
  return c;
}

std::string_view ShapePooling(std::string_view name) {
  const Shape* shape = Find(name);
  return shape == nullptr ? "" : shape->pooling;
}

}  // namespace lattice::random_model
