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

// One of several named templates.
Result<std::optional<TemplateSource>> ChooseNamed(const JsonView& list, bool with_tools) {
  LATTICE_TRY(const std::vector<JsonView> entries, list.Array());
  std::optional<TemplateSource> chosen;
  for (const JsonView& entry : entries) {
    LATTICE_TRY(const JsonView name_view, entry.Get("name"));
    LATTICE_TRY(const std::string_view name, name_view.String());
    const bool preferred = with_tools && name == "tool_use";
    if (!preferred && (name != "default" || chosen)) continue;
    LATTICE_TRY(const JsonView text_view, entry.Get("template"));
    LATTICE_TRY(const std::string_view text, text_view.String());
    chosen = TemplateSource{std::string(text), text_view.where()};
    if (preferred) break;
  }
  if (!chosen && !entries.empty()) return list.Complain("no template is called 'default'");
  return chosen;
}

Result<std::optional<TemplateSource>> FromJsonFile(const fs::path& file, bool with_tools) {
  if (!Exists(file)) return std::optional<TemplateSource>();
  LATTICE_TRY(const boost::json::value document, ReadJsonFile(file));
  const auto found = JsonView(document, file.string() + ": ").Find("chat_template");
  if (!found) return std::optional<TemplateSource>();
  if (found->IsArray()) return ChooseNamed(*found, with_tools);
  LATTICE_TRY(const std::string_view text, found->String());
  return std::optional(TemplateSource{std::string(text), found->where()});
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

Result<std::optional<TemplateSource>> FindChatTemplate(const fs::path& folder, bool with_tools) {
  if (const fs::path file = folder / "chat_template.jinja"; Exists(file)) {
    LATTICE_TRY(std::string text, ReadFile(file, kMaxFileBytes));
    return std::optional(TemplateSource{std::move(text), file.string()});
  }
  LATTICE_TRY(auto found, FromJsonFile(folder / "chat_template.json", with_tools));
  if (found) return found;
  return FromJsonFile(folder / "tokenizer_config.json", with_tools);
}

Result<SpecialTokens> ReadSpecialTokens(const fs::path& folder) {
  SpecialTokens tokens;
  LATTICE_TRY_VOID(AddTokens(folder / "tokenizer_config.json", tokens));
  LATTICE_TRY_VOID(AddTokens(folder / "special_tokens_map.json", tokens));
  return tokens;
}

}  // namespace lattice::chat
