#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/attention.h"
#include "models/families.h"
#include "models/feed_forward.h"
#include "models/model.h"
#include "models/rope.h"

namespace lattice::models {

/// The options of the one decoder graph, as a config.json sets them. A new family is a new way to
/// fill this; the graph asks no family's name.
struct DecoderConfig {
  ModelInfo info;
  HeadShape heads;             ///< q_width() may differ from info.hidden.
  std::size_t ffn_hidden = 0;  ///< Of layers that are no mixture.
  kernels::Activation activation = kernels::Activation::kNone;
  float norm_eps = 0.0f;
  bool one_plus_norms = false;  ///< Norms and head norms keep w and use 1 + w.
  bool head_norms = false;      ///< Of queries and keys.
  bool sandwich = false;        ///< Norms after attention and feed-forward too, before the sum.
  bool qkv_bias = false, out_bias = false, ffn_bias = false;
  float embed_scale = 1.0f;
  float attention_scale = 1.0f;
  float attention_soft_cap = 0.0f, logit_soft_cap = 0.0f;  ///< 0: none.
  std::vector<bool> sliding;                               ///< [n_layers]
  std::uint32_t window = 0;      ///< Of sliding layers, as kernels::AttentionArgs counts it.
  std::vector<bool> rotary;      ///< [n_layers] turned by position; empty: all are.
  RopeTable rope, sliding_rope;  ///< The second is empty when no layer slides or they share one.
  MixtureConfig mixture;
  std::vector<bool> mixed;  ///< [n_layers] feed-forward is the mixture; empty: none is.
  bool tied_head = false;   ///< Next-token logits use the embedding table.
};

/// Reads and proves a config.json of one of the families of this graph, or of a model that has one
/// inside (text_config).
Result<DecoderConfig> ReadDecoderConfig(const JsonView& config);

/// What a text costs such a model.
ModelDescription Describe(DecoderConfig config);

}  // namespace lattice::models
