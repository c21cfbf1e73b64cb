#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "chat/jinja/builtins.h"
#include "chat/jinja/characters.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"

namespace lattice::chat::jinja {
namespace {

Result<Value> Default(Runtime&, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("default", arguments, {"default_value", "boolean"}));
  LATTICE_TRY(const bool replace_falsy, bound.BoolOr(1, false));
  if (!subject.IsUndefined() && (!replace_falsy || Truthy(subject))) return subject;
  return bound[0] != nullptr ? *bound[0] : Value(Text());
}

Result<Value> LengthFilter(Runtime&, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("length", arguments, {}));
  LATTICE_TRY(const std::size_t length, Length(subject));
  return Value(static_cast<Int>(length));
}

Result<Value> ToJson(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound,
              Bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  // Jinja2's own filter takes the indent first; nobody writes ensure_ascii without its name.
  const bool indent_first = bound[0] != nullptr && bound[0]->Is<Int>();
  const Value* indent = indent_first ? bound[0] : bound[1];
  JsonFormat format;
  LATTICE_TRY(format.ensure_ascii, indent_first ? Result<bool>(false) : bound.BoolOr(0, false));
  LATTICE_TRY(format.sort_keys, bound.BoolOr(3, false));
  if (indent != nullptr && !indent->IsNone()) {
    constexpr Int kMaxIndent = 100;
    format.item_separator = ",";
    if (const Text* text = indent->text()) {
      if (text->size() > kMaxIndent) return Fault("tojson: the indent is too long");
      format.indent = std::string(text->view());
    } else if (const Int* n = indent->If<Int>()) {
      if (*n > kMaxIndent) return Fault("tojson: an indent is at most 100");
      format.indent = std::string(static_cast<std::size_t>(std::max<Int>(*n, 0)), ' ');
    } else {
      return Fault("tojson: the indent must be an int or a str");
    }
  }
  if (bound[2] != nullptr && !bound[2]->IsNone()) {
    LATTICE_TRY(const std::vector<Value> pair, Iterate(runtime, *bound[2]));
    if (pair.size() != 2 || !pair[0].IsString() || !pair[1].IsString() ||
        pair[0].text()->size() + pair[1].text()->size() > 200) {
      return Fault("tojson: the separators must be two short strings");
    }
    format.item_separator = std::string(pair[0].text()->view());
    format.key_separator = std::string(pair[1].text()->view());
  }
  TextBuilder out = runtime.NewText();
  LATTICE_TRY_VOID(AppendJson(runtime, subject, format, out));
  LATTICE_TRY(Text text, runtime.Finish(std::move(out)));
  return Value(std::move(text));
}

Result<Value> Abs(Runtime&, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY_VOID(Bind("abs", arguments, {}));
  if (const double* number = subject.If<double>()) return Value(std::fabs(*number));
  if (!subject.IsNumber()) {
    return Fault("bad operand type for abs(): '" + std::string(TypeName(subject)) + "'");
  }
  LATTICE_TRY(const Value integer, Positive(subject));
  return *integer.If<Int>() < 0 ? Negate(integer) : integer;
}

// A decimal number with space around it, or nothing.
std::optional<double> ReadDouble(std::string_view text) {
  text = StripLeft(StripRight(text));
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<Int> ReadInt(std::string_view text, Int base) {
  text = StripLeft(StripRight(text));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  Int value = 0;
  for (const char c : text) {
    Int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') digit = (c | 0x20) - 'a' + 10;
    if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return negative ? -value : value;
}

std::optional<Int> Truncated(double value) {
  if (!(std::fabs(value) < 1e37)) return std::nullopt;  // not what an Int holds, or no number
  return static_cast<Int>(value);
}

Result<Value> ToInt(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("int", arguments, {"default", "base"}));
  LATTICE_TRY(const Int base, bound.IntOr(1, 10));
  if (base < 2 || base > 36) return Fault("int: the base must be 2 to 36");
  std::optional<Int> value;
  if (subject.IsUndefined()) return UndefinedFault(subject);
  if (const Text* text = subject.text()) {
    LATTICE_TRY_VOID(runtime.Step(text->size() / 16));
    value = ReadInt(text->view(), base);
    if (!value && base == 10) {
      if (const auto real = ReadDouble(text->view())) value = Truncated(*real);
    }
  } else if (const double* number = subject.If<double>()) {
    value = Truncated(*number);
  } else if (subject.IsNumber()) {
    return Positive(subject);
  }
  if (value) return Value(*value);
  return bound[0] != nullptr ? *bound[0] : Value(Int{0});
}

Result<Value> ToFloat(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("float", arguments, {"default"}));
  if (subject.IsUndefined()) return UndefinedFault(subject);
  if (subject.Is<double>()) return subject;
  if (const Int* integer = subject.If<Int>()) return Value(static_cast<double>(*integer));
  if (const bool* flag = subject.If<bool>()) return Value(*flag ? 1.0 : 0.0);
  if (const Text* text = subject.text()) {
    LATTICE_TRY_VOID(runtime.Step(text->size() / 16));
    if (const auto real = ReadDouble(text->view())) return Value(*real);
  }
  return bound[0] != nullptr ? *bound[0] : Value(0.0);
}

Result<Value> Round(Runtime&, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("round", arguments, {"precision", "method"}));
  LATTICE_TRY(const Int precision, bound.IntOr(0, 0));
  LATTICE_TRY(const Text method, bound.TextOr(1, "common"));
  if (!subject.IsNumber()) return Fault("round: a number is needed");
  if (precision < -300 || precision > 300) return Fault("round: the precision is out of range");
  const double* real = subject.If<double>();
  if (real == nullptr && method.view() == "common" && precision >= 0) return Positive(subject);
  LATTICE_TRY(const Value integer, real != nullptr ? Result<Value>(Int{0}) : Positive(subject));
  const double value = real != nullptr ? *real : static_cast<double>(*integer.If<Int>());
  const double scale = std::pow(10.0, static_cast<double>(precision));
  double scaled = value * scale;
  if (method.view() == "ceil") {
    scaled = std::ceil(scaled);
  } else if (method.view() == "floor") {
    scaled = std::floor(scaled);
  } else if (method.view() == "common") {
    scaled = std::nearbyint(scaled);  // halves to even, as Python rounds
  } else {
    return Fault("round: the method must be common, ceil or floor");
  }
  const double rounded = scaled / scale;
  return Value(std::isfinite(rounded) ? rounded : value);
}

Result<Value> Attr(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  LATTICE_TRY(const Bound bound, Bind("attr", arguments, {"name"}, 1));
  LATTICE_TRY(const Text name, bound.TextOr(0, ""));
  if (subject.dict() != nullptr && subject.dict()->Find(name.view()) != nullptr) {
    return runtime.MakeUndefined("'dict object' has no attribute '" + std::string(name.view()) +
                                 "'");
  }
  return GetAttr(runtime, subject, name.view());
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"default", Default}, {"d", Default}, {"length", LengthFilter}, {"count", LengthFilter},
    {"tojson", ToJson},   {"abs", Abs},   {"int", ToInt},           {"float", ToFloat},
    {"round", Round},     {"attr", Attr},
};

}  // namespace

Filter FindValueFilter(std::string_view name) {
  for (const auto& [known, filter] : kFilters) {
    if (known == name) return filter;
  }
  return nullptr;
}

Filter FindFilter(std::string_view name) {
  for (const auto find : {FindValueFilter, FindStringFilter, FindListFilter, FindSelectFilter}) {
    if (const Filter filter = find(name)) return filter;
  }
  return nullptr;
}

Result<Value> ApplyFilter(Runtime& runtime, std::string_view name, const Value& subject,
                          const Arguments& arguments) {
  const Filter filter = FindFilter(name);
  if (filter == nullptr) return Fault("no filter named '" + std::string(name) + "'");
  LATTICE_TRY_VOID(
      runtime.Enter());  // map("map", "map", ...) nests without any nesting in the text
  Result<Value> result = filter(runtime, subject, arguments);
  runtime.Leave();
  return result;
}

}  // namespace lattice::chat::jinja
