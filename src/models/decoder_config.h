#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/attention.h"
#include "models/model.h"
#include "models/rope.h"

namespace lattice::models {

/// The options of the one decoder graph, as a config.json sets them. A new family is a new way to
/// fill this; the graph asks no family's name.
struct DecoderConfig {
  ModelInfo info;
  HeadShape heads;  ///< q_width() may differ from info.hidden.
  std::size_t ffn_hidden = 0;
  kernels::Activation activation = kernels::Activation::kNone;
  float norm_eps = 0.0f;
  float norm_offset = 0.0f;  ///< The gain of a norm is this plus the stored weight.
  bool sandwich = false;     ///< Norms after attention and feed-forward too, before the sum.
  float embed_scale = 1.0f;
  float attention_scale = 1.0f;
  std::vector<bool> sliding;     ///< [n_layers]
  std::uint32_t window = 0;      ///< Of sliding layers, as kernels::AttentionArgs counts it.
  RopeTable rope, sliding_rope;  ///< The second is empty when no layer slides.
  bool tied_head = false;        ///< Next-token logits use the embedding table.
};

/// Reads and proves a config.json of model_type qwen3, gemma3_text or gemma3 (the text model
/// inside).
Result<DecoderConfig> ReadDecoderConfig(const JsonView& config);

}  // namespace lattice::models
