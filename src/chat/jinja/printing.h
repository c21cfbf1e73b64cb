#pragma once

#include <optional>
#include <string>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

/// How values look as text.
namespace lattice::chat::jinja {

std::string IntToString(Int value);
/// As Python's repr(): the shortest digits that read back the same, 1e+16, 1e-05, inf, nan.
std::string FloatToString(double value);

/// Python's str() and repr(). Bytes keep their origin. Errors: limits only.
Status AppendStr(Runtime& runtime, const Value& value, TextBuilder& out);
Status AppendRepr(Runtime& runtime, const Value& value, TextBuilder& out);
Result<Text> ToText(Runtime& runtime, const Value& value);
/// repr() without origins, at most about 200 bytes: for messages.
std::string Describe(const Value& value);

struct JsonFormat {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  ///< What one level is indented by; absent: one line.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// As Python's json.dumps. An error for values that JSON has no words for.
Status AppendJson(Runtime& runtime, const Value& value, const JsonFormat& format, TextBuilder& out);

}  // namespace lattice::chat::jinja
