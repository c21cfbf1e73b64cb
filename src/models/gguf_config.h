#pragma once

#include <boost/json/object.hpp>

#include "lattice/result.h"
#include "models/binder.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// A GGUF file as the families know models.
struct GgufModel {
  boost::json::object config;  ///< As config.json of the same model would say it.
  FileLayout layout;
};

/// Reads the metadata of `checkpoint`, which is a GGUF file's. kUnsupported for an architecture
/// without a family here, with the known ones; kCorruptData or kNotFound for keys that are wrong or
/// missing. What such files leave out has the value that their format defines.
Result<GgufModel> ReadGgufModel(const weights::Checkpoint& checkpoint);

}  // namespace lattice::models
