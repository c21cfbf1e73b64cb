#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/json.h"
#include "lattice/result.h"
#include "models/binder.h"
#include "models/model.h"

namespace lattice::models {

/// What a config.json alone says about a model.
struct ModelDescription {
  ModelInfo info;
  StateShape state;  ///< Without a fingerprint.
  /// f32 values that a pass keeps for each row of a batch, logits aside.
  std::size_t row_floats = 0;
};

/// One row of the registry: what a config's model_type stands for.
struct Family {
  std::string_view model_type;
  /// Reads and proves config.json alone.
  Result<ModelDescription> (*describe)(const JsonView& config);
  Result<std::shared_ptr<const Model>> (*load)(const ModelSource& source);
};

std::span<const Family> Families();

/// The row for config's model_type; kUnsupported lists the known ones.
Result<const Family*> FindFamily(const JsonView& config);

// One pair a family file.
Result<ModelDescription> DescribeBert(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadBert(const ModelSource& source);
Result<ModelDescription> DescribeModernBert(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadModernBert(const ModelSource& source);
Result<ModelDescription> DescribeDecoder(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadDecoder(const ModelSource& source);
Result<ModelDescription> DescribeQwen35(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadQwen35(const ModelSource& source);
Result<ModelDescription> DescribeGemma4(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadGemma4(const ModelSource& source);

}  // namespace lattice::models
