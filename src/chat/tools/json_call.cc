#include "chat/tools/json_call.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>
#include <optional>
#include <utility>

#include "base/json.h"

namespace lattice::chat {
namespace {

constexpr std::size_t kMaxCalls = 128;
constexpr std::string_view kSpace = " \t\r\n";

/// Walks over JSON that is known to be well formed.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  void SkipSpace() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip() { ++at_; }

  /// The text of the value that begins here.
  std::string_view Value() {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    do {
      const char c = Peek();
      if (c == '"') {
        SkipString();
      } else if (c == '{' || c == '[') {
        ++depth, ++at_;
      } else if (c == '}' || c == ']') {
        --depth, ++at_;
      } else {
        SkipLiteral();
      }
    } while (depth > 0 && at_ < text_.size());
    return text_.substr(begin, at_ - begin);
  }

 private:
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  // With the commas, colons and space around it: inside of brackets they do not matter.
  void SkipLiteral() {
    at_ = std::min(text_.find_first_of("\"{}[],", at_ + (Peek() == ',' ? 1 : 0)), text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

/// The texts of an object's or array's members. Of an object, key and value follow each other.
std::vector<std::string_view> Members(std::string_view json) {
  std::vector<std::string_view> members;
  JsonWalk walk(json);
  walk.SkipSpace();
  walk.Skip();
  while (true) {
    walk.SkipSpace();
    const char c = walk.Peek();
    if (c == '}' || c == ']' || c == '\0') return members;
    if (c == ',' || c == ':') {
      walk.Skip();
      continue;
    }
    members.push_back(Trimmed(walk.Value()));
  }
}

/// The text of an object's member; of several, the last.
std::optional<std::string_view> Member(std::string_view json, std::string_view quoted_key) {
  const auto members = Members(json);
  for (std::size_t i = members.size() & ~std::size_t{1}; i >= 2; i -= 2) {
    if (members[i - 2] == quoted_key) return members[i - 1];
  }
  return std::nullopt;
}

std::optional<std::string> StringOf(std::string_view json) {
  const auto value = ParseJson(json);
  if (!value || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

/// "" when they are no object.
std::string ArgumentsOf(std::string_view call) {
  auto written = Member(call, "\"arguments\"");
  if (!written) written = Member(call, "\"parameters\"");
  if (!written || *written == "null") return "{}";
  if (written->starts_with('{')) return std::string(*written);
  const auto text = StringOf(*written);
  if (!text) return "";
  if (text->find_first_not_of(kSpace) == text->npos) return "{}";
  return IsJsonObject(*text) ? *text : "";
}

std::optional<WrittenCall> CallOf(std::string_view json) {
  if (!json.starts_with('{')) return std::nullopt;
  if (const auto inner = Member(json, "\"function\""); inner && inner->starts_with('{')) {
    json = *inner;
  }
  const auto name = Member(json, "\"name\"");
  if (!name) return std::nullopt;
  const auto text = StringOf(*name);
  if (!text || !IsCallName(*text)) return std::nullopt;
  std::string arguments = ArgumentsOf(json);
  if (arguments.empty()) return std::nullopt;
  return WrittenCall{*text, std::move(arguments)};
}

}  // namespace

std::vector<WrittenCall> CallsFromJson(std::string_view json) {
  if (!ParseJson(json)) return {};
  json = Trimmed(json);
  const auto items = json.starts_with('[') ? Members(json) : std::vector<std::string_view>(1, json);
  if (items.size() > kMaxCalls) return {};
  std::vector<WrittenCall> calls;
  for (const std::string_view item : items) {
    auto call = CallOf(item);
    if (!call) return {};
    calls.push_back(*std::move(call));
  }
  return calls;
}

bool IsJsonObject(std::string_view text) {
  const auto value = ParseJson(text);
  return value && value->is_object();
}

std::string JsonQuoted(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

}  // namespace lattice::chat
