#pragma once

#include <string>

#include "base/json.h"
#include "kernels/api/backend.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// Names a model as it computes: hexadecimal digits of a SHA-256 over its config, its precision,
/// and for each tensor the name, dtype, shape and some of the bytes (all would mean to read the
/// whole file).
std::string Fingerprint(const JsonView& config, const weights::Checkpoint& checkpoint,
                        kernels::Precision precision);

}  // namespace lattice::models
