#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lattice::apps {

/// Appends a JSON string; ill-formed UTF-8 becomes U+FFFD.
void AppendJson(std::string_view text, std::string& out);
/// Appends the shortest digits that read back as the same f32. The value must be finite.
void AppendJson(float value, std::string& out);
/// Appends a JSON array of numbers.
void AppendJson(std::span<const float> values, std::string& out);

}  // namespace lattice::apps
