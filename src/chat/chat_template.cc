#include "chat/chat_template.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "chat/continuation.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/json_value.h"

namespace lattice::chat {
namespace {

using jinja::Origin;
using jinja::Value;

constexpr std::string_view kChatMl = R"({#- ChatML, for models that bring no template -#}
{%- macro text_of(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content is iterable -%}
    {%- for part in content -%}{{- part.text if part.text is defined -}}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- set own_system = messages and messages[0].role == 'system' -%}
{%- if own_system or tools -%}
  {{- '<|im_start|>system\n' -}}
  {%- if own_system -%}{{- text_of(messages[0].content) -}}{%- endif -%}
  {%- if tools -%}
    {{- ('\n\n' if own_system else '') + 'You may call these functions:\n' -}}
    {%- for tool in tools -%}{{- tool | tojson + '\n' -}}{%- endfor -%}
    {{- 'To call one, answer with <tool_call>{"name": ..., "arguments": {...}}</tool_call>.' -}}
  {%- endif -%}
  {{- '<|im_end|>\n' -}}
{%- endif -%}
{%- for message in (messages[1:] if own_system else messages) -%}
  {%- set result = message.role == 'tool' -%}
  {{- '<|im_start|>' + ('user' if result else message.role) + '\n' -}}
  {{- '<tool_response>' if result -}}
  {{- text_of(message.content) -}}
  {{- '</tool_response>' if result -}}
  {%- for call in message.tool_calls or [] -%}
    {{- '\n<tool_call>' + ({'name': call.function.name, 'arguments': call.function.arguments} | tojson) -}}
    {{- '</tool_call>' -}}
  {%- endfor -%}
  {{- '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%})";

jinja::CivilTime LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  localtime_r(&now, &fields);
  return {fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,
          fields.tm_hour,        fields.tm_min,     fields.tm_sec};
}

// The messages as the template sees them; the last one with the tag that continue_final looks for.
Result<Value> MessagesValue(const Conversation& conversation, const RenderOptions& options,
                            std::size_t& n_bytes) {
  auto list = std::make_shared<jinja::List>();
  for (const Message& message : conversation.messages) {
    list->items.push_back(jinja::FromJson(
        options.parse_arguments ? message.WithParsedArguments().json() : message.json(),
        Origin::kUser, n_bytes));
    list->depth = std::max(list->depth, list->items.back().depth() + 1);
  }
  if (options.continue_final) {
    if (list->items.empty()) {
      return Error{ErrorCode::kInvalidArgument, "there is no last message to continue"};
    }
    LATTICE_TRY(list->items.back(), WithContinuationTag(list->items.back()));
  }
  return Value(jinja::ListRef(std::move(list)));
}

}  // namespace

Result<ChatTemplate> ChatTemplate::Compile(std::string_view source, SpecialTokens special_tokens,
                                           const jinja::Limits& limits) {
  auto compiled = jinja::Template::Parse(source, limits);
  if (!compiled) return std::move(compiled).error().Within("chat template");
  return ChatTemplate(std::move(compiled).value(), std::string(source), std::move(special_tokens));
}

ChatTemplate ChatTemplate::Fallback(SpecialTokens special_tokens) {
  return Compile(kChatMl, std::move(special_tokens)).value();
}

Status ChatTemplate::AddKwargs(const boost::json::object& kwargs,
                               jinja::Variables& variables) const {
  constexpr std::array<std::string_view, 4> kReserved = {
      "messages", "tools", "add_generation_prompt", "continue_final_message"};
  for (const auto& [key, value] : kwargs) {
    const std::string name(key.data(), key.size());
    const bool is_token = std::any_of(special_tokens_.begin(), special_tokens_.end(),
                                      [&](const auto& token) { return token.first == name; });
    if (is_token || jinja::FindFunction(name) != nullptr ||
        std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
      return Error{ErrorCode::kInvalidArgument, "the template variable '" + name + "' is reserved"};
    }
    variables.values.emplace_back(name, jinja::FromJson(value, Origin::kUser, variables.n_bytes));
  }
  return Ok();
}

Result<RenderedPrompt> ChatTemplate::Render(const Conversation& conversation,
                                            const RenderOptions& options) const {
  if (options.continue_final && options.add_generation_prompt) {
    return Error{ErrorCode::kInvalidArgument,
                 "a prompt either continues the last message or begins a new answer"};
  }
  jinja::Variables variables;
  auto& values = variables.values;
  LATTICE_TRY(Value messages, MessagesValue(conversation, options, variables.n_bytes));
  values.emplace_back("messages", std::move(messages));
  values.emplace_back("tools",
                      conversation.tools
                          ? jinja::FromJson(*conversation.tools, Origin::kUser, variables.n_bytes)
                          : Value(jinja::None{}));
  values.emplace_back("documents", Value(jinja::None{}));
  values.emplace_back("add_generation_prompt", Value(options.add_generation_prompt));
  for (const auto& [name, text] : special_tokens_) values.emplace_back(name, Value::Str(text));
  LATTICE_TRY_VOID(AddKwargs(options.kwargs, variables));
  if (options.enable_thinking) {
    values.emplace_back("enable_thinking", Value(*options.enable_thinking));
  }
  LATTICE_TRY(jinja::Text prompt,
              template_.Run(variables, options.now ? *options.now : LocalTime(), "chat template"));
  if (options.continue_final) {
    LATTICE_TRY(prompt, CutAtContinuationTag(prompt));
  }
  const auto ranges = prompt.user_ranges();
  return RenderedPrompt{std::string(prompt.view()), {ranges.begin(), ranges.end()}};
}

Result<jinja::CivilTime> ParseCivilTime(std::string_view text) {
  const Error error{ErrorCode::kInvalidArgument, "'" + std::string(text.substr(0, 40)) +
                                                     "' is no time like 2026-01-15T12:34:56"};
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kShape.size()) return error;
  std::array<int, 6> fields{};
  std::size_t field = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !is_digit : text[i] != kShape[i]) return error;
    if (is_digit) fields[field] = fields[field] * 10 + (text[i] - '0');
    if (!is_digit) ++field;
  }
  const auto [year, month, day, hour, minute, second] = fields;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      second > 59) {
    return error;
  }
  return jinja::CivilTime{year, month, day, hour, minute, second};
}

}  // namespace lattice::chat
