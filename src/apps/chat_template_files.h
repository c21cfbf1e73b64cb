#pragma once

#include <filesystem>
#include <optional>

#include "base/log.h"
#include "chat/chat_template.h"
#include "chat/template_source.h"
#include "lattice/result.h"
#include "models/model_files.h"

namespace lattice::apps {

/// What a model's files say about its chat template.
struct ModelTemplate {
  std::optional<chat::TemplateSource> source;  ///< Absent: there is none.
  chat::SpecialTokens tokens;                  ///< That it may name.
};

/// `model` is a folder or a .gguf file. Errors name file and key, or the templates that there are.
Result<ModelTemplate> FindModelTemplate(const std::filesystem::path& model,
                                        const chat::TemplateChoice& choice);
/// The same of files that were opened before.
Result<ModelTemplate> FindModelTemplate(const models::ModelFiles& model,
                                        const chat::TemplateChoice& choice);

/// Compiles it; a model without one gets the fallback, and `log` says so.
Result<chat::ChatTemplate> CompileTemplate(const std::filesystem::path& model, ModelTemplate found,
                                           const LogSink& log);

}  // namespace lattice::apps
