#include "gguf.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace lattice::random_model {
namespace {

namespace json = boost::json;

struct Rename {
  std::string_view from, to;
};

constexpr Rename kTop[] = {{"embed_tokens.weight", "token_embd.weight"},
                           {"norm.weight", "output_norm.weight"},
                           {"lm_head.weight", "output.weight"}};

constexpr Rename kLayer[] = {{"input_layernorm.weight", "attn_norm.weight"},
                             {"self_attn.q_norm.weight", "attn_q_norm.weight"},
                             {"self_attn.k_norm.weight", "attn_k_norm.weight"},
                             {"self_attn.q_proj.weight", "attn_q.weight"},
                             {"self_attn.k_proj.weight", "attn_k.weight"},
                             {"self_attn.v_proj.weight", "attn_v.weight"},
                             {"self_attn.o_proj.weight", "attn_output.weight"},
                             {"mlp.gate_proj.weight", "ffn_gate.weight"},
                             {"mlp.up_proj.weight", "ffn_up.weight"},
                             {"mlp.down_proj.weight", "ffn_down.weight"},
                             {"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
                             {"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
                             {"linear_attn.in_proj_qkv.weight", "attn_qkv.weight"},
                             {"linear_attn.in_proj_z.weight", "attn_gate.weight"},
                             {"linear_attn.in_proj_b.weight", "ssm_beta.weight"},
                             {"linear_attn.in_proj_a.weight", "ssm_alpha.weight"},
                             {"linear_attn.conv1d.weight", "ssm_conv1d.weight"},
                             {"linear_attn.A_log", "ssm_a"},
                             {"linear_attn.dt_bias", "ssm_dt.bias"},
                             {"linear_attn.norm.weight", "ssm_norm.weight"},
                             {"linear_attn.out_proj.weight", "ssm_out.weight"},
                             {"mlp.gate.weight", "ffn_gate_inp.weight"},
                             {"mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight"},
                             {"mlp.experts.down_proj", "ffn_down_exps.weight"},
                             {"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight"},
                             {"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight"},
                             {"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight"},
                             {"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"}};

struct Architecture {
  std::string_view model_type, name, pre;
  std::string_view norm_after_attention;  ///< What post_attention_layernorm is called.
};

constexpr Architecture kArchitectures[] = {
    {"llama", "llama", "llama-bpe", "ffn_norm.weight"},
    {"qwen3", "qwen3", "qwen2", "ffn_norm.weight"},
    {"gemma3_text", "gemma3", "llama-bpe", "post_attention_norm.weight"},
    {"qwen3_5_text", "qwen35", "qwen35", "post_attention_norm.weight"},
    {"qwen3_5_moe_text", "qwen35moe", "qwen35", "post_attention_norm.weight"},
};

Result<const Architecture*> Find(const json::object& config) {
  const std::string_view type = config.at("model_type").as_string();
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.model_type == type) return &architecture;
  }
  return Error{ErrorCode::kUnsupported, "no GGUF form of model_type '" + std::string(type) + "'"};
}

/// Printable characters for bytes, as byte-level vocabularies spell them.
std::string ByteSpelling(std::uint32_t byte) {
  const bool itself =
      (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
  std::uint32_t code = byte;
  if (!itself) {
    code = 256;
    for (std::uint32_t b = 0; b < byte; ++b) {
      if (!((b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE)) ++code;
    }
  }
  std::string text;
  AppendUtf8(static_cast<char32_t>(code), text);
  return text;
}

void SetTokenizer(std::size_t vocab, std::string_view pre, weights::GgufPairs& pairs) {
  std::vector<std::string> tokens;
  for (std::uint32_t byte = 0; byte < 256; ++byte) tokens.push_back(ByteSpelling(byte));
  tokens.push_back("th");
  while (tokens.size() + 1 < vocab) tokens.push_back("<" + std::to_string(tokens.size()) + ">");
  tokens.push_back("<end>");
  std::vector<std::int32_t> types(tokens.size(), 1);
  types.back() = 3;
  const std::string merges[] = {"t h"};
  const auto end = static_cast<std::uint32_t>(tokens.size() - 1);
  pairs.SetString("tokenizer.ggml.model", "gpt2");
  pairs.SetString("tokenizer.ggml.pre", pre);
  pairs.SetStrings("tokenizer.ggml.tokens", tokens);
  pairs.SetInt32s("tokenizer.ggml.token_type", types);
  pairs.SetStrings("tokenizer.ggml.merges", merges);
  pairs.SetUint32("tokenizer.ggml.bos_token_id", end);
  pairs.SetUint32("tokenizer.ggml.eos_token_id", end);
  pairs.SetBool("tokenizer.ggml.add_bos_token", false);
}

/// Sizes of a config that is known to be whole.
class Keys {
 public:
  Keys(const json::object& config, std::string_view architecture, weights::GgufPairs& pairs)
      : config_(config), prefix_(std::string(architecture) + "."), pairs_(pairs) {}

  std::uint32_t Size(std::string_view key) const {
    return static_cast<std::uint32_t>(config_.at(key).to_number<std::int64_t>());
  }
  void Copy(std::string_view name, std::string_view key) { Set(name, Size(key)); }
  void Set(std::string_view name, std::uint32_t value) {
    pairs_.SetUint32(prefix_ + std::string(name), value);
  }
  void SetFloat(std::string_view name, double value) {
    pairs_.SetFloat(prefix_ + std::string(name), static_cast<float>(value));
  }
  bool Has(std::string_view key) const { return config_.contains(key); }
  double Number(std::string_view key) const { return config_.at(key).to_number<double>(); }

 private:
  const json::object& config_;
  std::string prefix_;
  weights::GgufPairs& pairs_;
};

void SetHybrid(const json::object& config, Keys& keys, weights::GgufPairs& pairs,
               std::string_view architecture) {
  const json::object& rope = config.at("rope_parameters").as_object();
  const double part = rope.at("partial_rotary_factor").to_number<double>();
  keys.SetFloat("rope.freq_base", rope.at("rope_theta").to_number<double>());
  keys.Set("rope.dimension_count", static_cast<std::uint32_t>(keys.Size("head_dim") * part));
  const std::int32_t sections[] = {11, 11, 10, 0};
  pairs.SetInt32s(std::string(architecture) + ".rope.dimension_sections", sections);
  keys.Copy("ssm.conv_kernel", "linear_conv_kernel_dim");
  keys.Copy("ssm.state_size", "linear_key_head_dim");
  keys.Copy("ssm.group_count", "linear_num_key_heads");
  keys.Copy("ssm.time_step_rank", "linear_num_value_heads");
  keys.Set("ssm.inner_size",
           keys.Size("linear_num_value_heads") * keys.Size("linear_value_head_dim"));
  keys.Copy("full_attention_interval", "full_attention_interval");
  if (!keys.Has("num_experts")) return;
  keys.Copy("expert_count", "num_experts");
  keys.Copy("expert_used_count", "num_experts_per_tok");
  keys.Copy("expert_feed_forward_length", "moe_intermediate_size");
  keys.Copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

}  // namespace

Result<weights::GgufPairs> GgufMetadataOf(const json::object& config) {
  LATTICE_TRY(const Architecture* architecture, Find(config));
  weights::GgufPairs pairs;
  pairs.SetString("general.architecture", architecture->name);
  pairs.SetString("general.name", "random weights");
  Keys keys(config, architecture->name, pairs);
  keys.Copy("context_length", "max_position_embeddings");
  keys.Copy("embedding_length", "hidden_size");
  keys.Copy("block_count", "num_hidden_layers");
  if (keys.Has("intermediate_size")) keys.Copy("feed_forward_length", "intermediate_size");
  keys.Copy("attention.head_count", "num_attention_heads");
  keys.Copy("attention.head_count_kv", "num_key_value_heads");
  keys.Copy("attention.key_length", "head_dim");
  keys.Copy("attention.value_length", "head_dim");
  keys.SetFloat("attention.layer_norm_rms_epsilon", keys.Number("rms_norm_eps"));
  if (keys.Has("sliding_window")) keys.Copy("attention.sliding_window", "sliding_window");
  if (keys.Has("rope_parameters")) {
    SetHybrid(config, keys, pairs, architecture->name);
  } else {
    keys.SetFloat("rope.freq_base", keys.Number("rope_theta"));
    keys.Copy("rope.dimension_count", "head_dim");
  }
  SetTokenizer(keys.Size("vocab_size"), architecture->pre, pairs);
  return pairs;
}

Result<TensorPlan> GgufTensor(const json::object& config, const TensorPlan& tensor) {
  LATTICE_TRY(const Architecture* architecture, Find(config));
  TensorPlan renamed = tensor;
  std::erase(renamed.shape, std::size_t{1});
  std::string_view name = tensor.name;
  if (name.starts_with("model.")) name.remove_prefix(6);
  for (const Rename& row : kTop) {
    if (row.from == name) renamed.name = row.to;
  }
  constexpr std::string_view kLayers = "layers.";
  if (!name.starts_with(kLayers)) return renamed;
  name.remove_prefix(kLayers.size());
  const std::size_t dot = name.find('.');
  const std::string at = "blk." + std::string(name.substr(0, dot)) + ".";
  name.remove_prefix(dot + 1);
  if (name == "post_attention_layernorm.weight") {
    renamed.name = at + std::string(architecture->norm_after_attention);
    return renamed;
  }
  for (const Rename& row : kLayer) {
    if (row.from == name) renamed.name = at + std::string(row.to);
  }
  if (name == "linear_attn.A_log") renamed.centre = -1;  // there it is -exp(A_log)
  return renamed;
}

}  // namespace lattice::random_model
