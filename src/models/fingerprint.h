#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "numeric/dtype.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// Names a model as it computes: hexadecimal digits of a SHA-256 over its config, its precision,
/// what its weights are quantised to while it is loaded, and for each tensor the name, dtype, shape
/// and some of the bytes (all would mean to read the whole file).
std::string Fingerprint(const JsonView& config, const weights::Checkpoint& checkpoint,
                        kernels::Precision precision, std::optional<Dtype> weights);

}  // namespace lattice::models
