#include "apps/json_text.h"

#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "lattice/check.h"

namespace lattice::apps {

void AppendJson(std::string_view text, std::string& out) {
  if (IsValidUtf8(text)) {
    out += boost::json::serialize(boost::json::string_view(text.data(), text.size()));
  } else {
    out += boost::json::serialize(ToValidUtf8(text));
  }
}

void AppendJson(float value, std::string& out) {
  LATTICE_CHECK(std::isfinite(value));  // JSON has no NaN; the engine refuses to give one.
  std::array<char, 32> digits;
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  LATTICE_CHECK(code == std::errc());
  out.append(digits.data(), end);
}

void AppendJson(std::span<const float> values, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    AppendJson(values[i], out);
  }
  out += ']';
}

void JsonObject::Name(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  AppendJson(name, text_);
  text_ += ':';
}

JsonObject& JsonObject::Number(std::string_view name, double value) {
  Name(name);
  AppendJson(static_cast<float>(value), text_);
  return *this;
}

JsonObject& JsonObject::Count(std::string_view name, std::uint64_t value) {
  return Json(name, std::to_string(value));
}

JsonObject& JsonObject::Flag(std::string_view name, bool value) {
  return Json(name, value ? "true" : "false");
}

JsonObject& JsonObject::Text(std::string_view name, std::string_view value) {
  Name(name);
  AppendJson(value, text_);
  return *this;
}

JsonObject& JsonObject::Json(std::string_view name, std::string_view json) {
  Name(name);
  text_ += json;
  return *this;
}

std::string JsonArray(std::span<const std::string> values) {
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() > 1 ? "," : "") + value;
  return out + "]";
}

}  // namespace lattice::apps
