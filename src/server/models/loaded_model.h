#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lattice/result.h"
#include "server/openai/served_model.h"

namespace lattice::server {

enum class ModelKind { kText, kEmbedding, kReranker };
/// "text", "embedding", "reranker".
const char* ModelKindName(ModelKind kind);

/// A model with all that it computes with: one of the two is set. Its end frees everything, and may
/// take a while.
struct LoadedModel {
  std::shared_ptr<ServedTextModel> text;
  std::shared_ptr<ServedEmbedder> embedder;  ///< Rerankers, too.

  std::size_t max_tokens() const { return text ? text->context_tokens : embedder->info.max_tokens; }
};

/// A model that requests can name, loaded or not.
struct NamedModel {
  std::string id;
  std::vector<std::string> aliases;  ///< Further names by which requests find it.
  ModelKind kind = ModelKind::kText;
  std::int64_t created = 0;  ///< Unix time, the same for as long as it is served.
  /// Called again after each unloading, and after a failure. May take minutes.
  std::function<Result<LoadedModel>()> load;
};

}  // namespace lattice::server
