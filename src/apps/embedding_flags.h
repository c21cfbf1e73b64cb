#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command.h"
#include "lattice/embedding.h"

namespace lattice::apps {

/// Flags of every command that computes embeddings.
struct EmbeddingFlags {
  std::string model;
  std::string precision = "f32";
  std::size_t threads = 0;
};

/// Adds --model, --precision and --threads.
void DeclareEmbeddingFlags(CLI::App& arguments, EmbeddingFlags& flags);

/// A service with the context's cache, hub, instruction set and sinks.
Result<std::unique_ptr<EmbeddingService>> OpenService(const EmbeddingFlags& flags,
                                                      const AppContext& context);

/// "f32", "bf16", "int8".
Result<ComputePrecision> ParsePrecision(std::string_view name);
/// "query", "passage", "none".
Result<Role> ParseRole(std::string_view name);
std::vector<std::string> RoleNames();
/// "cls", "mean", "last", ...
Result<Pooling> ParsePooling(std::string_view name);
std::vector<std::string> PoolingNames();
std::string_view PoolingName(Pooling pooling);

/// "3 of 10 texts were cut to fit the model", or nothing.
std::optional<std::string> TruncationRemark(std::size_t n_truncated, std::size_t n_texts);
std::size_t CountTruncated(std::span<const TextUsage> usage);

}  // namespace lattice::apps
