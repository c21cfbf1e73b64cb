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

}  // namespace lattice::apps
