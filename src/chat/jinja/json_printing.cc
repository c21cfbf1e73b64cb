#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"

namespace lattice::chat::jinja {
namespace {

void AppendUnit(char32_t unit, std::string& out) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int i = 3; i >= 0; --i) out += kHexDigits[(unit >> (4 * i)) & 0xF];
}

// How JSON spells a character that cannot stand for itself; empty when it can.
std::string JsonEscape(char32_t c, bool ensure_ascii) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      break;
  }
  std::string out;
  if (c >= 0x20 && (!ensure_ascii || c < 0x7F)) return out;
  if (c >= 0x10000) {
    AppendUnit(0xD800 + ((c - 0x10000) >> 10), out);
    AppendUnit(0xDC00 + ((c - 0x10000) & 0x3FF), out);
  } else {
    AppendUnit(c, out);
  }
  return out;
}

void AppendJsonString(const Text& text, bool ensure_ascii, TextBuilder& out) {
  out.Append("\"");
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size() && !out.full();) {
    const Utf8Step step = DecodeUtf8(text.view().substr(i));
    if (const std::string escape = JsonEscape(step.scalar, ensure_ascii); !escape.empty()) {
      out.Append(text, copied, i);
      out.Append(escape, text.IsUser(i) ? Origin::kUser : Origin::kTemplate);
      copied = i + step.n_bytes;
    }
    i += step.n_bytes;
  }
  out.Append(text, copied, text.size());
  out.Append("\"");
}

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return FloatToString(value);
}

/// One document; the members stay the same on all its levels.
class JsonPrinter {
 public:
  JsonPrinter(Runtime& runtime, const JsonFormat& format, TextBuilder& out)
      : runtime_(runtime), format_(format), out_(out) {}

  Status Print(const Value& value, std::size_t level) {
    LATTICE_TRY_VOID(runtime_.Enter());
    Status status = PrintEntered(value, level);
    runtime_.Leave();
    return status;
  }

 private:
  Status PrintEntered(const Value& value, std::size_t level) {
    if (out_.full()) return Ok();
    if (const Text* text = value.text()) {
      LATTICE_TRY_VOID(runtime_.Step(text->size() / 64));
      AppendJsonString(*text, format_.ensure_ascii, out_);
    } else if (const List* list = value.list();
               list != nullptr &&
               (list->kind == List::Kind::kList || list->kind == List::Kind::kTuple)) {
      return PrintList(*list, level);
    } else if (const Dict* dict = value.dict()) {
      return PrintDict(*dict, level);
    } else if (value.IsNone()) {
      out_.Append("null");
    } else if (const bool* flag = value.If<bool>()) {
      out_.Append(*flag ? "true" : "false");
    } else if (const Int* integer = value.If<Int>()) {
      out_.Append(IntToString(*integer));
    } else if (const double* number = value.If<double>()) {
      out_.Append(JsonNumber(*number));
    } else {
      return Fault("Object of type " + std::string(TypeName(value)) + " is not JSON serializable");
    }
    return Ok();
  }

  void NewLine(std::size_t level) {
    if (!format_.indent) return;
    out_.Append("\n");
    for (std::size_t i = 0; i < level && !out_.full(); ++i) out_.Append(*format_.indent);
  }

  Status PrintList(const List& list, std::size_t level) {
    if (list.items.empty()) {
      out_.Append("[]");
      return Ok();
    }
    out_.Append("[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_.Append(format_.item_separator);
      NewLine(level + 1);
      LATTICE_TRY_VOID(Print(list.items[i], level + 1));
    }
    NewLine(level);
    out_.Append("]");
    return Ok();
  }

  Status PrintKey(const Value& key) {
    if (key.IsString()) return Print(key, 0);
    if (!key.IsNone() && !key.IsNumber()) {
      return Fault("keys must be str, int, float, bool or None, not " + std::string(TypeName(key)));
    }
    out_.Append("\"");
    LATTICE_TRY_VOID(Print(key, 0));
    out_.Append("\"");
    return Ok();
  }

  Status PrintDict(const Dict& dict, std::size_t level) {
    if (dict.entries.empty()) {
      out_.Append("{}");
      return Ok();
    }
    std::vector<const std::pair<Value, Value>*> entries;
    entries.reserve(dict.entries.size());
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (format_.sort_keys) LATTICE_TRY_VOID(SortByKey(entries));
    out_.Append("{");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.Append(format_.item_separator);
      NewLine(level + 1);
      LATTICE_TRY_VOID(PrintKey(entries[i]->first));
      out_.Append(format_.key_separator);
      LATTICE_TRY_VOID(Print(entries[i]->second, level + 1));
    }
    NewLine(level);
    out_.Append("}");
    return Ok();
  }

  Status SortByKey(std::vector<const std::pair<Value, Value>*>& entries) {
    for (const auto* entry : entries) {
      if (!entry->first.IsString()) return Fault("only dicts with str keys can be sorted");
    }
    LATTICE_TRY_VOID(runtime_.Step(entries.size() * 8));
    std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
      return a->first.text()->view() < b->first.text()->view();
    });
    return Ok();
  }

  Runtime& runtime_;
  const JsonFormat& format_;
  TextBuilder& out_;
};

}  // namespace

Status AppendJson(Runtime& runtime, const Value& value, const JsonFormat& format,
                  TextBuilder& out) {
  return JsonPrinter(runtime, format, out).Print(value, 0);
}

}  // namespace lattice::chat::jinja
