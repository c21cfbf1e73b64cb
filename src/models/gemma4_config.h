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
#include "models/rope.h"

namespace lattice::models {

/// What differs from layer to layer.
struct Gemma4Layer {
  HeadShape heads;
  bool sliding = false;
  bool values_are_keys = false;  ///< Before their norms: there is no projection to values.
  std::size_t kv_source = 0;     ///< The layer whose keys and values it reads; itself, or below.
  std::size_t ffn_hidden = 0;
};

struct Gemma4Config {
  ModelInfo info;
  std::vector<Gemma4Layer> layers;
  kernels::Activation activation = kernels::Activation::kGeluTanh;
  float norm_eps = 0.0f;
  float logit_soft_cap = 0.0f;  ///< 0: none.
  std::uint32_t window = 0;     ///< Of sliding layers, as kernels::PagedAttentionArgs counts it.
  RopeTable rope, sliding_rope;
  std::size_t layer_input = 0;  ///< Width of what a token gives each layer directly; 0: nothing.
  MixtureConfig mixture;        ///< Beside the dense layer; n_experts 0: none.
  bool tied_head = true;
};

/// A config.json of model_type gemma4_text, or of gemma4 with one inside.
Result<Gemma4Config> ReadGemma4Config(const JsonView& config);

}  // namespace lattice::models
