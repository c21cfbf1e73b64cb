#include "models/decoder_config.h"

#include <string>

#include "models/config.h"
#include "models/decoder_fields.h"

namespace lattice::models {

Result<DecoderConfig> ReadDecoderConfig(const JsonView& config) {
  LATTICE_TRY_VOID(RefuseQuantised(config));
  LATTICE_TRY(const std::string outer_type, config.StringOr("model_type", ""));
  if (outer_type == "gemma3" || outer_type == "mistral3") {
    LATTICE_TRY_VOID(config.Get("text_config"));
  }
  LATTICE_TRY(const TextConfig text, FindTextConfig(config));
  LATTICE_TRY(
      const std::string type,
      text.json.StringOr("model_type", outer_type == "gemma3" ? "gemma3_text" : outer_type));
  const auto read = [&]() -> Result<DecoderConfig> {
    if (type == "gemma2") return ReadGemma2(text.json);
    if (type == "gemma3_text") return ReadGemma3(config, text);
    return ReadPlainDecoder(config, text, type);
  };
  LATTICE_TRY(DecoderConfig decoder, read());
  decoder.info.architecture = type;
  decoder.info.needs_state = decoder.attention_soft_cap > 0;
  LimitPositions(decoder);
  return decoder;
}

ModelDescription Describe(DecoderConfig config) {
  ModelDescription description;
  const HeadShape& heads = config.heads;
  const std::size_t ffn =
      config.mixture.n_experts == 0
          ? config.ffn_hidden
          : config.ffn_hidden + config.mixture.n_used * config.mixture.ffn_hidden;
  description.row_floats = 5 * config.info.hidden + 2 * heads.q_width() + 2 * heads.kv_width() +
                           3 * ffn + config.mixture.n_experts;
  if (config.info.causal) {
    const kernels::KvShape kv{.n_kv_heads = heads.n_kv_heads, .head_dim = heads.head_dim};
    description.state.layers.assign(config.info.n_layers,
                                    {.kind = LayerState::Kind::kAttention, .kv = kv});
  }
  description.info = std::move(config.info);
  return description;
}

}  // namespace lattice::models
