// Llama, Qwen2, Qwen3, Qwen3-MoE, SmolLM3, Mistral: pre-norm decoders that differ in biases, head
// norms, windows and which layers know positions.
#include <cmath>
#include <string>

#include "models/config.h"
#include "models/decoder_fields.h"

namespace lattice::models {
namespace {

/// What the reference's class of a family does beyond the fields that all share.
struct PlainFamily {
  std::string_view model_type;
  std::string_view stem;  ///< Of its class names.
  bool head_norms = false;
  bool always_qkv_bias = false;    ///< Queries, keys and values have biases, the output has none.
  bool attention_bias = false;     ///< The flag is known: all four have biases.
  bool mlp_bias = false;           ///< The flag is known.
  bool kv_heads_may_miss = false;  ///< Then there are as many as query heads.
  bool head_dim_may_miss = true;   ///< Then it is hidden_size / num_attention_heads.
  bool tied_by_default = false;
  double default_theta = 10000.0;  ///< 0: must be in the file.
};

constexpr PlainFamily kFamilies[] = {
    {.model_type = "llama",
     .stem = "Llama",
     .attention_bias = true,
     .mlp_bias = true,
     .kv_heads_may_miss = true},
    {.model_type = "mistral", .stem = "Mistral"},
    {.model_type = "qwen2", .stem = "Qwen2", .always_qkv_bias = true},
    {.model_type = "qwen3",
     .stem = "Qwen3",
     .head_norms = true,
     .attention_bias = true,
     .head_dim_may_miss = false},
    {.model_type = "qwen3_moe",
     .stem = "Qwen3Moe",
     .head_norms = true,
     .attention_bias = true,
     .head_dim_may_miss = false},
    {.model_type = "smollm3",
     .stem = "SmolLM3",
     .attention_bias = true,
     .mlp_bias = true,
     .tied_by_default = true,
     .default_theta = 0},
};

Status ReadSizes(const JsonView& config, const PlainFamily& family, DecoderConfig& decoder) {
  LATTICE_TRY(decoder.info.vocab, ReadSize(config, "vocab_size", kMaxVocab));
  LATTICE_TRY(decoder.info.hidden, ReadSize(config, "hidden_size", kMaxHidden));
  LATTICE_TRY(decoder.info.n_layers, ReadSize(config, "num_hidden_layers", kMaxLayers));
  LATTICE_TRY(decoder.ffn_hidden, ReadSize(config, "intermediate_size", kMaxFfnHidden));
  LATTICE_TRY(decoder.info.max_tokens, ReadSize(config, "max_position_embeddings", kMaxPositions));
  HeadShape& heads = decoder.heads;
  LATTICE_TRY(heads.n_heads, ReadSize(config, "num_attention_heads", kMaxHeads));
  LATTICE_TRY(heads.n_kv_heads,
              family.kv_heads_may_miss
                  ? ReadSizeOr(config, "num_key_value_heads", heads.n_heads, kMaxHeads)
                  : ReadSize(config, "num_key_value_heads", kMaxHeads));
  if (family.head_dim_may_miss && !config.Find("head_dim")) {
    LATTICE_TRY(heads.head_dim, HeadDim(config, decoder.info.hidden, heads.n_heads));
  } else {
    LATTICE_TRY(heads.head_dim, ReadSize(config, "head_dim", kMaxHeadDim));
  }
  return CheckHeads(config, heads);
}

Status ReadBiases(const JsonView& config, const PlainFamily& family, DecoderConfig& decoder) {
  for (const auto& [key, known] : {std::pair("attention_bias", family.attention_bias),
                                   std::pair("mlp_bias", family.mlp_bias)}) {
    if (!known) LATTICE_TRY_VOID(RefuseFlag(config, key));
  }
  LATTICE_TRY(const bool attention, config.BoolOr("attention_bias", false));
  decoder.qkv_bias = attention || family.always_qkv_bias;
  decoder.out_bias = attention;
  LATTICE_TRY(decoder.ffn_bias, config.BoolOr("mlp_bias", false));
  return Ok();
}

/// no_rope_layers has 0 where a layer knows no positions; without it every n-th does not.
Status ReadRotaryLayers(const JsonView& config, DecoderConfig& decoder) {
  const std::size_t n_layers = decoder.info.n_layers;
  decoder.rotary.assign(n_layers, true);
  const auto list = config.Find("no_rope_layers");
  if (!list) {
    LATTICE_TRY(const std::size_t every,
                ReadSizeOr(config, "no_rope_layer_interval", 4, kMaxLayers));
    for (std::size_t i = every - 1; i < n_layers; i += every) decoder.rotary[i] = false;
    return Ok();
  }
  LATTICE_TRY(const std::vector<JsonView> flags, list->Array());
  if (flags.size() != n_layers) {
    return WrongAt(*list, "expected " + std::to_string(n_layers) + " numbers, found " +
                              std::to_string(flags.size()));
  }
  for (std::size_t i = 0; i < n_layers; ++i) {
    LATTICE_TRY(const std::int64_t flag, flags[i].Int(0, 1));
    decoder.rotary[i] = flag == 1;
  }
  return Ok();
}

/// Which layers slide where layer_types does not say.
Result<std::vector<bool>> DefaultSliding(const JsonView& config, const DecoderConfig& decoder) {
  std::vector<bool> sliding(decoder.info.n_layers);
  if (!decoder.rotary.empty()) {  // Those without positions see their neighbourhood.
    for (std::size_t i = 0; i < sliding.size(); ++i) sliding[i] = !decoder.rotary[i];
    return sliding;
  }
  LATTICE_TRY(const JsonView first, config.Get("max_window_layers"));
  LATTICE_TRY(const std::int64_t n_full, first.Int(0, kMaxLayers));
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    sliding[i] = i >= static_cast<std::size_t>(n_full);
  }
  return sliding;
}

Status ReadFlaggedWindow(const JsonView& config, DecoderConfig& decoder) {
  LATTICE_TRY(const bool used, config.BoolOr("use_sliding_window", false));
  decoder.sliding.assign(decoder.info.n_layers, false);
  const auto types = config.Find("layer_types");
  if (types) {
    LATTICE_TRY(decoder.sliding, ReadSlidingLayers(*types, decoder.info.n_layers));
  } else if (used) {
    LATTICE_TRY(decoder.sliding, DefaultSliding(config, decoder));
  }
  bool any = false;
  for (const bool sliding : decoder.sliding) any = any || sliding;
  if (!any) return Ok();
  if (!used) {
    return Error{ErrorCode::kCorruptData,
                 types->where() + ": sliding_attention contradicts use_sliding_window: false"};
  }
  LATTICE_TRY(const std::size_t width, ReadSize(config, "sliding_window", kMaxPositions));
  LATTICE_TRY(decoder.window, CausalWindow(config, width));
  return Ok();
}

/// One window for all layers; null: none. The reference has a default that later files do not mean.
Status ReadPlainWindow(const JsonView& config, DecoderConfig& decoder) {
  const boost::json::object* object = config.value().if_object();
  const bool null =
      object != nullptr && object->contains("sliding_window") && !config.Find("sliding_window");
  decoder.sliding.assign(decoder.info.n_layers, !null);
  if (null) return Ok();
  LATTICE_TRY(const std::size_t width, ReadSize(config, "sliding_window", kMaxPositions));
  LATTICE_TRY(decoder.window, CausalWindow(config, width));
  return Ok();
}

Status ReadWindow(const JsonView& config, std::string_view type, DecoderConfig& decoder) {
  if (type == "mistral") return ReadPlainWindow(config, decoder);
  if (type != "llama") return ReadFlaggedWindow(config, decoder);
  decoder.sliding.assign(decoder.info.n_layers, false);
  return Ok();
}

/// Every decoder_sparse_step-th layer is a mixture, but for those of mlp_only_layers.
Status ReadMixedLayers(const JsonView& config, DecoderConfig& decoder) {
  LATTICE_TRY(decoder.mixture, ReadMixture(config));
  LATTICE_TRY(const JsonView renormalise, config.Get("norm_topk_prob"));
  LATTICE_TRY(decoder.mixture.renormalise, renormalise.Bool());
  LATTICE_TRY(const std::size_t step, ReadSizeOr(config, "decoder_sparse_step", 1, kMaxLayers));
  decoder.mixed.resize(decoder.info.n_layers);
  for (std::size_t i = 0; i < decoder.mixed.size(); ++i) decoder.mixed[i] = (i + 1) % step == 0;
  const auto dense = config.Find("mlp_only_layers");
  if (!dense) return Ok();
  LATTICE_TRY(const std::vector<JsonView> layers, dense->Array());
  for (const JsonView& layer : layers) {
    LATTICE_TRY(const std::int64_t i,
                layer.Int(0, static_cast<std::int64_t>(decoder.mixed.size()) - 1));
    decoder.mixed[static_cast<std::size_t>(i)] = false;
  }
  return Ok();
}

Status ReadHead(const JsonView& outer, const TextConfig& text, const PlainFamily& family,
                DecoderConfig& decoder) {
  DecoderClass kind{.generates = true};
  if (!text.nested) {
    LATTICE_TRY(kind, ReadDecoderClass(outer, family.stem));
  }
  decoder.info.has_lm_head = kind.generates;
  if (kind.classifies) {
    LATTICE_TRY(decoder.info.n_labels, CountLabels(outer));
  }
  if (!kind.generates) return Ok();
  if (family.model_type == "qwen3" && !text.nested) {  // Sizes of one release are tied or not.
    LATTICE_TRY_VOID(outer.Get("tie_word_embeddings"));
  }
  LATTICE_TRY(const bool tied, outer.BoolOr("tie_word_embeddings", family.tied_by_default));
  LATTICE_TRY(decoder.tied_head, text.json.BoolOr("tie_word_embeddings", tied));
  return Ok();
}

}  // namespace

Result<DecoderConfig> ReadPlainDecoder(const JsonView& outer, const TextConfig& text,
                                       std::string_view type) {
  const PlainFamily* family = nullptr;
  for (const PlainFamily& known : kFamilies) {
    if (known.model_type == type) family = &known;
  }
  if (family == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 text.json.where() + ": no text model '" + std::string(type) + "' is known here"};
  }
  const JsonView& config = text.json;
  DecoderConfig decoder;
  decoder.info.causal = true;
  decoder.head_norms = family->head_norms;
  LATTICE_TRY_VOID(ReadHead(outer, text, *family, decoder));
  LATTICE_TRY_VOID(ReadSizes(config, *family, decoder));
  LATTICE_TRY_VOID(ReadBiases(config, *family, decoder));
  LATTICE_TRY(decoder.norm_eps, ReadEpsilon(config, "rms_norm_eps"));
  LATTICE_TRY(decoder.activation, ReadActivation(config, "hidden_act"));
  LATTICE_TRY(decoder.rope, ReadRope(config, {.default_theta = family->default_theta},
                                     decoder.heads.head_dim, decoder.info.max_tokens));
  if (type == "smollm3") LATTICE_TRY_VOID(ReadRotaryLayers(config, decoder));
  LATTICE_TRY_VOID(ReadWindow(config, type, decoder));
  if (type == "qwen3_moe") LATTICE_TRY_VOID(ReadMixedLayers(config, decoder));
  decoder.attention_scale = 1.0f / std::sqrt(static_cast<float>(decoder.heads.head_dim));
  return decoder;
}

}  // namespace lattice::models
