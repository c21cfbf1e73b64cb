#include "models/gguf_names.h"

#include <algorithm>

namespace lattice::models {
namespace {

struct Pair {
  std::string_view theirs, ours;  ///< The file's, and the classes'.
};

/// Whole names outside of layers.
constexpr Pair kTop[] = {
    {"token_embd.weight", "embed_tokens.weight"},
    {"output_norm.weight", "norm.weight"},
    {"output.weight", "lm_head.weight"},
    {"per_layer_token_embd.weight", "embed_tokens_per_layer.weight"},
    {"per_layer_model_proj.weight", "per_layer_model_projection.weight"},
    {"per_layer_proj_norm.weight", "per_layer_projection_norm.weight"},
};

/// Whole names inside of a layer.
constexpr Pair kWhole[] = {
    {"ssm_a", "linear_attn.A_log"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
    {"layer_output_scale.weight", "layer_scalar"},
    {"ffn_gate_inp.scale", "router.scale"},
    {"ffn_down_exps.scale", "router.per_expert_scale"},
    {"ffn_gate_exps.weight", "mlp.experts.gate_proj"},
    {"ffn_up_exps.weight", "mlp.experts.up_proj"},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"},
    {"ffn_down_exps.weight", "mlp.experts.down_proj"},
    {"ffn_gate_exps.weight", "experts.gate_proj"},
    {"ffn_up_exps.weight", "experts.up_proj"},
    {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
    {"ffn_down_exps.weight", "experts.down_proj"},
};

/// Names inside of a layer before .weight or .bias.
constexpr Pair kStems[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_inp", "router.proj"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
};

template <std::size_t n>
std::string_view Lookup(const Pair (&pairs)[n], std::string_view ours) {
  const auto found = std::ranges::find(pairs, ours, &Pair::ours);
  return found == std::end(pairs) ? std::string_view() : found->theirs;
}

/// After attention in a sandwich and in hybrids, else before the feed-forward layer.
std::string_view PostAttentionNorm(std::string_view architecture) {
  const bool own_name = architecture.starts_with("gemma") || architecture.starts_with("qwen35");
  return own_name ? "post_attention_norm" : "ffn_norm";
}

/// The name inside of a layer; empty when there is none.
std::string InLayer(std::string_view architecture, std::string_view ours) {
  if (const std::string_view whole = Lookup(kWhole, ours); !whole.empty()) {
    return std::string(whole);
  }
  const std::size_t dot = ours.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view stem = ours.substr(0, dot);
  const std::string_view theirs =
      stem == "post_attention_layernorm" ? PostAttentionNorm(architecture) : Lookup(kStems, stem);
  return theirs.empty() ? std::string() : std::string(theirs) + std::string(ours.substr(dot));
}

}  // namespace

std::string GgufTensorName(std::string_view architecture, std::string_view name) {
  constexpr std::string_view kModel = "model.", kLayers = "layers.";
  std::string_view rest = name;
  if (rest.starts_with(kModel)) rest.remove_prefix(kModel.size());
  if (!rest.starts_with(kLayers)) {
    const std::string_view top = Lookup(kTop, rest);
    return std::string(top.empty() ? name : top);
  }
  rest.remove_prefix(kLayers.size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string inner = InLayer(architecture, rest.substr(dot + 1));
  if (inner.empty()) return std::string(name);
  return "blk." + std::string(rest.substr(0, dot)) + "." + inner;
}

}  // namespace lattice::models
