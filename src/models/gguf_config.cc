#include "models/gguf_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include "models/gguf_names.h"
#include "models/gguf_reader.h"

namespace lattice::models {
namespace {

using boost::json::array;
using boost::json::object;

array LayerTypes(const std::vector<bool>& full, std::string_view other) {
  array types;
  for (const bool one : full) types.push_back(boost::json::string(one ? "full_attention" : other));
  return types;
}

/// One number for all layers, or an error.
Result<std::uint64_t> SameInAllLayers(const GgufReader& file, std::string_view name) {
  LATTICE_TRY(const auto values, file.PerLayer(name, file.n_layers()));
  if (std::ranges::all_of(values, [&](std::uint64_t v) { return v == values[0]; })) {
    return values[0];
  }
  return Error{ErrorCode::kUnsupported, file.architecture() + "." + std::string(name) +
                                            ": layers of different sizes are not supported"};
}

Status ReadKvHeads(const GgufReader& file, object& config) {
  if (!file.Has("attention.head_count_kv")) {
    config["num_key_value_heads"] = file.n_heads();
    return Ok();
  }
  LATTICE_TRY(const std::uint64_t n, SameInAllLayers(file, "attention.head_count_kv"));
  config["num_key_value_heads"] = n;
  return Ok();
}

Status ReadFfn(const GgufReader& file, object& config) {
  LATTICE_TRY(const std::uint64_t n, SameInAllLayers(file, "feed_forward_length"));
  config["intermediate_size"] = n;
  return Ok();
}

Status ReadExperts(const GgufReader& file, std::string_view used_key, object& config) {
  LATTICE_TRY(const std::uint64_t n_experts, file.Uint("expert_count"));
  LATTICE_TRY(const std::uint64_t n_used, file.Uint("expert_used_count"));
  LATTICE_TRY(const std::uint64_t ffn, file.Uint("expert_feed_forward_length"));
  config["num_experts"] = n_experts;
  config[used_key] = n_used;
  config["moe_intermediate_size"] = ffn;
  return Ok();
}

/// Llama, Qwen2, Qwen3, SmolLM3.
Status ReadPlain(const GgufReader& file, std::string_view model_type, std::string_view generator,
                 object& config) {
  config["model_type"] = model_type;
  config["architectures"] = array{boost::json::string(generator)};
  config["hidden_act"] = "silu";
  LATTICE_TRY_VOID(ReadKvHeads(file, config));
  LATTICE_TRY_VOID(ReadFfn(file, config));
  LATTICE_TRY(config["rope_parameters"], file.ReadRope("rope.freq_base", 10000.0, true));
  LATTICE_TRY(const std::uint64_t n_experts, file.UintOr("expert_count", 0));
  if (n_experts == 0) return Ok();
  return Error{ErrorCode::kUnsupported, file.architecture() +
                                            ".expert_count: " + std::to_string(n_experts) +
                                            " experts are not supported in this architecture"};
}

/// Rows that change places cannot take their biases along.
Status ReadLlama(const GgufReader& file, object& config) {
  if (file.HasTensor("blk.0.attn_q.bias")) {
    return Error{ErrorCode::kUnsupported,
                 "tensor 'blk.0.attn_q.bias': biases of attention are not supported for the "
                 "architecture llama"};
  }
  return ReadPlain(file, "llama", "LlamaForCausalLM", config);
}

Status ReadSmolLm3(const GgufReader& file, object& config) {
  config["use_sliding_window"] = false;
  return ReadPlain(file, "smollm3", "SmolLM3ForCausalLM", config);
}

Status ReadQwen2(const GgufReader& file, object& config) {
  config["use_sliding_window"] = false;
  return ReadPlain(file, "qwen2", "Qwen2ForCausalLM", config);
}

Status ReadQwen3(const GgufReader& file, object& config) {
  config["attention_bias"] = file.HasTensor("blk.0.attn_q.bias");
  return ReadPlain(file, "qwen3", "Qwen3ForCausalLM", config);
}

Status ReadQwen3Moe(const GgufReader& file, object& config) {
  config["model_type"] = "qwen3_moe";
  config["architectures"] = array{"Qwen3MoeForCausalLM"};
  config["hidden_act"] = "silu";
  config["norm_topk_prob"] = true;
  LATTICE_TRY_VOID(ReadKvHeads(file, config));
  LATTICE_TRY_VOID(ReadExperts(file, "num_experts_per_tok", config));
  LATTICE_TRY(const std::uint64_t ffn,
              file.UintOr("feed_forward_length",
                          config["moe_intermediate_size"].to_number<std::uint64_t>()));
  config["intermediate_size"] = ffn;
  LATTICE_TRY(config["rope_parameters"], file.ReadRope("rope.freq_base", 10000.0, true));
  return Ok();
}

/// Layers that see everything: flags of those that slide, or all but every n-th slide.
Result<std::vector<bool>> FullLayers(const GgufReader& file, std::size_t default_period) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  std::vector<bool> full(file.n_layers());
  if (file.IsArray(kPattern)) {
    LATTICE_TRY(const auto sliding, file.Flags(kPattern, full.size()));
    for (std::size_t i = 0; i < full.size(); ++i) full[i] = !sliding[i];
    return full;
  }
  LATTICE_TRY(const std::uint64_t period, file.UintOr(kPattern, default_period));
  for (std::size_t i = 0; i < full.size(); ++i) full[i] = period != 0 && (i + 1) % period == 0;
  return full;
}

Status ReadGemma2(const GgufReader& file, object& config) {
  config["model_type"] = "gemma2";
  config["architectures"] = array{"Gemma2ForCausalLM"};
  config["hidden_activation"] = "gelu_pytorch_tanh";
  LATTICE_TRY_VOID(ReadKvHeads(file, config));
  LATTICE_TRY_VOID(ReadFfn(file, config));
  LATTICE_TRY(config["rope_parameters"], file.ReadRope("rope.freq_base", 10000.0, true));
  LATTICE_TRY(config["sliding_window"], file.Uint("attention.sliding_window"));
  LATTICE_TRY(config["attn_logit_softcapping"], file.FloatOr("attn_logit_softcapping", 50.0));
  LATTICE_TRY(config["final_logit_softcapping"], file.FloatOr("final_logit_softcapping", 30.0));
  // The largest model divides by its width per head instead of the heads' size.
  config["query_pre_attn_scalar"] =
      file.n_layers() == 46 ? file.hidden() / file.n_heads() : file.head_dim();
  return Ok();
}

Status ReadGemma3(const GgufReader& file, object& config) {
  config["model_type"] = "gemma3_text";
  config["architectures"] = array{"Gemma3ForCausalLM"};
  config["hidden_activation"] = "gelu_pytorch_tanh";
  LATTICE_TRY_VOID(ReadKvHeads(file, config));
  LATTICE_TRY_VOID(ReadFfn(file, config));
  LATTICE_TRY(const auto full, FullLayers(file, 6));
  config["layer_types"] = LayerTypes(full, "sliding_attention");
  LATTICE_TRY(config["sliding_window"], file.Uint("attention.sliding_window"));
  object ropes;
  LATTICE_TRY(ropes["full_attention"], file.ReadRope("rope.freq_base", 1e6, true));
  LATTICE_TRY(ropes["sliding_attention"], file.ReadRope("rope.freq_base_swa", 1e4, false));
  config["rope_parameters"] = std::move(ropes);
  config["query_pre_attn_scalar"] =
      file.n_layers() == 62 ? file.hidden() / file.n_heads() : file.head_dim();
  if (file.Has("final_logit_softcapping")) {
    LATTICE_TRY(config["final_logit_softcapping"], file.Float("final_logit_softcapping"));
  }
  return Ok();
}

/// Heads, keys and feed-forward layers of Gemma 4 differ from layer to layer.
Status ReadGemma4Layers(const GgufReader& file, const std::vector<bool>& full, object& config) {
  const std::size_t n_layers = file.n_layers();
  LATTICE_TRY(const auto kv_heads, file.PerLayer("attention.head_count_kv", n_layers));
  LATTICE_TRY(const auto ffn, file.PerLayer("feed_forward_length", n_layers));
  LATTICE_TRY(config["head_dim"], file.UintOr("attention.key_length_swa", file.head_dim()));
  LATTICE_TRY(config["num_kv_shared_layers"], file.UintOr("attention.shared_kv_layers", 0));
  config["global_head_dim"] = file.head_dim();
  config["intermediate_size"] = ffn.front();
  config["use_double_wide_mlp"] = ffn.back() == 2 * ffn.front();
  for (std::size_t i = 0; i < n_layers; ++i) {
    if (!full[i]) {
      config["num_key_value_heads"] = kv_heads[i];
      continue;
    }
    config["num_global_key_value_heads"] = kv_heads[i];
    const std::string at = "blk." + std::to_string(i);
    if (!file.HasTensor(at + ".attn_k.weight")) continue;  // another layer's
    config["attention_k_eq_v"] = !file.HasTensor(at + ".attn_v.weight");
  }
  return Ok();
}

Status ReadGemma4(const GgufReader& file, object& config) {
  config["model_type"] = "gemma4_text";
  config["hidden_activation"] = "gelu_pytorch_tanh";
  config["num_key_value_heads"] = file.n_heads();
  LATTICE_TRY(const auto full, FullLayers(file, 6));
  config["layer_types"] = LayerTypes(full, "sliding_attention");
  LATTICE_TRY_VOID(ReadGemma4Layers(file, full, config));
  LATTICE_TRY(config["sliding_window"], file.Uint("attention.sliding_window"));
  LATTICE_TRY(config["hidden_size_per_layer_input"],
              file.UintOr("embedding_length_per_layer_input", 0));
  LATTICE_TRY(config["final_logit_softcapping"], file.FloatOr("final_logit_softcapping", 30.0));
  object ropes;
  LATTICE_TRY(ropes["full_attention"], file.ReadRope("rope.freq_base", 1e6, true));
  LATTICE_TRY(ropes["sliding_attention"], file.ReadRope("rope.freq_base_swa", 1e4, false));
  // The turning part of global heads is told by the frequencies' divisors.
  for (auto& [name, rope] : ropes) rope.as_object().erase("partial_rotary_factor");
  config["rope_parameters"] = std::move(ropes);
  LATTICE_TRY(const std::uint64_t n_experts, file.UintOr("expert_count", 0));
  config["enable_moe_block"] = n_experts > 0;
  return n_experts == 0 ? Ok() : ReadExperts(file, "top_k_experts", config);
}

Result<std::vector<bool>> HybridLayers(const GgufReader& file) {
  constexpr std::string_view kRecurrent = "attention.recurrent_layers";
  std::vector<bool> full(file.n_layers());
  if (file.IsArray(kRecurrent)) {
    LATTICE_TRY(const auto recurrent, file.Flags(kRecurrent, full.size()));
    for (std::size_t i = 0; i < full.size(); ++i) full[i] = !recurrent[i];
    return full;
  }
  LATTICE_TRY(const std::uint64_t every, file.UintOr("full_attention_interval", 4));
  for (std::size_t i = 0; i < full.size(); ++i) full[i] = every != 0 && (i + 1) % every == 0;
  return full;
}

/// Recurrent layers may have none.
Status ReadHybridKvHeads(const GgufReader& file, const std::vector<bool>& full, object& config) {
  if (!file.IsArray("attention.head_count_kv")) return ReadKvHeads(file, config);
  LATTICE_TRY(const auto kv_heads, file.PerLayer("attention.head_count_kv", file.n_blocks()));
  const auto first = static_cast<std::size_t>(std::ranges::find(full, true) - full.begin());
  config["num_key_value_heads"] = kv_heads[std::min(first, full.size() - 1)];
  return Ok();
}

Status ReadQwen35(const GgufReader& file, bool mixed, object& config) {
  config["model_type"] = mixed ? "qwen3_5_moe_text" : "qwen3_5_text";
  config["hidden_act"] = "silu";
  LATTICE_TRY(const auto full, HybridLayers(file));
  LATTICE_TRY_VOID(ReadHybridKvHeads(file, full, config));
  config["layer_types"] = LayerTypes(full, "linear_attention");
  LATTICE_TRY(config["linear_conv_kernel_dim"], file.Uint("ssm.conv_kernel"));
  LATTICE_TRY(config["linear_key_head_dim"], file.Uint("ssm.state_size"));
  LATTICE_TRY(config["linear_num_key_heads"], file.Uint("ssm.group_count"));
  LATTICE_TRY(const std::uint64_t n_heads, file.Uint("ssm.time_step_rank"));
  LATTICE_TRY(const std::uint64_t width, file.Uint("ssm.inner_size"));
  if (n_heads == 0 || width % n_heads != 0) {
    return Error{ErrorCode::kCorruptData,
                 file.architecture() + ".ssm.inner_size: " + std::to_string(width) +
                     " does not divide into " + std::to_string(n_heads) + " heads"};
  }
  config["linear_num_value_heads"] = n_heads;
  config["linear_value_head_dim"] = width / n_heads;
  LATTICE_TRY(config["rope_parameters"], file.ReadRope("rope.freq_base", 10000.0, true));
  if (!mixed) return ReadFfn(file, config);
  LATTICE_TRY(config["shared_expert_intermediate_size"],
              file.Uint("expert_shared_feed_forward_length"));
  return ReadExperts(file, "num_experts_per_tok", config);
}

struct Architecture {
  std::string_view name;
  Status (*read)(const GgufReader& file, object& config);
  /// What its files do differently besides the names.
  bool paired_rotary_rows = false, finished_norms = false, hybrid = false;
};

constexpr Architecture kArchitectures[] = {
    {.name = "llama", .read = ReadLlama, .paired_rotary_rows = true},
    {.name = "smollm3", .read = ReadSmolLm3, .paired_rotary_rows = true},
    {.name = "qwen2", .read = ReadQwen2},
    {.name = "qwen3", .read = ReadQwen3},
    {.name = "qwen3moe", .read = ReadQwen3Moe},
    {.name = "gemma2", .read = ReadGemma2, .finished_norms = true},
    {.name = "gemma3", .read = ReadGemma3, .finished_norms = true},
    {.name = "gemma4", .read = ReadGemma4},
    {.name = "qwen35",
     .read = [](const GgufReader& file, object& config) { return ReadQwen35(file, false, config); },
     .finished_norms = true,
     .hybrid = true},
    {.name = "qwen35moe",
     .read = [](const GgufReader& file, object& config) { return ReadQwen35(file, true, config); },
     .finished_norms = true,
     .hybrid = true},
};

Result<const Architecture*> FindArchitecture(std::string_view name) {
  std::string known;
  for (const Architecture& one : kArchitectures) {
    if (one.name == name) return &one;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  return Error{ErrorCode::kUnsupported, "general.architecture: unknown architecture '" +
                                            std::string(name) + "'; known: " + known};
}

}  // namespace

Result<GgufModel> ReadGgufModel(const weights::Checkpoint& checkpoint) {
  LATTICE_TRY(const std::string_view name, checkpoint.gguf()->GetString("general.architecture"));
  LATTICE_TRY(const Architecture* architecture, FindArchitecture(name));
  GgufModel model;
  GgufReader file(checkpoint, std::string(name));
  LATTICE_TRY_VOID(file.ReadCommon(model.config));
  LATTICE_TRY_VOID(architecture->read(file, model.config));
  model.layout = {.rename = [name = std::string(name)](
                                std::string_view ours) { return GgufTensorName(name, ours); },
                  .finished_norms = architecture->finished_norms,
                  .paired_rotary_rows = architecture->paired_rotary_rows,
                  .finished_decays = architecture->hybrid,
                  .value_heads = architecture->hybrid ? kernels::KeyHeadOrder::kInterleaved
                                                      : kernels::KeyHeadOrder::kBlocked};
  return model;
}

}  // namespace lattice::models
