#include "models/qwen3_5_config.h"

#include <string>

#include "models/config.h"
#include "models/decoder_fields.h"

namespace lattice::models {
namespace {

constexpr std::size_t kMaxConvKernel = 64;

Status ReadSizes(const JsonView& config, Qwen35Config& model) {
  LATTICE_TRY(model.info.vocab, ReadSize(config, "vocab_size", kMaxVocab));
  LATTICE_TRY(model.info.hidden, ReadSize(config, "hidden_size", kMaxHidden));
  LATTICE_TRY(model.info.n_layers, ReadSize(config, "num_hidden_layers", kMaxLayers));
  LATTICE_TRY(model.info.max_tokens, ReadSize(config, "max_position_embeddings", kMaxPositions));
  LATTICE_TRY(model.heads.n_heads, ReadSize(config, "num_attention_heads", kMaxHeads));
  LATTICE_TRY(model.heads.n_kv_heads, ReadSize(config, "num_key_value_heads", kMaxHeads));
  LATTICE_TRY(model.heads.head_dim, ReadSize(config, "head_dim", kMaxHeadDim));
  return CheckHeads(config, model.heads);
}

Status ReadDeltaNet(const JsonView& config, kernels::DeltaNetShape& shape) {
  LATTICE_TRY(shape.n_key_heads, ReadSize(config, "linear_num_key_heads", kMaxHeads));
  LATTICE_TRY(shape.n_value_heads, ReadSize(config, "linear_num_value_heads", kMaxHeads));
  LATTICE_TRY(shape.key_dim, ReadSize(config, "linear_key_head_dim", kMaxHeadDim));
  LATTICE_TRY(shape.value_dim, ReadSize(config, "linear_value_head_dim", kMaxHeadDim));
  LATTICE_TRY(shape.conv_kernel, ReadSize(config, "linear_conv_kernel_dim", kMaxConvKernel));
  if (shape.n_value_heads % shape.n_key_heads == 0) return Ok();
  LATTICE_TRY(const JsonView place, config.Get("linear_num_value_heads"));
  return WrongAt(place, std::to_string(shape.n_value_heads) +
                            " is not a multiple of linear_num_key_heads " +
                            std::to_string(shape.n_key_heads));
}

/// layer_types, or every full_attention_interval-th layer is attention.
Status ReadLayers(const JsonView& config, Qwen35Config& model) {
  const std::size_t n_layers = model.info.n_layers;
  const auto list = config.Find("layer_types");
  if (!list) {
    LATTICE_TRY(const std::size_t every, ReadSize(config, "full_attention_interval", kMaxLayers));
    for (std::size_t i = 0; i < n_layers; ++i) model.attention.push_back((i + 1) % every == 0);
    return Ok();
  }
  LATTICE_TRY(const std::vector<JsonView> types, list->Array());
  if (types.size() != n_layers) {
    return WrongAt(*list, std::to_string(types.size()) + " entries for " +
                              std::to_string(n_layers) + " num_hidden_layers");
  }
  for (const JsonView& type : types) {
    LATTICE_TRY(const std::string_view name, type.String());
    if (name != "full_attention" && name != "linear_attention") {
      return Error{ErrorCode::kUnsupported, type.where() + ": unknown layer type '" +
                                                std::string(name) +
                                                "'; known: full_attention, linear_attention"};
    }
    model.attention.push_back(name == "full_attention");
  }
  return Ok();
}

Status ReadFeedForward(const JsonView& config, bool mixed, bool renormalised, Qwen35Config& model) {
  LATTICE_TRY(model.activation, ReadActivation(config, "hidden_act"));
  if (!mixed) {
    LATTICE_TRY(model.ffn_hidden, ReadSize(config, "intermediate_size", kMaxFfnHidden));
    return Ok();
  }
  LATTICE_TRY(model.mixture, ReadMixture(config));
  LATTICE_TRY(model.mixture.shared_ffn_hidden,
              ReadSize(config, "shared_expert_intermediate_size", kMaxFfnHidden));
  LATTICE_TRY(model.mixture.renormalise, config.BoolOr("norm_topk_prob", renormalised));
  // Layers of their own kind are in no released model.
  LATTICE_TRY(const std::size_t step, ReadSizeOr(config, "decoder_sparse_step", 1, kMaxLayers));
  const auto dense = config.Find("mlp_only_layers");
  if (step == 1 && (!dense || (dense->IsArray() && dense->value().as_array().empty()))) return Ok();
  return Error{ErrorCode::kUnsupported,
               config.where() +
                   ": decoder_sparse_step and mlp_only_layers with dense layers among "
                   "the mixtures"};
}

/// Whoever owns the head says whether it is tied: the outer object of files that hold more than
/// text.
Result<bool> ReadTied(const JsonView& outer, const TextConfig& text) {
  LATTICE_TRY(const bool inner, text.json.BoolOr("tie_word_embeddings", false));
  return outer.BoolOr("tie_word_embeddings", inner);
}

}  // namespace

Result<Qwen35Config> ReadQwen35Config(const JsonView& outer) {
  LATTICE_TRY_VOID(RefuseQuantised(outer));
  LATTICE_TRY(const TextConfig text, FindTextConfig(outer));
  const JsonView& config = text.json;
  LATTICE_TRY(const std::string outer_type, outer.StringOr("model_type", ""));
  LATTICE_TRY(const std::string type, config.StringOr("model_type", outer_type));
  Qwen35Config model;
  LATTICE_TRY_VOID(RefuseFlag(config, "attention_bias"));
  LATTICE_TRY(const bool gated, config.BoolOr("attn_output_gate", true));
  if (!gated) {
    return Error{ErrorCode::kUnsupported,
                 config.where() + ": attn_output_gate: false is not supported for this family"};
  }
  LATTICE_TRY_VOID(ReadSizes(config, model));
  LATTICE_TRY_VOID(ReadDeltaNet(config, model.delta_net));
  LATTICE_TRY_VOID(ReadLayers(config, model));
  const bool next = type == "qwen3_next";
  const bool mixed = next || type.find("moe") != std::string::npos;
  LATTICE_TRY_VOID(ReadFeedForward(config, mixed, !next, model));
  LATTICE_TRY(model.norm_eps, ReadEpsilon(config, "rms_norm_eps"));
  LATTICE_TRY(model.rope, ReadRope(config, {.default_theta = 0, .default_partial = 0.25},
                                   model.heads.head_dim, model.info.max_tokens));
  if (model.rope.max_positions != 0) model.info.max_tokens = model.rope.max_positions;
  LATTICE_TRY(model.tied_head, ReadTied(outer, text));
  model.info.architecture = type;
  model.info.causal = true;
  model.info.has_lm_head = true;
  model.info.needs_state = true;
  return model;
}

}  // namespace lattice::models
