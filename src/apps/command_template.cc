#include "apps/command_template.h"

#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/chat_template_files.h"
#include "base/files.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "hub/hub.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

struct Arguments {
  std::string model;
  std::string template_file;
  std::string template_name;
  std::string input;
  bool json = false;
};

/// What a case asks for, in the words of the library.
struct Case {
  chat::Conversation conversation;
  chat::RenderOptions options;
  chat::SpecialTokens special_tokens;
};

// kwargs: tools and the two flags have a place of their own, all others are variables.
Status ReadKwargs(const JsonView& kwargs, Case& out) {
  if (!kwargs.IsObject()) return kwargs.Complain("expected an object");
  LATTICE_TRY(out.options.add_generation_prompt, kwargs.BoolOr("add_generation_prompt", false));
  LATTICE_TRY(out.options.continue_final, kwargs.BoolOr("continue_final_message", false));
  if (const auto tools = kwargs.Find("tools")) {
    if (!tools->IsArray()) return tools->Complain("expected an array");
    out.conversation.tools = tools->value().get_array();
  }
  for (const auto& [key, value] : kwargs.value().get_object()) {
    if (key == "tools" || key == "add_generation_prompt" || key == "continue_final_message") {
      continue;
    }
    out.options.kwargs[key] = value;
  }
  return Ok();
}

// The messages are not checked: what they are worth is the template's to say.
Result<Case> ReadCase(const std::string& file) {
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxFileBytes));
  auto document = ParseJson(text);
  if (!document) return std::move(document).error().Within(file);
  const JsonView root(*document, file + ": ");
  Case out;
  out.options.add_generation_prompt = false;
  LATTICE_TRY(const JsonView list, root.Get("messages"));
  LATTICE_TRY(const std::vector<JsonView> messages, list.Array());
  for (const JsonView& message : messages) {
    if (!message.IsObject()) return message.Complain("expected an object");
    out.conversation.messages.emplace_back(message.value().get_object());
  }
  if (const auto kwargs = root.Find("kwargs")) LATTICE_TRY_VOID(ReadKwargs(*kwargs, out));
  if (const auto tokens = root.Find("special_tokens")) {
    if (!tokens->IsObject()) return tokens->Complain("expected an object");
    for (const auto& [key, unused] : tokens->value().get_object()) {
      const auto token = tokens->Find({key.data(), key.size()});
      if (!token) continue;
      LATTICE_TRY(const std::string_view token_text, token->String());
      out.special_tokens.emplace_back(std::string(key.data(), key.size()), token_text);
    }
  }
  LATTICE_TRY(const std::string now, root.StringOr("now", ""));
  if (!now.empty()) {
    LATTICE_TRY(out.options.now, chat::ParseCivilTime(now));
  }
  return out;
}

// The model's own tokens count where the case names none.
void AddMissing(const chat::SpecialTokens& more, chat::SpecialTokens& tokens) {
  for (const auto& [name, text] : more) {
    bool known = false;
    for (const auto& token : tokens) known = known || token.first == name;
    if (!known) tokens.emplace_back(name, text);
  }
}

Result<chat::ChatTemplate> OpenTemplate(const Arguments& arguments, const AppContext& context,
                                        Case& rendered) {
  if (!arguments.template_file.empty()) {
    LATTICE_TRY(const std::string source, ReadFile(arguments.template_file, kMaxFileBytes));
    auto compiled = chat::ChatTemplate::Compile(source, rendered.special_tokens);
    if (!compiled) return std::move(compiled).error().Within(arguments.template_file);
    return compiled;
  }
  LATTICE_TRY(const hub::ResolvedModel model, hub::Resolve(arguments.model, context.Hub()));
  LATTICE_TRY(
      ModelTemplate found,
      FindModelTemplate(model.path, {.name = arguments.template_name,
                                     .with_tools = rendered.conversation.tools.has_value()}));
  AddMissing(found.tokens, rendered.special_tokens);
  found.tokens = rendered.special_tokens;
  return CompileTemplate(model.path, std::move(found), context.Log());
}

std::string AsJson(const chat::RenderedPrompt& prompt) {
  boost::json::array ranges;
  for (const chat::ByteRange range : prompt.user_ranges) {
    ranges.push_back(boost::json::array{range.begin, range.end});
  }
  return boost::json::serialize(
             boost::json::object{{"text", prompt.text}, {"user_ranges", std::move(ranges)}}) +
         "\n";
}

Status RenderTemplate(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(Case wanted, ReadCase(arguments.input));
  LATTICE_TRY(const chat::ChatTemplate compiled, OpenTemplate(arguments, context, wanted));
  LATTICE_TRY(const chat::RenderedPrompt prompt,
              compiled.Render(wanted.conversation, wanted.options));
  return Print(arguments.json ? AsJson(prompt) : prompt.text);
}

}  // namespace

Action DeclareTemplate(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  auto* source = arguments.add_option_group("source");
  source->add_option("-m,--model", parsed->model, "Folder, .gguf file, known name or OWNER/NAME")
      ->type_name("MODEL");
  auto* file = source->add_option("--template", parsed->template_file, "A template by itself")
                   ->type_name("FILE");
  source->require_option(1);
  arguments
      .add_option("--template-name", parsed->template_name,
                  "Which of the model's templates (tool_use for tools, else default)")
      ->type_name("NAME")
      ->excludes(file);
  arguments
      .add_option("-i,--input", parsed->input,
                  "{\"messages\": [...], \"kwargs\": {\"tools\": [...], "
                  "\"add_generation_prompt\": true, ...}, \"special_tokens\": {...}, "
                  "\"now\": \"2026-01-15T12:34:56\"}")
      ->type_name("CASE.json")
      ->required();
  arguments.add_flag("--json", parsed->json,
                     "The text, and the ranges of its bytes that are user data");
  arguments.footer(
      "\nPrints the prompt and nothing after it. Exit status 1 with the template's own message if "
      "it refuses.\n\nExample:\n  lattice template --model FOLDER --input case.json");
  return [parsed, &context] { return RenderTemplate(*parsed, context); };
}

}  // namespace lattice::apps
