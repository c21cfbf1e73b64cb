#include "chat/jinja/printing.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"
#include "chat/jinja/macro.h"

namespace lattice::chat::jinja {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// Whether Python's repr() shows a character as it is.
bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

std::string EscapedScalar(char32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  const int n_digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  std::string out = n_digits == 2 ? "\\x" : n_digits == 4 ? "\\u" : "\\U";
  for (int i = n_digits - 1; i >= 0; --i) out += kHexDigits[(c >> (4 * i)) & 0xF];
  return out;
}

void AppendTextRepr(const Text& text, TextBuilder& out) {
  const std::string_view bytes = text.view();
  const bool single =
      bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos;
  const char quote = single ? '"' : '\'';
  out.Append(std::string_view(&quote, 1));
  std::size_t copied = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Step step = DecodeUtf8(bytes.substr(i));
    const bool quoted = step.scalar == static_cast<char32_t>(quote);
    if (quoted || step.scalar == '\\' || !IsPrintable(step.scalar)) {
      out.Append(text, copied, i);
      out.Append(quoted ? std::string{'\\', quote} : EscapedScalar(step.scalar),
                 text.IsUser(i) ? Origin::kUser : Origin::kTemplate);
      copied = i + step.n_bytes;
    }
    i += step.n_bytes;
  }
  out.Append(text, copied, bytes.size());
  out.Append(std::string_view(&quote, 1));
}

Status AppendItems(Runtime& runtime, const std::vector<Value>& items, TextBuilder& out) {
  for (std::size_t i = 0; i < items.size() && !out.full(); ++i) {
    if (i > 0) out.Append(", ");
    LATTICE_TRY_VOID(AppendRepr(runtime, items[i], out));
  }
  return Ok();
}

Status AppendListRepr(Runtime& runtime, const List& list, TextBuilder& out) {
  std::string_view open = "[", close = "]";
  switch (list.kind) {
    case List::Kind::kList:
      break;
    case List::Kind::kTuple:
      open = "(", close = list.items.size() == 1 ? ",)" : ")";
      break;
    case List::Kind::kGenerator:
      out.Append("<generator object>");
      return Ok();
    case List::Kind::kKeys:
      open = "dict_keys([", close = "])";
      break;
    case List::Kind::kValues:
      open = "dict_values([", close = "])";
      break;
    case List::Kind::kItems:
      open = "dict_items([", close = "])";
      break;
    case List::Kind::kRange: {
      const auto& items = list.items;
      const Int first = items.empty() ? 0 : *items.front().If<Int>();
      const Int step = items.size() < 2 ? 1 : *items[1].If<Int>() - first;
      const Int end = items.empty() ? 0 : *items.back().If<Int>() + step;
      out.Append("range(" + IntToString(first) + ", " + IntToString(end) +
                 (step == 1 ? "" : ", " + IntToString(step)) + ")");
      return Ok();
    }
  }
  out.Append(open);
  LATTICE_TRY_VOID(AppendItems(runtime, list.items, out));
  out.Append(close);
  return Ok();
}

Status AppendDictRepr(Runtime& runtime, const Dict& dict, TextBuilder& out) {
  out.Append("{");
  for (std::size_t i = 0; i < dict.entries.size() && !out.full(); ++i) {
    if (i > 0) out.Append(", ");
    LATTICE_TRY_VOID(AppendRepr(runtime, dict.entries[i].first, out));
    out.Append(": ");
    LATTICE_TRY_VOID(AppendRepr(runtime, dict.entries[i].second, out));
  }
  out.Append("}");
  return Ok();
}

}  // namespace

std::string IntToString(Int value) {
  std::string digits;
  do {
    const int digit = static_cast<int>(value % 10);  // of a negative value: 0 to -9
    digits += static_cast<char>('0' + (value < 0 ? -digit : digit));
    if (value < 0 && value / 10 == 0) digits += '-';
    value /= 10;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string FloatToString(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 400> buffer;
  const double size = std::fabs(value);
  const bool scientific = value != 0 && (size < 1e-4 || size >= 1e16);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  std::string text(buffer.data(), end);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

Status AppendStr(Runtime& runtime, const Value& value, TextBuilder& out) {
  if (value.IsUndefined()) return Ok();
  if (const Text* text = value.text()) {
    out.Append(*text);
    return Ok();
  }
  return AppendRepr(runtime, value, out);
}

Status AppendRepr(Runtime& runtime, const Value& value, TextBuilder& out) {
  LATTICE_TRY_VOID(runtime.Enter());
  Status status = Ok();
  if (value.IsUndefined()) {
    out.Append("Undefined");
  } else if (value.IsNone()) {
    out.Append("None");
  } else if (const bool* flag = value.If<bool>()) {
    out.Append(*flag ? "True" : "False");
  } else if (const Int* integer = value.If<Int>()) {
    out.Append(IntToString(*integer));
  } else if (const double* number = value.If<double>()) {
    out.Append(FloatToString(*number));
  } else if (const Text* text = value.text()) {
    status = runtime.Step(text->size() / 64);
    if (text->is_markup()) out.Append("Markup(");
    if (status) AppendTextRepr(*text, out);
    if (text->is_markup()) out.Append(")");
  } else if (const List* list = value.list()) {
    status = AppendListRepr(runtime, *list, out);
  } else if (const Dict* dict = value.dict()) {
    status = AppendDictRepr(runtime, *dict, out);
  } else if (Namespace* const* scope = value.If<Namespace*>()) {
    out.Append("<Namespace ");
    status = AppendDictRepr(runtime, (*scope)->attributes, out);
    out.Append(">");
  } else if (const Macro* const* macro = value.If<const Macro*>()) {
    out.Append("<Macro '" + std::string(MacroName(**macro)) + "'>");
  } else {
    out.Append("<" + std::string(TypeName(value)) + ">");
  }
  runtime.Leave();
  return status;
}

Result<Text> ToText(Runtime& runtime, const Value& value) {
  if (const Text* text = value.text()) return *text;
  TextBuilder out = runtime.NewText();
  LATTICE_TRY_VOID(AppendStr(runtime, value, out));
  return runtime.Finish(std::move(out));
}

std::string Describe(const Value& value) {
  if (const Text* text = value.text()) {
    TextBuilder out(std::size_t{1} << 10);
    AppendTextRepr(text->Sub(0, text->ByteOfChar(50)), out);
    return std::string(std::move(out).Build().view());
  }
  if (const Int* integer = value.If<Int>()) return IntToString(*integer);
  if (const double* number = value.If<double>()) return FloatToString(*number);
  if (const bool* flag = value.If<bool>()) return *flag ? "True" : "False";
  return value.IsNone() ? "None" : "(" + std::string(TypeName(value)) + ")";
}

}  // namespace lattice::chat::jinja
