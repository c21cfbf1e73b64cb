#pragma once

#include <cstddef>
#include <vector>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/attention.h"
#include "models/families.h"
#include "models/feed_forward.h"
#include "models/rope.h"

namespace lattice::models {

/// Sizes of a hybrid of gated DeltaNet layers and gated attention layers.
struct Qwen35Config {
  ModelInfo info;
  HeadShape heads;  ///< Of attention layers.
  kernels::DeltaNetShape delta_net;
  std::vector<bool> attention;  ///< [n_layers] attention; the others are DeltaNet.
  std::size_t ffn_hidden = 0;   ///< 0: every layer is a mixture.
  MixtureConfig mixture;
  kernels::Activation activation = kernels::Activation::kSilu;
  float norm_eps = 0.0f;
  RopeTable rope;
  bool tied_head = false;
};

/// A config.json of model_type qwen3_5, qwen3_5_moe (text_config inside) or their _text forms, or
/// of qwen3_next, whose layers are the same.
Result<Qwen35Config> ReadQwen35Config(const JsonView& config);

}  // namespace lattice::models
