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
  std::vector<float> inv_freq;  ///< [rotary_dim / 2] radians per token.
  float scale = 1.0f;           ///< Of cosine and sine ("attention factor").

  kernels::Rope view() const { return {inv_freq, scale}; }
};

/// What the table is made from besides its own JSON object.
struct RopeContext {
  std::size_t head_dim = 0;
  double theta = 0;  ///< Base period.
  std::size_t max_positions =
      0;  ///< max_position_embeddings, from which yarn may derive its factor.
};

/// inv_freq[j] = theta^(-2j / head_dim) with the scaling that `scaling` asks for by rope_type (or
/// the older key "type"): "default", "linear", "llama3", "yarn". kUnsupported names any other type.
/// Source  Su et al. 2021 "RoFormer"; Peng et al. 2023 "YaRN"; Llama 3.1's model files.
Result<RopeTable> MakeRopeTable(const JsonView& scaling, const RopeContext& context);
/// The same without scaling.
RopeTable MakePlainRopeTable(const RopeContext& context);

/// Older and newer spellings of the same parameters in config.json. `layer_type` is a key of a
/// nested rope_parameters ("full_attention"); `theta_key` is where older files keep the base (null:
/// nowhere); `scaled` says whether the older rope_scaling applies to these layers. Files that say
/// neither get `default_theta`; 0 makes that an error. Two different values for one base are an
/// error.
struct RopeKeys {
  std::string_view layer_type = {};
  std::string_view theta_key = "rope_theta";
  bool scaled = true;
  double default_theta = 10000.0;
};
Result<RopeTable> ReadRope(const JsonView& config, const RopeKeys& keys, std::size_t head_dim,
                           std::size_t max_positions);

}  // namespace lattice::models
