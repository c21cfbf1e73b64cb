#pragma once

#include <cstddef>
#include <vector>

#include "lattice/result.h"
#include "models/model_files.h"
#include "weights/quantise_plan.h"

namespace lattice::models {

/// A folder's model as a GGUF file says it, the tokenizer aside. Move-only: the plan looks into it.
struct GgufExport {
  GgufExport() = default;
  GgufExport(GgufExport&&) = default;
  GgufExport& operator=(GgufExport&&) = default;

  weights::GgufPlan plan;                ///< Types are F32, until ApplyPolicy.
  std::size_t vocab = 0;                 ///< Rows of the embedding table.
  std::vector<std::vector<float>> made;  ///< Behind tensors that the folder does not have.
};

/// The opposite of ReadGgufModel: keys, names and layouts that such files have. Vision parts and
/// blocks that predict further tokens are left out.
///
/// Errors  kUnsupported for a family, or an option of one, that cannot be said in such files, and
///         for tensors of unknown names; kNotFound and kCorruptData for tensors that are missing or
///         of another size than config.json says.
/// Source  the names and transformations of llama.cpp's converters.
Result<GgufExport> ExportGguf(const ModelFiles& files);

}  // namespace lattice::models
