#pragma once

#include <optional>
#include <string>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

/// How one value is formatted: the common part of "%..." and "{:...}".
struct FormatSpec {
  std::string fill = " ";  ///< One character.
  char align = '\0';       ///< '<', '>', '^', '=' or none: numbers right, others left.
  char sign = '-';         ///< '-', '+' or ' '.
  bool alternate = false;
  bool commas = false;
  std::size_t width = 0;
  std::optional<std::size_t> precision;
  char type = '\0';  ///< The letter; none: as str() shows it.
};

/// Widths and precisions beyond this are refused.
inline constexpr std::size_t kMaxFormatWidth = 10'000;

/// Appends `value` in that form. An error when the letter does not fit the value.
Status AppendFormatted(Runtime& runtime, const Value& value, const FormatSpec& spec,
                       TextBuilder& out);

}  // namespace lattice::chat::jinja
