#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grammar/matcher.h"
#include "grammar/regex.h"
#include "lattice/check.h"

namespace grammar = lattice::grammar;

/// A pattern, a NUL, a text. Matching by derivatives and by the automaton agree, and a search finds
/// what the whole matches.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view pattern = input.substr(0, cut);
  const std::string_view text =
      cut == input.npos ? std::string_view() : input.substr(cut + 1).substr(0, 200);
  grammar::GrammarBuilder builder({.max_expressions = 20'000});
  const auto whole = grammar::ParseRegex(pattern, builder, {.max_size = 2'000});
  const auto search = grammar::ParseRegex(pattern, builder, {.search = true, .max_size = 2'000});
  LATTICE_CHECK(whole.has_value() == search.has_value());
  if (!whole) return 0;
  const bool matches = builder.Matches(*whole, text);
  const bool found = builder.Matches(*search, text);
  if (builder.failed()) return 0;
  LATTICE_CHECK(found || !matches);
  const auto start = builder.Terminal(*whole);
  const auto built = std::move(builder).Build(start);
  if (!built) return 0;
  const auto accepted = grammar::Matches(*built, text);
  LATTICE_CHECK(!accepted || *accepted == matches);
  return 0;
}
