#include "embed/pipeline_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "embed/known_models.h"

namespace lattice::embed {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;

// sentence-transformers looks for these in this order and takes the first.
constexpr std::string_view kSettingsFiles[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
};

// The text of a file that need not be there.
Result<std::optional<std::string>> ReadIfThere(const std::filesystem::path& file) {
  auto text = ReadFile(file, kMaxConfigBytes);
  if (text) return std::optional<std::string>(*std::move(text));
  if (text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

Result<DenseSpec> ReadDense(const std::filesystem::path& folder) {
  const auto file = folder / "config.json";
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxConfigBytes));
  LATTICE_TRY(DenseSpec spec, ParseDense(text, file.string()));
  spec.folder = folder;
  return spec;
}

Status BadOrder(const std::filesystem::path& folder) {
  return Error{ErrorCode::kUnsupported,
               (folder / "modules.json").string() +
                   ": expected Transformer, Pooling, then Dense and Normalize in any order, or "
                   "Transformer and LogitScore"};
}

// Fills transformer, pooling, steps and is_reranker from modules.json.
Status ApplyModules(const std::filesystem::path& folder, const std::vector<ModuleEntry>& modules,
                    PipelineConfig& config) {
  config.from_files = true;
  if (modules[0].kind != "Transformer" || modules.size() < 2) return BadOrder(folder);
  config.transformer = folder / modules[0].path;
  if (modules[1].kind == "LogitScore") {
    config.is_reranker = true;
    return modules.size() == 2 ? Ok() : BadOrder(folder);
  }
  if (modules[1].kind != "Pooling") return BadOrder(folder);
  const auto pooling_file = folder / modules[1].path / "config.json";
  LATTICE_TRY(const std::string pooling, ReadFile(pooling_file, kMaxConfigBytes));
  LATTICE_TRY(config.pooling, ParsePooling(pooling, pooling_file.string()));
  for (std::size_t i = 2; i < modules.size(); ++i) {
    if (modules[i].kind == "Normalize") {
      config.steps.emplace_back(NormalizeSpec{});
    } else if (modules[i].kind == "Dense") {
      LATTICE_TRY(DenseSpec dense, ReadDense(folder / modules[i].path));
      config.steps.emplace_back(std::move(dense));
    } else {
      return BadOrder(folder);
    }
  }
  return Ok();
}

// A checkpoint without modules.json, from the table or by sentence-transformers' own default.
Status ApplyDefaults(const std::filesystem::path& folder, const KnownModel* known,
                     PipelineConfig& config) {
  config.transformer = folder;
  if (known == nullptr) {
    LATTICE_TRY(const std::optional<std::string> text, ReadIfThere(folder / "config.json"));
    if (!text) return Ok();  // Loading the model will say what is missing.
    auto document = ParseJson(*text);
    if (!document) return std::move(document).error().Within((folder / "config.json").string());
    const JsonView root(*document, (folder / "config.json").string() + ": ");
    LATTICE_TRY(const std::string type, root.StringOr("model_type", ""));
    if (type == "qwen3") config.pooling.modes = {Pooling::kLast};
    return Ok();
  }
  config.pooling.modes = {known->pooling};
  config.max_tokens = known->max_tokens;
  if (known->needs_dense) {
    for (const char* name : {"2_Dense", "3_Dense"}) {
      LATTICE_TRY(DenseSpec dense, ReadDense(folder / name));
      config.steps.emplace_back(std::move(dense));
    }
  }
  if (known->normalize) config.steps.emplace_back(NormalizeSpec{});
  return Ok();
}

Result<TransformerSettings> ReadSettings(const std::filesystem::path& folder) {
  for (const std::string_view name : kSettingsFiles) {
    LATTICE_TRY(const std::optional<std::string> text, ReadIfThere(folder / name));
    if (text) return ParseTransformerSettings(*text, (folder / name).string());
  }
  return TransformerSettings{};
}

// model_max_length of tokenizer_config.json, 0 when absent. Writers put 1e30 for "no limit".
Result<std::size_t> TokenizerLimit(const std::filesystem::path& folder) {
  const auto file = folder / "tokenizer_config.json";
  LATTICE_TRY(const std::optional<std::string> text, ReadIfThere(file));
  if (!text) return std::size_t{0};
  auto document = ParseJson(*text);
  if (!document) return std::move(document).error().Within(file.string());
  const JsonView root(*document, file.string() + ": ");
  LATTICE_TRY(const std::int64_t limit, root.IntOr("model_max_length", 0, 1, INT64_MAX));
  return static_cast<std::size_t>(limit);
}

}  // namespace

std::string_view Prompts::ForRole(Role role) const {
  const auto find = [&](std::string_view name) -> const std::string* {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : &found->second;
  };
  if (role == Role::kQuery) {
    if (const auto* prompt = find("query")) return *prompt;
  }
  if (role == Role::kPassage) {
    for (const char* name : {"document", "passage", "corpus"}) {
      if (const auto* prompt = find(name)) return *prompt;
    }
  }
  if (default_name.empty()) return {};  // A prompt may be called that too.
  const auto* prompt = find(default_name);
  return prompt != nullptr ? std::string_view(*prompt) : std::string_view();
}

Result<PipelineConfig> ReadPipelineConfig(const std::filesystem::path& folder,
                                          const std::vector<std::string>& names) {
  PipelineConfig config;
  const KnownModel* known = nullptr;
  for (const std::string& name : names) {
    if (known == nullptr) known = FindKnownModel(NormalizeModelName(name));
  }
  const auto modules_file = folder / "modules.json";
  LATTICE_TRY(const std::optional<std::string> modules_text, ReadIfThere(modules_file));
  if (modules_text) {
    LATTICE_TRY(const std::vector<ModuleEntry> modules,
                ParseModules(*modules_text, modules_file.string()));
    LATTICE_TRY_VOID(ApplyModules(folder, modules, config));
  } else {
    LATTICE_TRY_VOID(ApplyDefaults(folder, known, config));
  }
  LATTICE_TRY(const TransformerSettings settings, ReadSettings(config.transformer));
  if (settings.max_tokens != 0) config.max_tokens = settings.max_tokens;
  config.lower_case = settings.lower_case;
  if (config.max_tokens == 0) {
    LATTICE_TRY(config.max_tokens, TokenizerLimit(config.transformer));
  }
  const auto prompts_file = folder / "config_sentence_transformers.json";
  LATTICE_TRY(const std::optional<std::string> prompts_text, ReadIfThere(prompts_file));
  if (prompts_text) {
    LATTICE_TRY(config.prompts, ParsePrompts(*prompts_text, prompts_file.string()));
  }
  if (known != nullptr) {
    config.append_token = known->append_token;
    // Files that carry prompts of their own are right about all of them.
    if (config.prompts.by_name.empty()) {
      if (!known->query_prompt.empty()) config.prompts.by_name["query"] = known->query_prompt;
      if (!known->passage_prompt.empty()) {
        config.prompts.by_name["document"] = known->passage_prompt;
      }
    }
  }
  return config;
}

}  // namespace lattice::embed
