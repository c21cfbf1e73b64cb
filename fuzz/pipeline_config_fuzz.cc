#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "embed/pipeline_config.h"
#include "embed/reranker.h"
#include "lattice/check.h"

// One text read as each of the files that describe an embedding pipeline.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lattice::embed;  // NOLINT: a fuzz target is one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto modules = ParseModules(text, "f")) {
    LATTICE_CHECK(!modules->empty());
    for (const ModuleEntry& module : *modules) {
      const std::filesystem::path path(module.path);
      LATTICE_CHECK(!path.has_root_path());
      for (const auto& part : path) LATTICE_CHECK(part != "..");
    }
  }
  if (const auto pooling = ParsePooling(text, "f")) {
    LATTICE_CHECK(!pooling->modes.empty() && pooling->modes.size() <= 6);
  }
  if (const auto dense = ParseDense(text, "f")) {
    LATTICE_CHECK(dense->in_features > 0 && dense->out_features > 0);
  }
  static_cast<void>(ParseTransformerSettings(text, "f").has_value());
  static_cast<void>(ParseScoreActivation(text, "f").has_value());
  if (const auto prompts = ParsePrompts(text, "f")) {
    static_cast<void>(prompts->ForRole(lattice::Role::kPassage));
  }
  return 0;
}
