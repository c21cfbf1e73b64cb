#include "chat/tools/json_end.h"

#include <string_view>

namespace lattice::chat {
namespace {

constexpr std::string_view kOutsideOfStrings =
    " \t\r\n,:+-.0123456789abcdefghijklmnopqrstuvwxyzE";  // literals and numbers

void AppendEscaped(char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\r') {
    out += "\\r";
  } else {
    out += "\\u00";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace

JsonEnd::State JsonEnd::Take(char c) {
  if (in_string_) {
    if (static_cast<unsigned char>(c) < ' ') {
      if (escaped_) return State::kBad;
      AppendEscaped(c, text_);
      return State::kMore;
    }
    text_ += c;
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
    return State::kMore;
  }
  if (c == '{' || c == '[') {
    if (open_.size() == kMaxDepth) return State::kBad;
    open_ += c == '{' ? '}' : ']';
  } else if (open_.empty()) {
    return State::kBad;
  } else if (c == '}' || c == ']') {
    if (open_.back() != c) return State::kBad;
    open_.pop_back();
  } else if (c == '"') {
    in_string_ = true;
  } else if (kOutsideOfStrings.find(c) == kOutsideOfStrings.npos) {
    return State::kBad;
  }
  text_ += c;
  return open_.empty() ? State::kDone : State::kMore;
}

}  // namespace lattice::chat
