#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat_template.h"
#include "lattice/result.h"

namespace lattice::chat {

/// A template's text and where it was found.
struct TemplateSource {
  std::string text;
  std::string where;  ///< For messages: a file, with the key in it.
};

/// Which of a model's templates.
struct TemplateChoice {
  std::string name = {};  ///< Empty: "tool_use" if `with_tools` and it is there, else "default".
  bool with_tools = false;
};

/// A template by its name, among all that a model has.
using NamedTemplates = std::vector<std::pair<std::string, TemplateSource>>;

/// Absent when there are none. kNotFound for a name that is not there, or no default among several:
/// the names that are. `where` is for messages.
Result<std::optional<TemplateSource>> ChooseTemplate(NamedTemplates templates,
                                                     const TemplateChoice& choice,
                                                     const std::string& where);

/// The chat templates of a model folder, of the first of these that has any:
///   chat_template.jinja          the default; additional_chat_templates/NAME.jinja the others
///   chat_template.json           {"chat_template": ...}
///   tokenizer_config.json        "chat_template": a string, or [{"name", "template"}, ...]
/// Errors  kCorruptData names file and key; kResourceExhausted for an absurdly long file.
Result<NamedTemplates> FindChatTemplates(const std::filesystem::path& folder);

/// The texts of bos_token, eos_token and kin, of tokenizer_config.json and, for those that are
/// missing there, special_tokens_map.json. Empty when neither file is there.
Result<SpecialTokens> ReadSpecialTokens(const std::filesystem::path& folder);

}  // namespace lattice::chat
