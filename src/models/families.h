#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/json.h"
#include "lattice/result.h"
#include "models/binder.h"
#include "models/model.h"

namespace lattice::models {

/// One row of the registry: what a config's model_type stands for.
struct Family {
  std::string_view model_type;
  /// Reads and proves config.json alone.
  Result<ModelInfo> (*describe)(const JsonView& config);
  Result<std::shared_ptr<const Model>> (*load)(const ModelSource& source);
};

std::span<const Family> Families();

/// The row for config's model_type; kUnsupported lists the known ones.
Result<const Family*> FindFamily(const JsonView& config);

// One pair a family file.
Result<ModelInfo> DescribeBert(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadBert(const ModelSource& source);
Result<ModelInfo> DescribeModernBert(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadModernBert(const ModelSource& source);
Result<ModelInfo> DescribeDecoder(const JsonView& config);
Result<std::shared_ptr<const Model>> LoadDecoder(const ModelSource& source);

}  // namespace lattice::models
