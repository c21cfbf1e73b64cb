#include "apps/chat_template_files.h"

#include <string>
#include <utility>

#include "weights/checkpoint.h"

namespace lattice::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

/// The n-th token as the file spells it; absent when there is no such one.
Result<std::optional<std::string>> TokenText(const weights::GgufMetadata& metadata,
                                             const std::string& id_key) {
  if (!metadata.Has(id_key)) return std::optional<std::string>();
  LATTICE_TRY(const std::int64_t id, metadata.GetInt(id_key));
  LATTICE_TRY(const weights::GgufStrings tokens, metadata.GetStrings("tokenizer.ggml.tokens"));
  std::int64_t i = 0;
  for (const std::string_view token : tokens) {
    if (i++ == id) return std::optional<std::string>(token);
  }
  return std::optional<std::string>();
}

/// tokenizer.chat_template, and tokenizer.chat_template.NAME for others.
Result<chat::NamedTemplates> TemplatesOf(const weights::GgufMetadata& metadata,
                                         const fs::path& file) {
  chat::NamedTemplates templates;
  const auto add = [&](const std::string& key, std::string name) -> Status {
    LATTICE_TRY(const std::string_view text, metadata.GetString(key));
    templates.emplace_back(std::move(name),
                           chat::TemplateSource{std::string(text), file.string() + ": " + key});
    return Ok();
  };
  for (const auto& [key, unused] : metadata.values()) {
    if (key == kTemplateKey) {
      LATTICE_TRY_VOID(add(std::string(key), "default"));
    } else if (key.starts_with(kTemplateKey) && key[kTemplateKey.size()] == '.') {
      LATTICE_TRY_VOID(add(std::string(key), std::string(key.substr(kTemplateKey.size() + 1))));
    }
  }
  return templates;
}

Result<ModelTemplate> InGguf(const fs::path& file, const weights::GgufMetadata& metadata,
                             const chat::TemplateChoice& choice) {
  ModelTemplate found;
  LATTICE_TRY(auto templates, TemplatesOf(metadata, file));
  LATTICE_TRY(found.source, chat::ChooseTemplate(std::move(templates), choice, file.string()));
  for (const char* name : {"bos", "eos", "unknown", "padding"}) {
    const std::string id_key = "tokenizer.ggml." + std::string(name) + "_token_id";
    LATTICE_TRY(const std::optional<std::string> text, TokenText(metadata, id_key));
    if (!text) continue;
    const std::string_view kind = name == std::string_view("unknown")   ? "unk"
                                  : name == std::string_view("padding") ? "pad"
                                                                        : name;
    found.tokens.emplace_back(std::string(kind) + "_token", *text);
  }
  return found;
}

Result<ModelTemplate> InFolder(const fs::path& folder, const chat::TemplateChoice& choice) {
  ModelTemplate found;
  LATTICE_TRY(found.tokens, chat::ReadSpecialTokens(folder));
  LATTICE_TRY(auto templates, chat::FindChatTemplates(folder));
  LATTICE_TRY(found.source, chat::ChooseTemplate(std::move(templates), choice, folder.string()));
  return found;
}

}  // namespace

Result<ModelTemplate> FindModelTemplate(const fs::path& model, const chat::TemplateChoice& choice) {
  if (model.extension() != ".gguf") return InFolder(model, choice);
  LATTICE_TRY(const auto checkpoint, weights::Checkpoint::Open(model));
  return InGguf(model, *checkpoint->gguf(), choice);
}

Result<ModelTemplate> FindModelTemplate(const models::ModelFiles& model,
                                        const chat::TemplateChoice& choice) {
  const weights::GgufMetadata* gguf = model.checkpoint()->gguf();
  if (gguf == nullptr) return InFolder(model.path(), choice);
  return InGguf(model.path(), *gguf, choice);
}

Result<chat::ChatTemplate> CompileTemplate(const fs::path& model, ModelTemplate found,
                                           const LogSink& log) {
  if (!found.source) {
    if (log) log(LogLevel::kWarning, model.string() + " has no chat template; ChatML is used");
    return chat::ChatTemplate::Fallback(std::move(found.tokens));
  }
  auto compiled = chat::ChatTemplate::Compile(found.source->text, std::move(found.tokens));
  if (!compiled) return std::move(compiled).error().Within(found.source->where);
  return compiled;
}

}  // namespace lattice::apps
