#pragma once

#include <boost/json/value.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "lattice/result.h"
#include "models/binder.h"
#include "models/families.h"
#include "weights/checkpoint.h"

namespace lattice::models {

/// A model's files, looked through but with no weight read.
class ModelFiles {
 public:
  /// `path` is a folder with config.json and weights, or a .gguf file.
  static Result<std::unique_ptr<const ModelFiles>> Open(const std::filesystem::path& path);

  JsonView config() const { return JsonView(json_, where_); }
  const Family& family() const { return *family_; }
  const ModelDescription& description() const { return description_; }
  const std::shared_ptr<const weights::Checkpoint>& checkpoint() const { return checkpoint_; }
  const FileLayout& layout() const { return layout_; }
  std::size_t weights_bytes() const;

 private:
  ModelFiles() = default;
  Status OpenFolder(const std::filesystem::path& folder);
  Status OpenGguf(const std::filesystem::path& file);
  Status ReadDescription();

  boost::json::value json_;
  std::string where_;
  const Family* family_ = nullptr;
  ModelDescription description_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;
  FileLayout layout_;
};

}  // namespace lattice::models
