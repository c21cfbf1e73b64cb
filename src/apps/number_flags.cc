#include "apps/number_flags.h"

#include <cmath>
#include <cstdio>

namespace lattice::apps {
namespace {

std::string Text(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", static_cast<double>(value));
  return text;
}

}  // namespace

// CLI11 itself reads "-1" as 2^64 - 1, "010" as eight, and what is too large as the largest.
CLI::Validator IsCount(CountRange range) {
  const auto check = [range](std::string& text) -> std::string {
    const auto value = ReadNumber<std::uint64_t>(text);
    if (!value || *value < range.least || *value > range.most) {
      return "'" + text + "' is not a whole number from " + std::to_string(range.least) + " to " +
             std::to_string(range.most);
    }
    text = std::to_string(*value);
    return "";
  };
  return CLI::Validator(check, "");
}

CLI::Validator IsDecimal(DecimalRange range) {
  const auto check = [range](const std::string& text) -> std::string {
    const auto value = ReadNumber<float>(text);
    const bool inside = value && std::isfinite(*value) && *value <= range.most &&
                        (range.above_least ? *value > range.least : *value >= range.least);
    if (inside) return "";
    return "'" + text + "' is not a number " + (range.above_least ? "above " : "from ") +
           Text(range.least) + " to " + Text(range.most);
  };
  return CLI::Validator(check, "");
}

CLI::Option* AddThreads(CLI::App& arguments, std::size_t& n_threads) {
  return AddCount(arguments, "-t,--threads", n_threads, "Worker threads (all processors)",
                  {1, 1024});
}

}  // namespace lattice::apps
