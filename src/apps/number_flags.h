#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace lattice::apps {

/// Of tokens, texts and whatever else is counted: what a position in a sequence can be.
inline constexpr std::uint64_t kMostCounted = 0x7FFF'FFFF;

/// Whole numbers that a flag takes.
struct CountRange {
  std::uint64_t least = 0, most = kMostCounted;
};

/// Finite numbers that a flag takes.
struct DecimalRange {
  float least = 0, most = 0;
  bool above_least = false;  ///< The least itself is outside.
};

/// All of `text` as one number in decimal digits; absent when it is anything else, or too large.
template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// A check of one whole number in decimal digits; it takes leading zeros off. Anything else is
/// wrong usage: a complaint with the range.
CLI::Validator IsCount(CountRange range);
/// A check of one number such as 0.95 or 1e-3.
CLI::Validator IsDecimal(DecimalRange range);

/// Adds a flag (or positional) that is one whole number, or a vector of them. All flags that count
/// something are made by this one or AddCounts, all others with numbers by AddDecimal.
template <typename Value>
CLI::Option* AddCount(CLI::App& arguments, const std::string& name, Value& out,
                      const std::string& what, CountRange range = {}) {
  return arguments.add_option(name, out, what)->type_name("N")->transform(IsCount(range));
}

/// Adds a flag of whole numbers with commas between them.
template <typename Value>
CLI::Option* AddCounts(CLI::App& arguments, const std::string& name, Value& out,
                       const std::string& what, CountRange range = {}) {
  return AddCount(arguments, name, out, what, range)->delimiter(',')->type_name("N,...");
}

/// Adds a flag that is a number with a fraction.
template <typename Value>
CLI::Option* AddDecimal(CLI::App& arguments, const std::string& name, Value& out,
                        const std::string& what, DecimalRange range) {
  return arguments.add_option(name, out, what)->type_name("X")->check(IsDecimal(range));
}

/// Adds --threads.
CLI::Option* AddThreads(CLI::App& arguments, std::size_t& n_threads);

}  // namespace lattice::apps
