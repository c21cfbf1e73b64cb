#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "chat/chat_template.h"
#include "lattice/result.h"

namespace lattice::chat {

/// A template's text and where it was found.
struct TemplateSource {
  std::string text;
  std::string where;  ///< For messages: a file, with the key in it.
};

/// The chat template of a model folder; absent when the folder has none.
///   chat_template.jinja          the file itself
///   chat_template.json           {"chat_template": ...}
///   tokenizer_config.json        "chat_template": a string, or [{"name", "template"}, ...]
/// Of several named ones: "tool_use" if `with_tools` and it is there, else "default".
///
/// Errors  kCorruptData names file and key; kResourceExhausted for an absurdly long file.
Result<std::optional<TemplateSource>> FindChatTemplate(const std::filesystem::path& folder,
                                                       bool with_tools);

/// The texts of bos_token, eos_token and kin, of tokenizer_config.json and, for those that are
/// missing there, special_tokens_map.json. Empty when neither file is there.
Result<SpecialTokens> ReadSpecialTokens(const std::filesystem::path& folder);

}  // namespace lattice::chat
