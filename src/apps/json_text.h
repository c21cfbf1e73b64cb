#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace lattice::apps {

/// Appends a JSON string; ill-formed UTF-8 becomes U+FFFD.
void AppendJson(std::string_view text, std::string& out);
/// Appends the shortest digits that read back as the same f32. The value must be finite.
void AppendJson(float value, std::string& out);
/// Appends a JSON array of numbers.
void AppendJson(std::span<const float> values, std::string& out);

/// A JSON object that grows member by member.
class JsonObject {
 public:
  JsonObject& Number(std::string_view name, double value);  ///< Finite; as f32.
  JsonObject& Count(std::string_view name, std::uint64_t value);
  JsonObject& Flag(std::string_view name, bool value);
  JsonObject& Text(std::string_view name, std::string_view value);
  JsonObject& Json(std::string_view name, std::string_view json);  ///< A value that is JSON.
  std::string Take() { return std::move(text_) + "}"; }            ///< Once, at the end.

 private:
  void Name(std::string_view name);
  std::string text_ = "{";
};

/// [a,b]: texts that are JSON.
std::string JsonArray(std::span<const std::string> values);

}  // namespace lattice::apps
