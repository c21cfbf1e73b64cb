#pragma once

#include <optional>
#include <string_view>

namespace lattice::grammar {

/// The pattern (of whole strings) of a `format`. Absent for names that the specification does not
/// know. Empty for those it knows and we cannot enforce.
/// Source  JSON Schema 2020-12, validation, section 7.3, and the RFCs named there.
std::optional<std::string_view> FormatPattern(std::string_view format);

}  // namespace lattice::grammar
