#include "chat/jinja/format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/format_spec.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"
#include "chat/jinja/search.h"

namespace lattice::chat::jinja {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number at `at`, which moves behind it; absent when there is none.
Result<std::optional<std::size_t>> ReadNumber(std::string_view text, std::size_t& at) {
  if (at >= text.size() || !IsDigit(text[at])) return std::optional<std::size_t>();
  std::size_t number = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    number = number * 10 + static_cast<std::size_t>(text[at] - '0');
    if (number > kMaxFormatWidth) {
      return Fault("a format asks for more than " + std::to_string(kMaxFormatWidth) + " places");
    }
  }
  return std::optional<std::size_t>(number);
}

/// Walks over "...%s..." and its values.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& format, const Value& values)
      : runtime_(runtime), format_(format), values_(values), out_(runtime.NewText()) {
    const List* list = values.list();
    if (list != nullptr && list->kind == List::Kind::kTuple) tuple_ = list;
  }

  Result<Value> Run() {
    const std::string_view bytes = format_.view();
    std::size_t at = 0;
    while (true) {
      const std::size_t percent = FindBytes(bytes, "%", at);
      out_.Append(format_, at, std::min(percent, bytes.size()));
      if (percent == kNotFound) break;
      at = percent + 1;
      LATTICE_TRY_VOID(runtime_.Step());
      LATTICE_TRY_VOID(FormatOne(at));
    }
    // Python takes whatever has keys or indices for a mapping that nobody need ask.
    const bool is_mapping = values_.dict() != nullptr || (values_.list() != nullptr && !tuple_);
    const bool used_all =
        tuple_ != nullptr ? n_used_ >= tuple_->items.size() : n_used_ > 0 || is_mapping;
    if (!used_all) return Fault("not all arguments converted during string formatting");
    LATTICE_TRY(const Text text, runtime_.Finish(std::move(out_)));
    return Value(text.AsMarkup(format_.is_markup()));
  }

 private:
  Result<Value> NextValue() {
    if (tuple_ == nullptr && n_used_ == 0) {
      ++n_used_;
      return values_;
    }
    if (tuple_ == nullptr || n_used_ >= tuple_->items.size()) {
      return Fault("not enough arguments for format string");
    }
    return tuple_->items[n_used_++];
  }

  // What stands behind a percent sign.
  Status FormatOne(std::size_t& at) {
    const std::string_view bytes = format_.view();
    std::optional<Value> named;
    if (at < bytes.size() && bytes[at] == '(') {
      const std::size_t end = FindBytes(bytes, ")", at);
      if (end == kNotFound) return Fault("incomplete format key");
      if (values_.dict() == nullptr) return Fault("format requires a mapping");
      const Value* found = values_.dict()->Find(bytes.substr(at + 1, end - at - 1));
      if (found == nullptr) return Fault("the format names a key that is missing");
      named = *found;
      at = end + 1;
    }
    FormatSpec spec;
    for (; at < bytes.size(); ++at) {
      if (bytes[at] == '-')
        spec.align = '<';
      else if (bytes[at] == '+')
        spec.sign = '+';
      else if (bytes[at] == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (bytes[at] == '#')
        spec.alternate = true;
      else if (bytes[at] == '0')
        spec.fill = "0";
      else
        break;
    }
    LATTICE_TRY(const auto width, ReadNumber(bytes, at));
    spec.width = width.value_or(0);
    if (at < bytes.size() && bytes[at] == '.') {
      LATTICE_TRY(const auto precision, ReadNumber(bytes, ++at));
      spec.precision = precision.value_or(0);
    }
    if (at >= bytes.size()) return Fault("incomplete format");
    const char letter = bytes[at++];
    if (letter == '%') {
      out_.Append("%");
      return Ok();
    }
    LATTICE_TRY(Value value, named ? Result<Value>(*named) : NextValue());
    return AppendValue(value, letter, spec);
  }

  Status AppendValue(Value value, char letter, FormatSpec spec) {
    constexpr std::string_view kNumeric = "diuoxXeEfFgG";
    if (kNumeric.find(letter) != std::string_view::npos) {
      if (!value.IsNumber()) {
        return Fault("%" + std::string(1, letter) + " format: a number is required, not " +
                     std::string(TypeName(value)));
      }
      const double* number = value.If<double>();
      const bool integral = kNumeric.find(letter) < 6;
      if (number != nullptr && integral) {
        if (!(*number > -1e18 && *number < 1e18)) return Fault("a number is too large for %d");
        value = Value(static_cast<Int>(*number));
      }
      if (integral) spec.precision.reset();
      spec.type = letter == 'i' || letter == 'u' ? 'd' : letter;
      if (spec.align == '\0' && spec.fill == "0") spec.align = '=';
      if (spec.align == '<') spec.fill = " ";
      return AppendFormatted(runtime_, value, spec, out_);
    }
    spec.fill = " ";
    if (spec.align == '\0') spec.align = '>';
    if (letter == 'c') {
      spec.type = value.IsString() ? 's' : 'c';
      return AppendFormatted(runtime_, value, spec, out_);
    }
    if (letter != 's' && letter != 'r') {
      return Fault("unsupported format character '" + std::string(1, letter) + "'");
    }
    spec.type = 's';
    if (letter == 's') return AppendFormatted(runtime_, value, spec, out_);
    TextBuilder shown = runtime_.NewText();
    LATTICE_TRY_VOID(AppendRepr(runtime_, value, shown));
    LATTICE_TRY(Text text, runtime_.Finish(std::move(shown)));
    return AppendFormatted(runtime_, Value(std::move(text)), spec, out_);
  }

  Runtime& runtime_;
  const Text& format_;
  const Value& values_;
  const List* tuple_ = nullptr;
  std::size_t n_used_ = 0;
  TextBuilder out_;
};

// [[fill]align][sign][#][0][width][,][.precision][type]
Result<FormatSpec> ReadSpec(std::string_view text) {
  FormatSpec spec;
  std::size_t at = 0;
  constexpr std::string_view kAligns = "<>^=";
  const std::size_t first = text.empty() ? 0 : DecodeUtf8(text).n_bytes;
  if (first < text.size() && kAligns.find(text[first]) != std::string_view::npos) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && kAligns.find(text[0]) != std::string_view::npos) {
    spec.align = text[0];
    at = 1;
  }
  const auto skip = [&](char c) {
    const bool is = at < text.size() && text[at] == c;
    at += is ? 1 : 0;
    return is;
  };
  for (const char sign : {'+', ' ', '-'}) {
    if (skip(sign)) {
      spec.sign = sign;
      break;
    }
  }
  spec.alternate = skip('#');
  if (skip('0') && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  LATTICE_TRY(const auto width, ReadNumber(text, at));
  spec.width = width.value_or(0);
  spec.commas = skip(',');
  if (skip('.')) {
    LATTICE_TRY(spec.precision, ReadNumber(text, at));
    if (!spec.precision) return Fault("format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) return Fault("invalid format specifier");
  return spec;
}

/// Walks over "...{}..." and its arguments.
class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Text& format, const Arguments& arguments)
      : runtime_(runtime), format_(format), arguments_(arguments), out_(runtime.NewText()) {}

  Result<Value> Run() {
    const std::string_view bytes = format_.view();
    std::size_t copied = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      if (bytes[at] != '{' && bytes[at] != '}') {
        ++at;
        continue;
      }
      LATTICE_TRY_VOID(runtime_.Step());
      out_.Append(format_, copied, at);
      if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {  // a doubled brace is one
        out_.Append(format_, at, at + 1);
        at += 2;
      } else if (bytes[at] == '}') {
        return Fault("single '}' encountered in format string");
      } else {
        const std::size_t end = FindBytes(bytes, "}", at);
        if (end == kNotFound) return Fault("expected '}' before end of string");
        LATTICE_TRY_VOID(FormatField(bytes.substr(at + 1, end - at - 1)));
        at = end + 1;
      }
      copied = at;
    }
    out_.Append(format_, copied, bytes.size());
    LATTICE_TRY(const Text text, runtime_.Finish(std::move(out_)));
    return Value(text.AsMarkup(format_.is_markup()));
  }

 private:
  // name!conversion:spec
  Status FormatField(std::string_view field) {
    const std::size_t colon = field.find(':');
    std::string_view name = field.substr(0, colon);
    if (name.find('{') != std::string_view::npos || field.find('{') != std::string_view::npos) {
      return Fault("nested format fields are not supported");
    }
    char conversion = 's';
    const bool converts = name.size() >= 2 && name[name.size() - 2] == '!';
    if (converts) {
      conversion = name.back();
      name.remove_suffix(2);
      if (conversion != 'r' && conversion != 's') return Fault("unknown conversion in format");
    }
    LATTICE_TRY(Value value, FindField(name));
    if (value.IsUndefined()) value = Value(Text());
    if (converts) {
      TextBuilder shown = runtime_.NewText();
      LATTICE_TRY_VOID(conversion == 'r' ? AppendRepr(runtime_, value, shown)
                                         : AppendStr(runtime_, value, shown));
      LATTICE_TRY(Text text, runtime_.Finish(std::move(shown)));
      value = Value(std::move(text));
    }
    LATTICE_TRY(
        const FormatSpec spec,
        ReadSpec(colon == std::string_view::npos ? std::string_view() : field.substr(colon + 1)));
    return AppendFormatted(runtime_, value, spec, out_);
  }

  Result<Value> FindArgument(std::string_view name) {
    std::size_t at = 0;
    LATTICE_TRY(const auto number, ReadNumber(name, at));
    if (name.empty() || (number && at == name.size())) {
      const std::size_t index = name.empty() ? n_used_++ : *number;
      if (index < arguments_.positional.size()) return arguments_.positional[index];
      return Fault("replacement index " + std::to_string(index) +
                   " out of range for positional arguments");
    }
    const auto found = std::find_if(arguments_.named.begin(), arguments_.named.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (found == arguments_.named.end()) {
      return Fault("format names '" + std::string(name) + "', which is no argument");
    }
    return found->second;
  }

  // argument.attribute[key]...
  Result<Value> FindField(std::string_view path) {
    std::size_t at = std::min(path.find_first_of(".["), path.size());
    LATTICE_TRY(Value value, FindArgument(path.substr(0, at)));
    while (at < path.size()) {
      if (path[at] == '.') {
        const std::size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
        LATTICE_TRY(value, GetAttr(runtime_, value, path.substr(at + 1, end - at - 1)));
        at = end;
        continue;
      }
      const std::size_t end = path.find(']', at);
      if (path[at] != '[' || end == std::string_view::npos) return Fault("malformed format field");
      const std::string_view key = path.substr(at + 1, end - at - 1);
      std::size_t digits = 0;
      LATTICE_TRY(const auto number, ReadNumber(key, digits));
      const bool is_index = number && digits == key.size();
      LATTICE_TRY(value, GetItem(runtime_, value,
                                 is_index ? Value(static_cast<Int>(*number)) : Value::Str(key)));
      at = end + 1;
    }
    return value;
  }

  Runtime& runtime_;
  const Text& format_;
  const Arguments& arguments_;
  std::size_t n_used_ = 0;
  TextBuilder out_;
};

}  // namespace

Result<Value> PercentFormat(Runtime& runtime, const Text& format, const Value& values) {
  return PercentFormatter(runtime, format, values).Run();
}

Result<Value> BraceFormat(Runtime& runtime, const Text& format, const Arguments& arguments) {
  return BraceFormatter(runtime, format, arguments).Run();
}

}  // namespace lattice::chat::jinja
