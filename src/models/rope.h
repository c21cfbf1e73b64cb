#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"

namespace lattice::models {

/// Frequencies of rotary embedding for one kind of layer.
struct RopeTable {
  std::vector<float> inv_freq;    ///< [rotary_dim / 2] radians per token.
  float scale = 1.0f;             ///< Of cosine and sine ("attention factor").
  std::size_t max_positions = 0;  ///< Longer texts would need another table; 0: none would.

  kernels::Rope view() const { return {inv_freq, scale}; }
};

/// What the table is made from besides its own JSON object.
struct RopeContext {
  std::size_t head_dim = 0;
  double theta = 0;  ///< Base period.
  /// max_position_embeddings, from which yarn and longrope may derive their factor.
  std::size_t max_positions = 0;
  double partial = 1.0;  ///< Part of a head that turns, where the object does not say.
};

/// inv_freq[j] = theta^(-2j / R), R = head_dim * partial_rotary_factor, with the scaling that
/// `scaling` asks for by rope_type (or the older key "type"): "default", "linear", "llama3",
/// "yarn", "dynamic", "longrope", "proportional". kUnsupported names any other type.
///
/// dynamic   The reference turns a text longer than max_position_embeddings by a base that grows
///           with it, which keys that were kept from before cannot follow. Here texts end there,
///           and up to there the table is the plain one.
/// longrope  Has one table for texts up to original_max_position_embeddings and one for longer
///           ones. Here texts end there, with the first, when the model's own limit lies beyond.
/// proportional  Turns the first partial_rotary_factor of the pairs (j, j + head_dim / 2), of
///           theta^(-2j / head_dim), and leaves the others.
/// Source  Su et al. 2021 "RoFormer"; Peng et al. 2023 "YaRN"; Ding et al. 2024 "LongRoPE"; Llama
///         3.1's and Gemma 4's model files.
Result<RopeTable> MakeRopeTable(const JsonView& scaling, RopeContext context);
/// The same without scaling.
RopeTable MakePlainRopeTable(const RopeContext& context);

/// Older and newer spellings of the same parameters in config.json. `layer_type` is a key of a
/// nested rope_parameters ("full_attention"); `theta_key` is where older files keep the base (null:
/// nowhere); `scaled` says whether the older rope_scaling applies to these layers. Files that say
/// neither get `default_theta`; 0 makes that an error. partial_rotary_factor stands in either
/// place, else it is `default_partial`. Two different values for one of these are an error.
struct RopeKeys {
  std::string_view layer_type = {};
  std::string_view theta_key = "rope_theta";
  bool scaled = true;
  double default_theta = 10000.0;
  double default_partial = 1.0;
};
Result<RopeTable> ReadRope(const JsonView& config, const RopeKeys& keys, std::size_t head_dim,
                           std::size_t max_positions);

}  // namespace lattice::models
