#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "lattice/result.h"
#include "models/gguf_export.h"
#include "weights/checkpoint.h"
#include "weights/quantise_plan.h"

namespace lattice::apps {

/// A model that is to be written as a GGUF file. Move-only: the plan looks into the rest.
struct QuantizeSource {
  std::filesystem::path path;
  std::shared_ptr<const weights::Checkpoint> checkpoint;
  models::GgufExport made;  ///< Its plan is what is written.

  weights::GgufPlan& plan() { return made.plan; }
  const weights::GgufPlan& plan() const { return made.plan; }
};

/// Of a .gguf file, keys and tensors as they are; of a folder, all that such a file says of the
/// same model: sizes, tokenizer, chat template. Errors name the file.
Result<QuantizeSource> OpenQuantizeSource(const std::filesystem::path& path);

}  // namespace lattice::apps
