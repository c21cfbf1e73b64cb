#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "embed/embedding_model.h"
#include "lattice/embedding.h"
#include "lattice/result.h"

namespace lattice::embed {

/// Finds the folder of a model by name, alias or path; may take long (a download).
using ModelResolver = std::function<Result<ModelSource>(std::string_view name)>;

/// The service that computes. `engine`'s backend and pool outlive it. An empty model name means
/// `default_model`. Calls for one model that is being loaded wait for it; other models' calls do
/// not.
std::unique_ptr<EmbeddingService> MakeNativeService(const Engine& engine, ModelResolver resolver,
                                                    std::string default_model);

}  // namespace lattice::embed
