#include "server/openai/field_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// The value of four hexadecimal digits at `at`; absent when they are none.
std::optional<unsigned> CodeUnitAt(std::string_view json, std::size_t at) {
  if (at > json.size() || json.size() - at < 4) return std::nullopt;
  unsigned unit = 0;
  const char* const end = json.data() + at + 4;
  if (std::from_chars(json.data() + at, end, unit, 16).ptr != end) return std::nullopt;
  return unit;
}

bool IsLeading(unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool IsTrailing(unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; }

/// Escaped surrogates that have lost their partner, which clients send that cut their texts
/// anywhere, become \ufffd. The length stays; where there are none nothing is copied.
std::optional<std::string> WithoutLoneSurrogates(std::string_view json) {
  std::optional<std::string> repaired;
  for (std::size_t i = json.find('\\'); i != json.npos && i + 1 < json.size();
       i = json.find('\\', i)) {
    const std::size_t begin = i;
    i += 2;
    if (json[begin + 1] != 'u') continue;
    const auto unit = CodeUnitAt(json, i);
    if (!unit) continue;
    i += 4;
    if (IsLeading(*unit) && json.substr(i, 2) == "\\u") {
      const auto next = CodeUnitAt(json, i + 2);
      if (next && IsTrailing(*next)) {
        i += 6;
        continue;
      }
    }
    if (!IsLeading(*unit) && !IsTrailing(*unit)) continue;
    if (!repaired) repaired.emplace(json);
    repaired->replace(begin + 2, 4, "fffd");
  }
  return repaired;
}

std::string Range(double min, double max) {
  const auto text = [](double value) {
    char digits[40];
    return std::string(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  };
  return "from " + text(min) + " to " + text(max);
}

}  // namespace

ApiResult<boost::json::object> ParseBody(std::string_view body) {
  const std::optional<std::string> repaired = WithoutLoneSurrogates(body);
  auto parsed = ParseJson(repaired ? std::string_view(*repaired) : body, kMaxDepth);
  if (!parsed) {
    return ApiError{.message = "the body is not valid JSON: " + parsed.error().message,
                    .code = "invalid_json"};
  }
  if (!parsed->is_object()) {
    return ApiError{.message = "the body must be a JSON object", .code = "invalid_type"};
  }
  return std::move(parsed->get_object());
}

std::optional<std::int64_t> ExactInt(const boost::json::value& value) {
  if (const auto* i = value.if_int64()) return *i;
  const auto* d = value.if_double();  // Some clients write 5.0 or 1e3.
  if (d == nullptr || !(std::fabs(*d) < 9e15) || std::trunc(*d) != *d) return std::nullopt;
  return static_cast<std::int64_t>(*d);
}

const boost::json::value* FieldReader::Find(std::string_view key) const {
  const boost::json::value* value = object_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void FieldReader::Complain(std::string_view param, std::string message, std::string code) {
  if (error_) return;
  std::string name = ToValidUtf8(param.substr(0, 100));
  error_ = ApiError{
      .message = "'" + name + "' " + std::move(message), .param = name, .code = std::move(code)};
}

std::optional<std::int64_t> FieldReader::Int(std::string_view key, std::int64_t min,
                                             std::int64_t max) {
  const boost::json::value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    Complain(key, "must be an integer", "invalid_type");
    return std::nullopt;
  }
  const auto number = ExactInt(*value);
  if (number && *number >= min && *number <= max) return number;
  Complain(key, "must be an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<float> FieldReader::Number(std::string_view key, double min, double max) {
  const boost::json::value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    Complain(key, "must be a number", "invalid_type");
    return std::nullopt;
  }
  const auto number = value->to_number<double>();
  if (number >= min && number <= max) return static_cast<float>(number);
  Complain(key, "must be a number " + Range(min, max));
  return std::nullopt;
}

std::optional<bool> FieldReader::Bool(std::string_view key) {
  const boost::json::value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const bool* flag = value->if_bool()) return *flag;
  Complain(key, "must be true or false", "invalid_type");
  return std::nullopt;
}

std::optional<std::string> FieldReader::String(std::string_view key) {
  const boost::json::value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = value->if_string()) return std::string(*text);
  Complain(key, "must be a string", "invalid_type");
  return std::nullopt;
}

std::vector<std::string> FieldReader::Strings(std::string_view key, std::size_t max_strings) {
  const boost::json::value* value = Find(key);
  if (value == nullptr) return {};
  if (const auto* text = value->if_string()) return {std::string(*text)};
  std::vector<std::string> texts;
  if (const auto* array = value->if_array(); array != nullptr && array->size() <= max_strings) {
    for (const auto& item : *array) {
      if (const auto* text = item.if_string()) texts.emplace_back(*text);
    }
    if (texts.size() == array->size()) return texts;
  }
  Complain(key,
           "must be a string or an array of at most " + std::to_string(max_strings) + " strings");
  return {};
}

const boost::json::object* FieldReader::Object(std::string_view key) {
  const boost::json::value* value = Find(key);
  if (value == nullptr) return nullptr;
  if (const auto* object = value->if_object()) return object;
  Complain(key, "must be an object", "invalid_type");
  return nullptr;
}

void FieldReader::RefuseOthers(std::initializer_list<std::span<const std::string_view>> known) {
  for (const auto& member : object_) {
    const std::string_view key(member.key().data(), member.key().size());
    const bool found = std::ranges::any_of(
        known, [&](const auto& names) { return std::ranges::find(names, key) != names.end(); });
    if (!found) Complain(key, "is not a field of this route", "unsupported_parameter");
  }
}

}  // namespace lattice::server
