// Gemma 2 and Gemma 3 text.
#include <cmath>
#include <string>

#include "models/config.h"
#include "models/decoder_fields.h"

namespace lattice::models {
namespace {

using kernels::Activation;

constexpr std::string_view kGemma3Classes[] = {"Gemma3TextModel", "Gemma3ForCausalLM",
                                               "Gemma3ForConditionalGeneration"};

/// Defaults of the reference's Gemma 3 text config. Multimodal files leave out what equals them.
struct Gemma3Defaults {
  std::size_t vocab = 262208, n_heads = 8, n_kv_heads = 4, head_dim = 256, window = 4096;
  std::size_t max_positions = 131072, pattern = 6, query_scalar = 256;
  double theta = 1e6, local_theta = 1e4, eps = 1e-6;
};

/// Reads a size that may be left out only in a nested text_config.
class SizeReader {
 public:
  SizeReader(const JsonView& config, bool nested) : config_(config), nested_(nested) {}
  Result<std::size_t> Read(std::string_view key, std::size_t fallback, std::size_t max) const {
    return nested_ ? ReadSizeOr(config_, key, fallback, max) : ReadSize(config_, key, max);
  }

 private:
  const JsonView& config_;
  bool nested_;
};

Status ReadSizes(const JsonView& config, bool nested, DecoderConfig& decoder) {
  constexpr Gemma3Defaults kDefaults;
  const SizeReader sizes(config, nested);
  LATTICE_TRY(decoder.info.vocab, sizes.Read("vocab_size", kDefaults.vocab, kMaxVocab));
  LATTICE_TRY(decoder.info.hidden, ReadSize(config, "hidden_size", kMaxHidden));
  LATTICE_TRY(decoder.info.n_layers, ReadSize(config, "num_hidden_layers", kMaxLayers));
  LATTICE_TRY(decoder.ffn_hidden, ReadSize(config, "intermediate_size", kMaxFfnHidden));
  LATTICE_TRY(decoder.info.max_tokens,
              sizes.Read("max_position_embeddings", kDefaults.max_positions, kMaxPositions));
  LATTICE_TRY(decoder.heads.n_heads,
              sizes.Read("num_attention_heads", kDefaults.n_heads, kMaxHeads));
  LATTICE_TRY(decoder.heads.n_kv_heads,
              sizes.Read("num_key_value_heads", kDefaults.n_kv_heads, kMaxHeads));
  LATTICE_TRY(decoder.heads.head_dim, sizes.Read("head_dim", kDefaults.head_dim, kMaxHeadDim));
  return CheckHeads(config, decoder.heads);
}

Status RefuseAny(const JsonView& config, std::string_view key) {
  const auto value = config.Find(key);
  if (!value) return Ok();
  return Error{ErrorCode::kUnsupported, value->where() + ": not supported for this family"};
}

/// How far sliding layers see.
Status ReadWindow(const JsonView& config, std::size_t fallback, bool nested,
                  DecoderConfig& decoder) {
  bool any = false;
  for (const bool sliding : decoder.sliding) any = any || sliding;
  if (!any) return Ok();
  LATTICE_TRY(const std::size_t width,
              SizeReader(config, nested).Read("sliding_window", fallback, kMaxPositions));
  LATTICE_TRY(decoder.window, CausalWindow(config, width));
  if (decoder.info.causal) return Ok();
  // Seen from both sides the width is halved. Some versions of the reference write back the
  // halved width plus one, its exclusive bound: 512 became 257, and an odd width cannot come from
  // elsewhere.
  decoder.window = static_cast<std::uint32_t>(width % 2 == 0 ? width / 2 : width - 1);
  return Ok();
}

/// layer_types, or all layers slide but every n-th.
Result<std::vector<bool>> ReadGemma3Layers(const JsonView& config, std::size_t n_layers) {
  if (const auto types = config.Find("layer_types")) return ReadSlidingLayers(*types, n_layers);
  LATTICE_TRY(const std::size_t every,
              ReadSizeOr(config, "sliding_window_pattern", Gemma3Defaults().pattern, kMaxLayers));
  std::vector<bool> sliding(n_layers);
  for (std::size_t i = 0; i < n_layers; ++i) sliding[i] = (i + 1) % every != 0;
  return sliding;
}

Status ReadGemma3Ropes(const JsonView& config, bool nested, DecoderConfig& decoder) {
  constexpr Gemma3Defaults kDefaults;
  const std::size_t d = decoder.heads.head_dim, n = decoder.info.max_tokens;
  LATTICE_TRY(decoder.rope, ReadRope(config,
                                     {.layer_type = "full_attention",
                                      .theta_key = "rope_theta",
                                      .default_theta = nested ? kDefaults.theta : 0},
                                     d, n));
  LATTICE_TRY(decoder.sliding_rope, ReadRope(config,
                                             {.layer_type = "sliding_attention",
                                              .theta_key = "rope_local_base_freq",
                                              .scaled = false,
                                              .default_theta = nested ? kDefaults.local_theta : 0},
                                             d, n));
  return Ok();
}

/// What all Gemmas of this graph share.
void SetCommon(std::size_t query_scalar, DecoderConfig& decoder) {
  decoder.attention_scale = 1.0f / std::sqrt(static_cast<float>(query_scalar));
  decoder.embed_scale = std::sqrt(static_cast<float>(decoder.info.hidden));
  decoder.one_plus_norms = true;
  decoder.sandwich = true;
}

}  // namespace

Result<DecoderConfig> ReadGemma2(const JsonView& config) {
  DecoderConfig decoder;
  LATTICE_TRY(const DecoderClass kind, ReadDecoderClass(config, "Gemma2"));
  LATTICE_TRY_VOID(RefuseFlag(config, "attention_bias"));
  LATTICE_TRY_VOID(ReadSizes(config, /*nested=*/false, decoder));
  LATTICE_TRY(decoder.norm_eps, ReadEpsilon(config, "rms_norm_eps"));
  LATTICE_TRY(decoder.activation, ReadActivation(config, "hidden_activation"));
  LATTICE_TRY(decoder.attention_soft_cap, ReadSoftCap(config, "attn_logit_softcapping"));
  LATTICE_TRY(decoder.logit_soft_cap, ReadSoftCap(config, "final_logit_softcapping"));
  decoder.info.causal = true;
  if (const auto types = config.Find("layer_types")) {
    LATTICE_TRY(decoder.sliding, ReadSlidingLayers(*types, decoder.info.n_layers));
  } else {
    decoder.sliding.resize(decoder.info.n_layers);
    for (std::size_t i = 0; i < decoder.sliding.size(); i += 2) decoder.sliding[i] = true;
  }
  LATTICE_TRY_VOID(ReadWindow(config, 0, /*nested=*/false, decoder));
  LATTICE_TRY(decoder.rope, ReadRope(config, {}, decoder.heads.head_dim, decoder.info.max_tokens));
  LATTICE_TRY(const std::size_t scalar, ReadSize(config, "query_pre_attn_scalar", kMaxHidden));
  SetCommon(scalar, decoder);
  if (kind.classifies) {
    LATTICE_TRY(decoder.info.n_labels, CountLabels(config));
  }
  LATTICE_TRY(decoder.tied_head, config.BoolOr("tie_word_embeddings", true));
  decoder.info.has_lm_head = kind.generates;
  return decoder;
}

Result<DecoderConfig> ReadGemma3(const JsonView& outer, const TextConfig& text) {
  constexpr Gemma3Defaults kDefaults;
  const JsonView& config = text.json;
  const bool nested = text.nested;
  DecoderConfig decoder;
  LATTICE_TRY(const std::string name, ReadArchitecture(outer, kGemma3Classes));
  LATTICE_TRY_VOID(RefuseFlag(config, "attention_bias"));
  LATTICE_TRY_VOID(RefuseAny(config, "attn_logit_softcapping"));
  LATTICE_TRY_VOID(RefuseAny(config, "final_logit_softcapping"));
  LATTICE_TRY_VOID(ReadSizes(config, nested, decoder));
  if (nested && !config.Find("rms_norm_eps")) {
    decoder.norm_eps = static_cast<float>(kDefaults.eps);
  } else {
    LATTICE_TRY(decoder.norm_eps, ReadEpsilon(config, "rms_norm_eps"));
  }
  LATTICE_TRY(decoder.activation,
              nested ? ReadActivationOr(config, "hidden_activation", Activation::kGeluTanh)
                     : ReadActivation(config, "hidden_activation"));
  LATTICE_TRY(const bool both_ways, config.BoolOr("use_bidirectional_attention", false));
  decoder.info.causal = !both_ways;
  LATTICE_TRY(decoder.sliding, ReadGemma3Layers(config, decoder.info.n_layers));
  LATTICE_TRY_VOID(ReadWindow(config, kDefaults.window, nested, decoder));
  LATTICE_TRY_VOID(ReadGemma3Ropes(config, nested, decoder));
  LATTICE_TRY(
      const std::size_t scalar,
      SizeReader(config, nested).Read("query_pre_attn_scalar", kDefaults.query_scalar, kMaxHidden));
  SetCommon(scalar, decoder);
  decoder.head_norms = true;
  LATTICE_TRY(decoder.tied_head, config.BoolOr("tie_word_embeddings", true));
  decoder.info.has_lm_head = name.find("For") != std::string::npos;
  return decoder;
}

}  // namespace lattice::models
