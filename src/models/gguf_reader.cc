#include "models/gguf_reader.h"

#include <cmath>

#include "models/config.h"

namespace lattice::models {

using boost::json::object;

bool GgufReader::IsArray(std::string_view name) const {
  const weights::GgufValue* value = data().Find(Key(name));
  return value != nullptr && value->type == weights::GgufType::kArray;
}

Result<std::vector<bool>> GgufReader::Flags(std::string_view name, std::size_t n) const {
  const weights::GgufValue* value = data().Find(Key(name));
  std::vector<bool> flags;
  if (value != nullptr && value->element == weights::GgufType::kBool) {
    LATTICE_TRY(flags, data().GetBools(Key(name)));
  } else {
    LATTICE_TRY(const auto numbers, data().GetUints(Key(name)));
    for (const std::uint64_t number : numbers) flags.push_back(number != 0);
  }
  if (flags.size() == n) return flags;
  return Error{ErrorCode::kCorruptData, Key(name) + ": " + std::to_string(flags.size()) +
                                            " entries for " + std::to_string(n) + " layers"};
}

Status GgufReader::ReadCommon(object& config) {
  const weights::TensorView* words = checkpoint_.Find("token_embd.weight");
  if (words == nullptr || words->shape.size() != 2) {
    return Error{ErrorCode::kNotFound, "no matrix 'token_embd.weight'"};
  }
  LATTICE_TRY(const std::uint64_t n_blocks, Uint("block_count"));
  // Blocks that predict further tokens stand behind the model's own.
  LATTICE_TRY(const std::uint64_t n_further, UintOr("nextn_predict_layers", 0));
  LATTICE_TRY(hidden_, Uint("embedding_length"));
  LATTICE_TRY(n_heads_, Uint("attention.head_count"));
  LATTICE_TRY(max_tokens_, Uint("context_length"));
  if (n_blocks <= n_further || n_blocks > kMaxLayers || n_heads_ == 0) {
    return Error{ErrorCode::kCorruptData, Key("block_count") + ": " + std::to_string(n_blocks) +
                                              " with " + std::to_string(n_further) +
                                              " that predict further tokens, " +
                                              std::to_string(n_heads_) + " heads"};
  }
  n_blocks_ = n_blocks;
  n_layers_ = n_blocks - n_further;
  LATTICE_TRY(head_dim_, UintOr("attention.key_length", hidden_ / n_heads_));
  LATTICE_TRY(const std::uint64_t value_dim, UintOr("attention.value_length", head_dim_));
  if (value_dim != head_dim_) {
    return Error{ErrorCode::kUnsupported,
                 Key("attention.value_length") + ": " + std::to_string(value_dim) +
                     " differs from the keys' " + std::to_string(head_dim_)};
  }
  LATTICE_TRY(const double epsilon, Float("attention.layer_norm_rms_epsilon"));
  config["vocab_size"] = words->shape[0];
  config["num_hidden_layers"] = n_layers_;
  config["hidden_size"] = hidden_;
  config["num_attention_heads"] = n_heads_;
  config["head_dim"] = head_dim_;
  config["max_position_embeddings"] = max_tokens_;
  config["rms_norm_eps"] = epsilon;
  config["tie_word_embeddings"] = !HasTensor("output.weight");
  return Ok();
}

Status GgufReader::ReadScaling(object& rope) const {
  if (const weights::TensorView* divisors = checkpoint_.Find("rope_freqs.weight")) {
    LATTICE_TRY(const std::vector<float> values, divisors->ToF32());
    boost::json::array list;
    for (const float value : values) list.push_back(static_cast<double>(value));
    rope["rope_type"] = "longrope";  // a divisor for each frequency, whatever the length
    rope["short_factor"] = std::move(list);
    rope["attention_factor"] = 1.0;
    rope["original_max_position_embeddings"] = max_tokens_;
    return Ok();
  }
  LATTICE_TRY(const std::string_view type, StringOr("rope.scaling.type", "none"));
  if (type == "none") return Ok();
  if (type != "linear" && type != "yarn") {
    return Error{ErrorCode::kUnsupported, Key("rope.scaling.type") + ": unknown scaling '" +
                                              std::string(type) + "'; known: none, linear, yarn"};
  }
  LATTICE_TRY(const double factor, Float("rope.scaling.factor"));
  rope["rope_type"] = std::string(type);
  rope["factor"] = factor;
  if (type == "linear") return Ok();
  LATTICE_TRY(const std::uint64_t original,
              UintOr("rope.scaling.original_context_length", max_tokens_));
  LATTICE_TRY(const double attention, FloatOr("rope.scaling.attn_factor", 1.0));
  LATTICE_TRY(const double fast, FloatOr("rope.scaling.yarn_beta_fast", 32.0));
  LATTICE_TRY(const double slow, FloatOr("rope.scaling.yarn_beta_slow", 1.0));
  rope["original_max_position_embeddings"] = original;
  rope["attention_factor"] = attention * (factor > 1 ? 1.0 + 0.1 * std::log(factor) : 1.0);
  rope["beta_fast"] = fast;
  rope["beta_slow"] = slow;
  return Ok();
}

Result<object> GgufReader::ReadRope(std::string_view base_key, double default_base,
                                    bool scaled) const {
  object rope;
  LATTICE_TRY(const double base, FloatOr(base_key, default_base));
  LATTICE_TRY(const std::uint64_t turning, UintOr("rope.dimension_count", head_dim_));
  rope["rope_type"] = "default";
  rope["rope_theta"] = base;
  if (turning != head_dim_ && head_dim_ != 0) {
    rope["partial_rotary_factor"] = static_cast<double>(turning) / static_cast<double>(head_dim_);
  }
  if (scaled) LATTICE_TRY_VOID(ReadScaling(rope));
  return rope;
}

}  // namespace lattice::models
