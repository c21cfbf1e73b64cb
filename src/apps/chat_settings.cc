#include "apps/chat_settings.h"

#include <charconv>
#include <cstdio>
#include <functional>
#include <type_traits>
#include <vector>

namespace lattice::apps {
namespace {

template <typename Number>
bool ParseNumber(std::string_view text, Number& out) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return false;
  out = value;
  return true;
}

struct Setting {
  const char* name;
  std::function<bool(std::string_view)> parse;
  std::string text;
};

template <typename Number>
Setting MakeSetting(const char* name, Number& number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", static_cast<double>(number));
  if constexpr (std::is_same_v<Number, float>) {
    std::snprintf(text, sizeof(text), "%g", static_cast<double>(number));
  }
  return {name, [&number](std::string_view value) { return ParseNumber(value, number); }, text};
}

std::vector<Setting> NumberSettings(ChatSession& session) {
  engine::GenerationOptions& options = session.generation();
  decoding::SamplingOptions& sampling = options.sampling;
  return {MakeSetting("temperature", sampling.temperature),
          MakeSetting("top-k", sampling.top_k),
          MakeSetting("top-p", sampling.top_p),
          MakeSetting("min-p", sampling.min_p),
          MakeSetting("repetition-penalty", sampling.repetition_penalty),
          MakeSetting("presence-penalty", sampling.presence_penalty),
          MakeSetting("frequency-penalty", sampling.frequency_penalty),
          MakeSetting("seed", sampling.seed),
          MakeSetting("max-tokens", options.max_tokens)};
}

Status SetThinking(std::string_view value, ThinkingOptions& thinking) {
  if (value == "on" || value == "off") {
    thinking.enabled = value == "on";
  } else if (value == "auto") {
    thinking = {};
  } else if (std::size_t budget = 0; ParseNumber(value, budget)) {
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
    known += std::string(setting.name) + ", ";
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
    lines += std::string(setting.name) + " " + setting.text + "\n";
  }
  return lines + "thinking " + ThinkingText(session.thinking()) + "\n";
}

}  // namespace lattice::apps
