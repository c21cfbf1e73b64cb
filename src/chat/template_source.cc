#include "chat/template_source.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace lattice::chat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxTemplates = 100;
constexpr std::string_view kDefault = "default";

bool Exists(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

Result<boost::json::value> ReadJsonFile(const fs::path& file) {
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxFileBytes));
  auto document = ParseJson(text);
  if (!document) return std::move(document).error().Within(file.string());
  return document;
}

// Lists of several name each.
Result<NamedTemplates> FromList(const JsonView& list) {
  LATTICE_TRY(const std::vector<JsonView> entries, list.Array());
  NamedTemplates templates;
  for (const JsonView& entry : entries) {
    LATTICE_TRY(const JsonView name_view, entry.Get("name"));
    LATTICE_TRY(const std::string_view name, name_view.String());
    LATTICE_TRY(const JsonView text_view, entry.Get("template"));
    LATTICE_TRY(const std::string_view text, text_view.String());
    templates.emplace_back(name, TemplateSource{std::string(text), text_view.where()});
  }
  return templates;
}

Result<NamedTemplates> FromJsonFile(const fs::path& file) {
  if (!Exists(file)) return NamedTemplates();
  LATTICE_TRY(const boost::json::value document, ReadJsonFile(file));
  const auto found = JsonView(document, file.string() + ": ").Find("chat_template");
  if (!found) return NamedTemplates();
  if (found->IsArray()) return FromList(*found);
  LATTICE_TRY(const std::string_view text, found->String());
  return NamedTemplates{{std::string(kDefault), {std::string(text), found->where()}}};
}

Result<NamedTemplates> FromJinjaFiles(const fs::path& folder) {
  NamedTemplates templates;
  const auto add = [&](std::string name, const fs::path& file) -> Status {
    LATTICE_TRY(std::string text, ReadFile(file, kMaxFileBytes));
    templates.emplace_back(std::move(name), TemplateSource{std::move(text), file.string()});
    return Ok();
  };
  if (const fs::path file = folder / "chat_template.jinja"; Exists(file)) {
    LATTICE_TRY_VOID(add(std::string(kDefault), file));
  }
  std::vector<fs::path> files;
  std::error_code code;
  fs::directory_iterator entry(folder / "additional_chat_templates", code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    if (entry->path().extension() == ".jinja") files.push_back(entry->path());
    if (files.size() > kMaxTemplates) {
      return Error{ErrorCode::kResourceExhausted, (folder / "additional_chat_templates").string() +
                                                      ": more than " +
                                                      std::to_string(kMaxTemplates) + " templates"};
    }
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) LATTICE_TRY_VOID(add(file.stem().string(), file));
  return templates;
}

// Adds the tokens of one file that are not known yet.
Status AddTokens(const fs::path& file, SpecialTokens& tokens) {
  if (!Exists(file)) return Ok();
  LATTICE_TRY(const boost::json::value document, ReadJsonFile(file));
  const JsonView root(document, file.string() + ": ");
  if (!root.IsObject()) return root.Complain("expected an object");
  for (const auto& [key, unused] : document.get_object()) {
    const std::string name(key.data(), key.size());
    const auto value = root.Find(name);
    if (!name.ends_with("_token") || !value) continue;
    if (std::any_of(tokens.begin(), tokens.end(),
                    [&](const auto& token) { return token.first == name; })) {
      continue;
    }
    // Flags such as add_bos_token are booleans.
    const auto content = value->Find("content");
    const JsonView& text = content ? *content : *value;
    if (!text.IsString()) continue;
    LATTICE_TRY(const std::string_view token, text.String());
    tokens.emplace_back(name, token);
  }
  return Ok();
}

}  // namespace

Result<std::optional<TemplateSource>> ChooseTemplate(NamedTemplates templates,
                                                     const TemplateChoice& choice,
                                                     const std::string& where) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(templates, name, &NamedTemplates::value_type::first);
  };
  const std::string_view wanted = choice.name.empty() ? kDefault : std::string_view(choice.name);
  auto chosen = find(wanted);
  if (choice.name.empty() && choice.with_tools && find("tool_use") != templates.end()) {
    chosen = find("tool_use");
  }
  if (chosen != templates.end()) return std::optional(std::move(chosen->second));
  if (templates.empty() && choice.name.empty()) return std::optional<TemplateSource>();
  std::string names;
  for (const auto& [name, unused] : templates) names += (names.empty() ? "" : ", ") + name;
  return Error{ErrorCode::kNotFound, where + ": no chat template is called '" +
                                         std::string(wanted) + "'; there " +
                                         (names.empty() ? "are none" : "are: " + names)};
}

Result<NamedTemplates> FindChatTemplates(const fs::path& folder) {
  LATTICE_TRY(auto found, FromJinjaFiles(folder));
  if (!found.empty()) return found;
  LATTICE_TRY(found, FromJsonFile(folder / "chat_template.json"));
  if (!found.empty()) return found;
  return FromJsonFile(folder / "tokenizer_config.json");
}

Result<SpecialTokens> ReadSpecialTokens(const fs::path& folder) {
  SpecialTokens tokens;
  LATTICE_TRY_VOID(AddTokens(folder / "tokenizer_config.json", tokens));
  LATTICE_TRY_VOID(AddTokens(folder / "special_tokens_map.json", tokens));
  return tokens;
}

}  // namespace lattice::chat
