#include "apps/chat_template_files.h"

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "weights/checkpoint.h"

namespace lattice::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
constexpr std::string_view kTokenNames[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                            "sep_token", "cls_token", "mask_token"};

struct Found {
  std::string source;  ///< Empty: there is none.
  chat::SpecialTokens tokens;
};

/// A token's text: a string, or an object with it as "content".
Result<std::string> TokenContent(const JsonView& value) {
  if (value.IsString()) {
    LATTICE_TRY(const std::string_view text, value.String());
    return std::string(text);
  }
  return value.StringOr("content", "");
}

/// chat_template: the text itself, or a list of named ones, of which "default" counts.
Result<std::string> TemplateText(const JsonView& value) {
  if (value.IsString()) {
    LATTICE_TRY(const std::string_view text, value.String());
    return std::string(text);
  }
  LATTICE_TRY(const std::vector<JsonView> items, value.Array());
  for (const JsonView& item : items) {
    LATTICE_TRY(const std::string name, item.StringOr("name", ""));
    if (name == "default") return item.StringOr("template", "");
  }
  return value.Complain("no template named 'default'");
}

Result<Found> InFolder(const fs::path& folder) {
  Found found;
  std::error_code code;
  const fs::path config_file = folder / "tokenizer_config.json";
  if (fs::exists(config_file, code)) {
    LATTICE_TRY(const std::string text, ReadFile(config_file, kMaxFileBytes));
    auto parsed = ParseJson(text);
    if (!parsed) return std::move(parsed).error().Within(config_file.string());
    const JsonView config(*parsed, config_file.string() + ": ");
    for (const std::string_view name : kTokenNames) {
      const auto token = config.Find(name);
      if (!token) continue;
      LATTICE_TRY(std::string content, TokenContent(*token));
      found.tokens.emplace_back(name, std::move(content));
    }
    if (const auto source = config.Find("chat_template")) {
      LATTICE_TRY(found.source, TemplateText(*source));
    }
  }
  const fs::path file = folder / "chat_template.jinja";  // newer files keep it by itself
  if (fs::exists(file, code)) {
    LATTICE_TRY(found.source, ReadFile(file, kMaxFileBytes));
  }
  return found;
}

Result<Found> InGguf(const fs::path& file, const tokenizers::Tokenizer& tokenizer) {
  LATTICE_TRY(const auto checkpoint, weights::Checkpoint::Open(file));
  const weights::GgufMetadata& metadata = *checkpoint->gguf();
  Found found;
  LATTICE_TRY(found.source, metadata.StringOr("tokenizer.chat_template", ""));
  constexpr std::pair<std::string_view, std::string_view> kIds[] = {
      {"bos_token", "tokenizer.ggml.bos_token_id"}, {"eos_token", "tokenizer.ggml.eos_token_id"}};
  for (const auto& [name, key] : kIds) {
    if (!metadata.Has(key)) continue;
    LATTICE_TRY(const std::int64_t id, metadata.GetInt(key));
    if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.vocab_size()) continue;
    const auto text = tokenizer.TokenText(static_cast<TokenId>(id));
    if (text) found.tokens.emplace_back(name, *text);
  }
  return found;
}

}  // namespace

Result<chat::ChatTemplate> OpenChatTemplate(const fs::path& model,
                                            const tokenizers::Tokenizer& tokenizer,
                                            const LogSink& log) {
  LATTICE_TRY(Found found,
              model.extension() == ".gguf" ? InGguf(model, tokenizer) : InFolder(model));
  if (!found.source.empty()) {
    return chat::ChatTemplate::Compile(found.source, std::move(found.tokens));
  }
  if (log) {
    log(LogLevel::kWarning,
        model.string() + " has no chat template; ChatML is used, which it may not know");
  }
  return chat::ChatTemplate::Fallback(std::move(found.tokens));
}

}  // namespace lattice::apps
