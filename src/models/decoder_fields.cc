#include "models/decoder_fields.h"

#include <algorithm>
#include <array>
#include <string>

#include "models/config.h"

namespace lattice::models {

Result<TextConfig> FindTextConfig(const JsonView& config) {
  const auto text = config.Find("text_config");
  if (!text) return TextConfig{config, false};
  if (!text->IsObject()) return text->Complain("expected an object");
  LATTICE_TRY_VOID(RefuseQuantised(*text));
  return TextConfig{*text, true};
}

Status CheckHeads(const JsonView& config, const HeadShape& heads) {
  if (heads.n_heads % heads.n_kv_heads != 0) {
    return WrongAt(config, "num_attention_heads " + std::to_string(heads.n_heads) +
                               " is not a multiple of num_key_value_heads " +
                               std::to_string(heads.n_kv_heads));
  }
  if (heads.head_dim % 2 != 0) {
    return WrongAt(config, "head_dim " + std::to_string(heads.head_dim) + " is odd");
  }
  return Ok();
}

Result<float> ReadSoftCap(const JsonView& config, std::string_view key) {
  const boost::json::object* object = config.value().if_object();
  if (object != nullptr && object->contains(key) && !config.Find(key)) return 0.0f;  // null
  LATTICE_TRY(const JsonView value, config.Get(key));
  LATTICE_TRY(const double cap, value.Number());
  if (cap > 0 && cap < 1e9) return static_cast<float>(cap);
  return WrongAt(value, std::to_string(cap) + " is not a bound of scores");
}

Result<std::uint32_t> CausalWindow(const JsonView& config, std::size_t width) {
  if (width >= 2) return static_cast<std::uint32_t>(width - 1);
  return Error{ErrorCode::kCorruptData, config.where() + "sliding_window: 1 leaves no neighbours"};
}

void LimitPositions(DecoderConfig& decoder) {
  for (const RopeTable* table : {&decoder.rope, &decoder.sliding_rope}) {
    if (table->max_positions == 0) continue;
    decoder.info.max_tokens = std::min(decoder.info.max_tokens, table->max_positions);
  }
}

Result<DecoderClass> ReadDecoderClass(const JsonView& config, std::string_view stem) {
  const std::string model = std::string(stem) + "Model";
  const std::string generator = std::string(stem) + "ForCausalLM";
  const std::string classifier = std::string(stem) + "ForSequenceClassification";
  const std::array<std::string_view, 3> known = {model, generator, classifier};
  LATTICE_TRY(const std::string name, ReadArchitecture(config, known));
  return DecoderClass{.generates = name == generator, .classifies = name == classifier};
}

}  // namespace lattice::models
