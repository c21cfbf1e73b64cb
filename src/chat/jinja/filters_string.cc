#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/characters.h"
#include "chat/jinja/escape.h"
#include "chat/jinja/format.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

// Filters named like methods of str, which take any value as str(value).
template <const char* kName>
Result<Value> AsMethod(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  return FindStringMethod(kName)(runtime, text, arguments);
}
constexpr char kLower[] = "lower", kUpper[] = "upper", kCapitalize[] = "capitalize";

Result<Value> Trim(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("trim", arguments, {"chars"}));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  if (bound[0] == nullptr || bound[0]->IsNone()) {
    return StripText(runtime, text, nullptr, Side::kBoth);
  }
  LATTICE_TRY(const Text characters, bound.TextOr(0, ""));
  return StripText(runtime, text, &characters, Side::kBoth);
}

Result<Value> Title(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("title", arguments, {}));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  // Words begin behind space, hyphens and opening brackets.
  constexpr std::string_view kOpeners = "-({[<";
  TextBuilder out = runtime.NewText();
  std::size_t begin = 0;
  bool at_word = true;
  const auto append = [&](std::size_t end) -> Status {
    if (begin == end) return Ok();
    LATTICE_TRY(const Value word, FindCaseMethod("capitalize")(runtime, text.Sub(begin, end), {}));
    out.Append(*word.text());
    begin = end;
    return Ok();
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = DecodeUtf8(text.view().substr(at));
    const bool divides = IsPythonSpace(step.scalar) ||
                         (step.scalar < 0x80 &&
                          kOpeners.find(static_cast<char>(step.scalar)) != std::string_view::npos);
    if (divides == at_word) LATTICE_TRY_VOID(append(at));
    at_word = !divides;
    at += step.n_bytes;
  }
  LATTICE_TRY_VOID(append(text.size()));
  LATTICE_TRY(Text titled, runtime.Finish(std::move(out)));
  return Value(std::move(titled));
}

Result<Value> String(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("string", arguments, {}));
  LATTICE_TRY(Text text, ToText(runtime, subject));
  return Value(std::move(text));
}

Result<Value> Replace(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("replace", arguments, {"old", "new", "count"}, 2));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  LATTICE_TRY(const Text from, ToText(runtime, *bound[0]));
  LATTICE_TRY(const Text to, ToText(runtime, *bound[1]));
  const bool all = bound[2] == nullptr || bound[2]->IsNone();
  LATTICE_TRY(const Int count, all ? Result<Int>(Int{-1}) : bound.IntOr(2, -1));
  return ReplaceText(runtime, text, from, to, count);
}

Result<Value> Safe(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("safe", arguments, {}));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  return Value(text.AsMarkup(true));
}

Result<Value> ForceEscape(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("escape", arguments, {}));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  TextBuilder out = runtime.NewText();
  AppendEscaped(text, out);
  LATTICE_TRY(const Text escaped, runtime.Finish(std::move(out)));
  return Value(escaped.AsMarkup(true));
}

Result<Value> Escape(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  if (subject.IsString() && subject.text()->is_markup()) return subject;
  return ForceEscape(runtime, subject, arguments);
}

Result<Value> Format(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    return Fault("format: give values by place or by name, not both");
  }
  if (!arguments.named.empty()) {
    Dict names;
    for (const auto& [name, value] : arguments.named) names.Set(Value::Str(name), value);
    LATTICE_TRY(const Value values, runtime.MakeDict(std::move(names)));
    return PercentFormat(runtime, text, values);
  }
  LATTICE_TRY(const Value values, runtime.MakeList(arguments.positional, List::Kind::kTuple));
  return PercentFormat(runtime, text, values);
}

Result<Value> Indent(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("indent", arguments, {"width", "first", "blank"}));
  LATTICE_TRY(const bool first, bound.BoolOr(1, false));
  LATTICE_TRY(const bool blank, bound.BoolOr(2, false));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  Text margin;
  if (bound[0] != nullptr && bound[0]->IsString()) {
    margin = *bound[0]->text();
  } else {
    LATTICE_TRY(const Int width, bound.IntOr(0, 4));
    if (width > 10'000) return Fault("indent: the width is too large");
    margin = Text(std::string(static_cast<std::size_t>(std::max<Int>(width, 0)), ' '));
  }
  TextBuilder out = runtime.NewText();
  std::size_t begin = 0;
  while (!out.full()) {
    LATTICE_TRY_VOID(runtime.Step());
    const std::size_t end = std::min(text.view().find('\n', begin), text.size());
    if (begin == 0 ? first : (blank || end > begin)) out.Append(margin);
    out.Append(text, begin, end);
    if (end == text.size()) break;
    out.Append(text, end, end + 1);
    begin = end + 1;
  }
  LATTICE_TRY(Text indented, runtime.Finish(std::move(out)));
  return Value(std::move(indented));
}

Result<Value> Truncate(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound,
              Bind("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  LATTICE_TRY(const Int length, bound.IntOr(0, 255));
  LATTICE_TRY(const bool kill_words, bound.BoolOr(1, false));
  LATTICE_TRY(const Text end, bound.TextOr(2, "..."));
  LATTICE_TRY(const Int leeway, bound.IntOr(3, 5));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  const Int n_end = static_cast<Int>(end.n_chars());
  if (length < n_end || leeway < 0) return Fault("truncate: the length is too short");
  // Not length + leeway, which may be too large for an Int.
  if (static_cast<Int>(text.n_chars()) - length <= leeway) return Value(text);
  LATTICE_TRY_VOID(runtime.Step(text.size() / 32));
  Text kept = text.Sub(0, text.ByteOfChar(static_cast<std::size_t>(length - n_end)));
  if (!kill_words) kept = kept.Sub(0, std::min(kept.view().rfind(' '), kept.size()));
  TextBuilder out = runtime.NewText();
  out.Append(kept);
  out.Append(end);
  LATTICE_TRY(Text truncated, runtime.Finish(std::move(out)));
  return Value(std::move(truncated));
}

Result<Value> Center(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("center", arguments, {"width"}));
  LATTICE_TRY(const Int width, bound.IntOr(0, 80));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  return PadText(runtime, text, width, Text(" "), true, true);
}

Result<Value> WordCount(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("wordcount", arguments, {}));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  LATTICE_TRY_VOID(runtime.Step(text.size() / 16));
  Int count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = DecodeUtf8(text.view().substr(at));
    const bool is_word = IsWordCharacter(step.scalar);
    count += is_word && !in_word ? 1 : 0;
    in_word = is_word;
    at += step.n_bytes;
  }
  return Value(count);
}

Result<Value> UrlEncode(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("urlencode", arguments, {}));
  LATTICE_TRY(const Text text, ToText(runtime, subject));
  constexpr char kHexDigits[] = "0123456789ABCDEF";
  TextBuilder out = runtime.NewText();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text.view()[i]);
    const bool plain =
        (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
    if (plain || std::string_view("_.-~/").find(text.view()[i]) != std::string_view::npos) {
      out.Append(text, i, i + 1);
    } else {
      const char escape[] = {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
      out.Append(std::string_view(escape, 3), text.IsUser(i) ? Origin::kUser : Origin::kTemplate);
    }
  }
  LATTICE_TRY(Text encoded, runtime.Finish(std::move(out)));
  return Value(std::move(encoded));
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"lower", AsMethod<kLower>},
    {"upper", AsMethod<kUpper>},
    {"capitalize", AsMethod<kCapitalize>},
    {"title", Title},
    {"trim", Trim},
    {"string", String},
    {"replace", Replace},
    {"safe", Safe},
    {"escape", Escape},
    {"e", Escape},
    {"forceescape", ForceEscape},
    {"format", Format},
    {"indent", Indent},
    {"truncate", Truncate},
    {"center", Center},
    {"wordcount", WordCount},
    {"urlencode", UrlEncode},
};

}  // namespace

Filter FindStringFilter(std::string_view name) {
  for (const auto& [known, filter] : kFilters) {
    if (known == name) return filter;
  }
  return nullptr;
}

}  // namespace lattice::chat::jinja
