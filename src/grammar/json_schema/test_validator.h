#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>

namespace lattice::grammar {

/// What a validator says of a value. kUnknown: the schema has what it does not know.
enum class Verdict : std::uint8_t { kInvalid, kValid, kUnknown };

/// Whether a pattern is found in a text.
using PatternSearch = bool (*)(std::string_view pattern, std::string_view text);

/// Judges a value by the letter of 2020-12, with nothing of this room: for tests. Knows the
/// keywords that are about values, references within the document by JSON pointer, and no
/// `format`, `$id`, `$schema`, `$anchor`, `unevaluated...`. Numbers are doubles.
///
/// search  null: what depends on patterns is unknown.
Verdict Validate(const boost::json::value& schema, const boost::json::value& value,
                 PatternSearch search);

}  // namespace lattice::grammar
