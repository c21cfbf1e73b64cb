#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "lattice/result.h"

namespace lattice::random_model {

struct TensorPlan {
  std::string name;  ///< As in a safetensors file.
  std::vector<std::size_t> shape;
  float centre = 0, spread = 0;  ///< Values are centre + spread * about N(0, 1).
  bool small = false;            ///< Vectors and their like, which block formats cannot hold.
};

/// The tensors that a model with this config.json has; kUnsupported for an unknown model_type,
/// kCorruptData for a missing size.
Result<std::vector<TensorPlan>> PlanTensors(const boost::json::object& config);

}  // namespace lattice::random_model
