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

/// A model's files, looked through but with no weight read. What wants something of them (plan,
/// model, tokenizer, chat template) shares one of these: headers are long.
class ModelFiles {
 public:
  /// `path` is a folder with config.json and weights, or a .gguf file.
  static Result<std::shared_ptr<const ModelFiles>> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
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

  std::filesystem::path path_;
  boost::json::value json_;
  std::string where_;
  const Family* family_ = nullptr;
  ModelDescription description_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;
  FileLayout layout_;
};

/// What such files are loaded from, but for the memory.
ModelSource SourceOf(const ModelFiles& files, kernels::Backend& backend,
                     const LoadOptions& options);

}  // namespace lattice::models
