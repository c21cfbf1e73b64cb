#pragma once

#include <filesystem>

#include "base/log.h"
#include "chat/chat_template.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::apps {

/// The chat template of a model folder or .gguf file, with the special tokens that it names. A
/// model without one gets the fallback, and `log` says so.
Result<chat::ChatTemplate> OpenChatTemplate(const std::filesystem::path& model,
                                            const tokenizers::Tokenizer& tokenizer,
                                            const LogSink& log);

}  // namespace lattice::apps
