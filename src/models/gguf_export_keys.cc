#include "models/gguf_export_keys.h"

#include <algorithm>
#include <cmath>

#include "models/config.h"

namespace lattice::models {
namespace {

Error CannotSay(const JsonView& config, std::string_view what) {
  const std::string_view between = config.where().ends_with(": ") ? "" : ": ";
  return Error{ErrorCode::kUnsupported, config.where() + std::string(between) + std::string(what) +
                                            " cannot be said in a GGUF file"};
}

/// The rotary parameters of one kind of layer, whose table has been made from them.
struct Rope {
  std::optional<JsonView> json;
  double theta = 0;
  std::string type = "default";
};

Result<Rope> FindRope(const JsonView& config, std::string_view layer_type,
                      std::string_view theta_key, double default_theta) {
  Rope rope;
  if (auto parameters = config.Find("rope_parameters")) {
    rope.json = parameters->Find(layer_type);
    if (!rope.json) rope.json = std::move(parameters);
  } else if (theta_key == "rope_theta") {  // older files scale these layers only
    rope.json = config.Find("rope_scaling");
  }
  LATTICE_TRY(rope.theta, config.NumberOr(theta_key, default_theta));
  if (!rope.json) return rope;
  LATTICE_TRY(rope.theta, rope.json->NumberOr("rope_theta", rope.theta));
  LATTICE_TRY(const std::string older, rope.json->StringOr("type", "default"));
  LATTICE_TRY(rope.type, rope.json->StringOr("rope_type", older));
  return rope;
}

Status WriteYarn(const JsonView& json, const RopeTable& table, std::size_t max_tokens,
                 GgufKeys& keys) {
  LATTICE_TRY(const std::size_t original,
              ReadSizeOr(json, "original_max_position_embeddings", max_tokens, kMaxPositions));
  const double stretched = static_cast<double>(max_tokens) / static_cast<double>(original);
  LATTICE_TRY(const double factor, json.NumberOr("factor", stretched));
  LATTICE_TRY(const double fast, json.NumberOr("beta_fast", 32));
  LATTICE_TRY(const double slow, json.NumberOr("beta_slow", 1));
  const double usual = factor > 1 ? 1.0 + 0.1 * std::log(factor) : 1.0;
  keys.Text("rope.scaling.type", "yarn");
  keys.Number("rope.scaling.factor", factor);
  keys.Size("rope.scaling.original_context_length", original);
  keys.Number("rope.scaling.attn_factor", static_cast<double>(table.scale) / usual);
  keys.Number("rope.scaling.yarn_beta_fast", fast);
  keys.Number("rope.scaling.yarn_beta_slow", slow);
  return Ok();
}

/// What the plain frequencies are divided by.
std::vector<float> Divisors(const Rope& rope, const RopeTable& table) {
  std::vector<float> divisors;
  const double n = static_cast<double>(table.inv_freq.size());
  for (std::size_t j = 0; j < table.inv_freq.size(); ++j) {
    const double plain = std::pow(rope.theta, -static_cast<double>(j) / n);
    divisors.push_back(static_cast<float>(plain / static_cast<double>(table.inv_freq[j])));
  }
  return divisors;
}

Status WriteRope(const JsonView& config, const Rope& rope, const DecoderConfig& decoder,
                 std::string_view architecture, GgufKeys& keys, std::vector<float>& divisors) {
  keys.Number("rope.freq_base", rope.theta);
  keys.Size("rope.dimension_count", 2 * decoder.rope.inv_freq.size());
  if (rope.type == "default") return Ok();
  if (rope.type == "linear") {
    LATTICE_TRY(const JsonView factor, rope.json->Get("factor"));
    LATTICE_TRY(const double number, factor.Number());
    keys.Text("rope.scaling.type", "linear");
    keys.Number("rope.scaling.factor", number);
    return Ok();
  }
  if (rope.type == "yarn")
    return WriteYarn(*rope.json, decoder.rope, decoder.info.max_tokens, keys);
  if (rope.type == "llama3" && architecture == "llama") {
    divisors = Divisors(rope, decoder.rope);
    return Ok();
  }
  return CannotSay(config, "rotary scaling '" + rope.type + "' of this family");
}

/// Whether the scale of attention is what readers assume: 1 / sqrt(head_dim), but for the largest
/// Gemmas.
Status CheckScale(const JsonView& config, const DecoderConfig& decoder,
                  std::string_view architecture) {
  const bool largest = (architecture == "gemma2" && decoder.info.n_layers == 46) ||
                       (architecture == "gemma3" && decoder.info.n_layers == 62);
  const std::size_t scalar =
      largest ? decoder.info.hidden / decoder.heads.n_heads : decoder.heads.head_dim;
  const float assumed = 1.0f / std::sqrt(static_cast<float>(scalar));
  if (std::fabs(assumed - decoder.attention_scale) <= 1e-6f * assumed) return Ok();
  return CannotSay(config, "a query_pre_attn_scalar other than " + std::to_string(scalar));
}

Status CheckDecoder(const JsonView& config, const DecoderConfig& decoder,
                    std::string_view architecture) {
  const bool gemma = architecture.starts_with("gemma");
  const bool slides = std::ranges::find(decoder.sliding, true) != decoder.sliding.end();
  if (!decoder.info.has_lm_head || !decoder.info.causal) {
    return CannotSay(config, "a model that generates no text, of this family,");
  }
  if (decoder.activation != (gemma ? kernels::Activation::kGeluTanh : kernels::Activation::kSilu)) {
    return CannotSay(config, "an activation that is not this family's");
  }
  if (slides && !gemma) return CannotSay(config, "a sliding window of this family");
  if (decoder.ffn_bias || (decoder.qkv_bias && architecture == "llama")) {
    return CannotSay(config, "a bias of these layers");
  }
  if (architecture == "gemma2") {
    for (std::size_t i = 0; i < decoder.sliding.size(); ++i) {
      if (decoder.sliding[i] == (i % 2 == 0)) continue;
      return CannotSay(config, "layer_types other than turn by turn");
    }
  }
  return CheckScale(config, decoder, architecture);
}

Status WriteGemma(const JsonView& config, const DecoderConfig& decoder,
                  std::string_view architecture, GgufKeys& keys) {
  // The window counts the token itself; where none slides, a width that hides nothing.
  keys.Size("attention.sliding_window",
            decoder.window == 0 ? decoder.info.max_tokens : std::size_t{decoder.window} + 1);
  if (architecture == "gemma2") {
    keys.Number("attn_logit_softcapping", static_cast<double>(decoder.attention_soft_cap));
    keys.Number("final_logit_softcapping", static_cast<double>(decoder.logit_soft_cap));
    return Ok();
  }
  LATTICE_TRY(const Rope rope, FindRope(config, "sliding_attention", "rope_local_base_freq", 1e4));
  keys.Number("rope.freq_base_swa", rope.theta);
  keys.Flags("attention.sliding_window_pattern", decoder.sliding);
  return Ok();
}

void WriteSizes(const ModelInfo& info, const HeadShape& heads, float norm_eps, GgufKeys& keys) {
  keys.Size("vocab_size", info.vocab);
  keys.Size("context_length", info.max_tokens);
  keys.Size("embedding_length", info.hidden);
  keys.Size("block_count", info.n_layers);
  keys.Size("attention.head_count", heads.n_heads);
  keys.Size("attention.head_count_kv", heads.n_kv_heads);
  keys.Size("attention.key_length", heads.head_dim);
  keys.Size("attention.value_length", heads.head_dim);
  keys.Number("attention.layer_norm_rms_epsilon", static_cast<double>(norm_eps));
}

/// Files without images may leave them out; readers want them all the same.
Result<std::vector<std::int32_t>> RopeSections(const JsonView& config) {
  const auto rope = config.Find("rope_parameters");
  const auto list = rope ? rope->Find("mrope_section") : std::nullopt;
  if (!list) return std::vector<std::int32_t>{11, 11, 10, 0};
  LATTICE_TRY(const std::vector<JsonView> sizes, list->Array());
  std::vector<std::int32_t> sections;
  for (const JsonView& size : sizes) {
    LATTICE_TRY(const std::int64_t n, size.Int(0, kMaxHeadDim));
    sections.push_back(static_cast<std::int32_t>(n));
  }
  if (sections.size() > 4) return list->Complain("more than 4 sections");
  sections.resize(4);
  return sections;
}

}  // namespace

Status WriteDecoderKeys(const TextConfig& text, const DecoderConfig& decoder,
                        std::string_view architecture, weights::GgufPairs& pairs,
                        std::vector<float>& divisors) {
  const JsonView& config = text.json;
  LATTICE_TRY_VOID(CheckDecoder(config, decoder, architecture));
  GgufKeys keys(architecture, pairs);
  WriteSizes(decoder.info, decoder.heads, decoder.norm_eps, keys);
  keys.Size("feed_forward_length", decoder.ffn_hidden);
  const double default_theta = architecture == "gemma3" ? 1e6 : 1e4;
  LATTICE_TRY(const Rope rope, FindRope(config, "full_attention", "rope_theta", default_theta));
  LATTICE_TRY_VOID(WriteRope(config, rope, decoder, architecture, keys, divisors));
  if (!architecture.starts_with("gemma")) return Ok();
  return WriteGemma(config, decoder, architecture, keys);
}

Status WriteQwen35Keys(const TextConfig& text, const Qwen35Config& model,
                       std::string_view architecture, weights::GgufPairs& pairs) {
  if (!model.mixture.renormalise) return CannotSay(text.json, "norm_topk_prob: false");
  if (model.activation != kernels::Activation::kSilu) {
    return CannotSay(text.json, "an activation that is not this family's");
  }
  GgufKeys keys(architecture, pairs);
  WriteSizes(model.info, model.heads, model.norm_eps, keys);
  LATTICE_TRY(const Rope rope, FindRope(text.json, "full_attention", "rope_theta", 1e7));
  if (rope.type != "default") {
    return CannotSay(text.json, "rotary scaling '" + rope.type + "' of this family");
  }
  keys.Number("rope.freq_base", rope.theta);
  keys.Size("rope.dimension_count", 2 * model.rope.inv_freq.size());
  LATTICE_TRY(const std::vector<std::int32_t> sections, RopeSections(text.json));
  keys.Ints("rope.dimension_sections", sections);
  const kernels::DeltaNetShape& delta = model.delta_net;
  keys.Size("ssm.conv_kernel", delta.conv_kernel);
  keys.Size("ssm.state_size", delta.key_dim);
  keys.Size("ssm.group_count", delta.n_key_heads);
  keys.Size("ssm.time_step_rank", delta.n_value_heads);
  keys.Size("ssm.inner_size", delta.n_value_heads * delta.value_dim);
  const auto first = std::ranges::find(model.attention, true) - model.attention.begin();
  const auto every = static_cast<std::size_t>(first) + 1;
  for (std::size_t i = 0; i < model.attention.size(); ++i) {
    if (model.attention[i] == ((i + 1) % every == 0)) continue;
    return CannotSay(text.json, "layer_types that do not repeat");
  }
  keys.Size("full_attention_interval", every);
  if (architecture == "qwen35") {
    keys.Size("feed_forward_length", model.ffn_hidden);
    return Ok();
  }
  keys.Size("expert_count", model.mixture.n_experts);
  keys.Size("expert_used_count", model.mixture.n_used);
  keys.Size("expert_feed_forward_length", model.mixture.ffn_hidden);
  keys.Size("expert_shared_feed_forward_length", model.mixture.shared_ffn_hidden);
  return Ok();
}

}  // namespace lattice::models
