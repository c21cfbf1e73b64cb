#include "apps/chat_settings.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "apps/number_flags.h"
#include "apps/sampling_flags.h"

namespace lattice::apps {
namespace {

struct Setting {
  std::string name;
  std::function<bool(std::string_view)> parse;
  std::string text;
};

std::string Text(float value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%g", static_cast<double>(value));
  return text;
}
std::string Text(std::uint64_t value) { return std::to_string(value); }

template <typename Number>
Setting MakeSetting(const char* name, Number& number) {
  const auto parse = [&number](std::string_view text) {
    const auto value = ReadNumber<Number>(text);
    if (value) number = *value;
    return value.has_value();
  };
  return {name, parse, Text(number)};
}

std::vector<Setting> NumberSettings(ChatSession& session) {
  engine::GenerationOptions& options = session.generation();
  std::vector<Setting> settings;
  for (const SamplingNumber& row : SamplingNumbers()) {
    settings.push_back(MakeSetting(row.name, options.sampling.*row.field));
  }
  for (const SamplingCount& row : SamplingCounts()) {
    settings.push_back(MakeSetting(row.name, options.sampling.*row.field));
  }
  settings.push_back(MakeSetting("seed", options.sampling.seed));
  settings.push_back(MakeSetting("max-tokens", options.max_tokens));
  return settings;
}

Status SetThinking(std::string_view value, ThinkingOptions& thinking) {
  if (value == "on" || value == "off") {
    thinking.enabled = value == "on";
  } else if (value == "auto") {
    thinking = {};
  } else if (const auto budget = ReadNumber<std::size_t>(value)) {
    thinking.budget = budget;
  } else {
    return Error{ErrorCode::kInvalidArgument, "thinking is on, off, auto or a number of tokens"};
  }
  return Ok();
}

std::string ThinkingText(const ThinkingOptions& thinking) {
  std::string text = !thinking.enabled ? "auto" : *thinking.enabled ? "on" : "off";
  if (thinking.budget) text += ", at most " + std::to_string(*thinking.budget) + " tokens";
  return text;
}

}  // namespace

Status ChangeSetting(std::string_view name, std::string_view value, ChatSession& session) {
  if (name == "thinking") return SetThinking(value, session.thinking());
  std::string known;
  for (const Setting& setting : NumberSettings(session)) {
    known += setting.name + ", ";
    if (setting.name != name) continue;
    const decoding::SamplingOptions before = session.generation().sampling;
    if (!setting.parse(value)) {
      return Error{ErrorCode::kInvalidArgument,
                   std::string(name) + ": '" + std::string(value) + "' is not such a number"};
    }
    Status checked =
        decoding::CheckSamplingOptions(session.generation().sampling, session.n_tokens());
    if (!checked) session.generation().sampling = before;
    return checked;
  }
  return Error{ErrorCode::kInvalidArgument,
               "no setting '" + std::string(name) + "'; there are " + known + "thinking"};
}

std::string SettingLines(ChatSession& session) {
  std::string lines;
  for (const Setting& setting : NumberSettings(session)) {
    lines += setting.name + " " + setting.text + "\n";
  }
  return lines + "thinking " + ThinkingText(session.thinking()) + "\n";
}

}  // namespace lattice::apps
