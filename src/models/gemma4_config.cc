#include "models/gemma4_config.h"

#include <string>

#include "models/config.h"
#include "models/decoder_fields.h"

namespace lattice::models {
namespace {

constexpr std::string_view kClasses[] = {"Gemma4TextModel", "Gemma4ForCausalLM",
                                         "Gemma4ForConditionalGeneration"};

/// A size that may be 0 or left out.
Result<std::size_t> ReadCount(const JsonView& config, std::string_view key, std::size_t max) {
  LATTICE_TRY(const std::int64_t n, config.IntOr(key, 0, 0, static_cast<std::int64_t>(max)));
  return static_cast<std::size_t>(n);
}

/// What per_layer_config says of layer i: newer files keep there what differs between layers.
Status ReadOwnHeads(const JsonView& config, std::size_t i, HeadShape& heads) {
  const auto list = config.Find("per_layer_config");
  if (!list) return Ok();
  if (!list->IsObject()) return list->Complain("expected an object");
  const auto own = list->Find(std::to_string(i));
  if (!own) return Ok();
  if (!own->IsObject()) return own->Complain("expected an object");
  for (const auto& [key, value] : own->value().get_object()) {
    if (key == "head_dim" || key == "num_key_value_heads") continue;
    return Error{ErrorCode::kUnsupported, own->where() + ": '" + std::string(key) +
                                              "' of a layer is not known; known: head_dim, "
                                              "num_key_value_heads"};
  }
  LATTICE_TRY(heads.head_dim, ReadSizeOr(*own, "head_dim", heads.head_dim, kMaxHeadDim));
  LATTICE_TRY(heads.n_kv_heads,
              ReadSizeOr(*own, "num_key_value_heads", heads.n_kv_heads, kMaxHeads));
  return Ok();
}

/// Heads of global layers may be wider and fewer.
Result<HeadShape> ReadHeads(const JsonView& config, std::size_t i, bool sliding, bool k_eq_v) {
  HeadShape heads;
  LATTICE_TRY(heads.n_heads, ReadSize(config, "num_attention_heads", kMaxHeads));
  LATTICE_TRY(heads.n_kv_heads, ReadSize(config, "num_key_value_heads", kMaxHeads));
  if (!sliding && k_eq_v) {
    LATTICE_TRY(heads.n_kv_heads,
                ReadSizeOr(config, "num_global_key_value_heads", heads.n_kv_heads, kMaxHeads));
  }
  LATTICE_TRY_VOID(ReadOwnHeads(config, i, heads));
  if (heads.head_dim == 0) {
    LATTICE_TRY(heads.head_dim,
                ReadSize(config, sliding ? "head_dim" : "global_head_dim", kMaxHeadDim));
  }
  LATTICE_TRY_VOID(CheckHeads(config, heads));
  return heads;
}

/// The last layers read the keys and values of the last one before them that is of their kind.
Status ShareKeys(const JsonView& config, std::size_t n_shared, Gemma4Config& model) {
  const std::size_t n_layers = model.layers.size();
  const std::size_t first = n_layers - n_shared;
  for (std::size_t i = 0; i < n_layers; ++i) {
    Gemma4Layer& layer = model.layers[i];
    layer.kv_source = i;
    if (i < first) continue;
    std::size_t source = first;
    while (source > 0 && model.layers[source - 1].sliding != layer.sliding) --source;
    const bool found = source > 0;
    const HeadShape& theirs = model.layers[found ? source - 1 : i].heads;
    if (!found || theirs.n_kv_heads != layer.heads.n_kv_heads ||
        theirs.head_dim != layer.heads.head_dim) {
      LATTICE_TRY(const JsonView place, config.Get("num_kv_shared_layers"));
      return WrongAt(place, "layer " + std::to_string(i) +
                                " has no earlier layer of its kind to share keys with");
    }
    layer.kv_source = source - 1;
  }
  return Ok();
}

Status ReadLayers(const JsonView& config, Gemma4Config& model) {
  LATTICE_TRY(const JsonView types, config.Get("layer_types"));
  LATTICE_TRY(const std::vector<bool> sliding, ReadSlidingLayers(types, model.info.n_layers));
  if (sliding.back()) return WrongAt(types, "the last layer must be full_attention");
  LATTICE_TRY(const bool k_eq_v, config.BoolOr("attention_k_eq_v", false));
  LATTICE_TRY(const std::size_t n_shared,
              ReadCount(config, "num_kv_shared_layers", model.info.n_layers - 1));
  LATTICE_TRY(const bool wide, config.BoolOr("use_double_wide_mlp", false));
  LATTICE_TRY(const std::size_t ffn, ReadSize(config, "intermediate_size", kMaxFfnHidden));
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    Gemma4Layer layer;
    layer.sliding = sliding[i];
    layer.values_are_keys = k_eq_v && !sliding[i];
    LATTICE_TRY(layer.heads, ReadHeads(config, i, sliding[i], k_eq_v));
    layer.ffn_hidden = wide && i >= sliding.size() - n_shared ? 2 * ffn : ffn;
    model.layers.push_back(layer);
  }
  return ShareKeys(config, n_shared, model);
}

/// One table for each kind of layer, whose heads are all of one size.
Status ReadRopes(const JsonView& config, Gemma4Config& model) {
  for (const bool sliding : {false, true}) {
    const HeadShape* heads = nullptr;
    for (const Gemma4Layer& layer : model.layers) {
      if (layer.sliding != sliding) continue;
      if (heads != nullptr && heads->head_dim != layer.heads.head_dim) {
        return Error{ErrorCode::kUnsupported,
                     config.where() + ": per_layer_config gives layers of one kind heads of " +
                         std::to_string(heads->head_dim) + " and " +
                         std::to_string(layer.heads.head_dim)};
      }
      heads = &layer.heads;
    }
    if (heads == nullptr) continue;
    RopeTable& table = sliding ? model.sliding_rope : model.rope;
    LATTICE_TRY(table, ReadRope(config,
                                {.layer_type = sliding ? "sliding_attention" : "full_attention",
                                 .theta_key = sliding ? "rope_local_base_freq" : "rope_theta",
                                 .scaled = !sliding,
                                 .default_theta = 0},
                                heads->head_dim, model.info.max_tokens));
  }
  return Ok();
}

Status ReadMixtureBlock(const JsonView& config, Gemma4Config& model) {
  LATTICE_TRY(const bool mixed, config.BoolOr("enable_moe_block", false));
  if (!mixed) return Ok();
  LATTICE_TRY(model.mixture, ReadMixture(config, "top_k_experts"));
  return Ok();
}

Status RefuseBidirectional(const JsonView& config) {
  const auto way = config.Find("use_bidirectional_attention");
  if (!way || (way->IsString() && *way->String() == "vision")) return Ok();  // text is causal
  return Error{ErrorCode::kUnsupported,
               way->where() + ": only text that is read from left to right is supported"};
}

Status ReadSizes(const JsonView& config, Gemma4Config& model) {
  ModelInfo& info = model.info;
  LATTICE_TRY(info.vocab, ReadSize(config, "vocab_size", kMaxVocab));
  LATTICE_TRY(info.hidden, ReadSize(config, "hidden_size", kMaxHidden));
  LATTICE_TRY(info.n_layers, ReadSize(config, "num_hidden_layers", kMaxLayers));
  LATTICE_TRY(info.max_tokens, ReadSize(config, "max_position_embeddings", kMaxPositions));
  LATTICE_TRY(model.layer_input, ReadCount(config, "hidden_size_per_layer_input", kMaxHidden));
  if (model.layer_input == 0) return Ok();
  LATTICE_TRY(const std::size_t vocab,
              ReadSizeOr(config, "vocab_size_per_layer_input", info.vocab, kMaxVocab));
  if (vocab == info.vocab) return Ok();
  LATTICE_TRY(const JsonView place, config.Get("vocab_size_per_layer_input"));
  return WrongAt(place,
                 std::to_string(vocab) + " differs from vocab_size " + std::to_string(info.vocab));
}

}  // namespace

Result<Gemma4Config> ReadGemma4Config(const JsonView& outer) {
  LATTICE_TRY_VOID(RefuseQuantised(outer));
  LATTICE_TRY(const std::string name, ReadArchitecture(outer, kClasses));
  LATTICE_TRY(const TextConfig text, FindTextConfig(outer));
  const JsonView& config = text.json;
  LATTICE_TRY_VOID(RefuseFlag(config, "attention_bias"));
  LATTICE_TRY_VOID(RefuseBidirectional(config));
  Gemma4Config model;
  LATTICE_TRY_VOID(ReadSizes(config, model));
  LATTICE_TRY_VOID(ReadLayers(config, model));
  LATTICE_TRY_VOID(ReadRopes(config, model));
  LATTICE_TRY_VOID(ReadMixtureBlock(config, model));
  LATTICE_TRY(const std::size_t width, ReadSize(config, "sliding_window", kMaxPositions));
  LATTICE_TRY(model.window, CausalWindow(config, width));
  LATTICE_TRY(model.norm_eps, ReadEpsilon(config, "rms_norm_eps"));
  LATTICE_TRY(model.activation, ReadActivation(config, "hidden_activation"));
  LATTICE_TRY(model.logit_soft_cap, ReadSoftCap(config, "final_logit_softcapping"));
  LATTICE_TRY(model.tied_head, config.BoolOr("tie_word_embeddings", true));
  model.info.architecture = "gemma4_text";
  model.info.causal = true;
  model.info.needs_state = true;
  model.info.has_lm_head = name.find("TextModel") == std::string::npos;
  return model;
}

}  // namespace lattice::models
