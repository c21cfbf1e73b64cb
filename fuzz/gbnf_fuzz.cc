#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grammar/gbnf.h"
#include "grammar/matcher.h"
#include "lattice/check.h"

namespace grammar = lattice::grammar;
using lattice::ErrorCode;
using lattice::Status;

/// A grammar, a NUL, a text that is read byte by byte: each byte either goes on or changes nothing,
/// and what is forced may come.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  grammar::GbnfLimits limits{.max_size = 4'000,
                             .max_rules = 200,
                             .grammar = {.max_expressions = 20'000, .max_symbols = 20'000}};
  const auto built = grammar::ParseGbnf(input.substr(0, cut), limits);
  if (!built) return 0;
  grammar::AutomatonLimits small;
  small.parser.max_items = 2'000;
  small.parser.max_bytes = 8 << 20;
  small.parser.lexer = {.max_states = 2'000, .max_expressions = 20'000};
  grammar::Matcher matcher(std::make_shared<grammar::Automaton>(*built, nullptr, small));
  const std::string_view text =
      cut == input.npos ? std::string_view() : input.substr(cut + 1).substr(0, 100);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool could_go_on = matcher.can_continue();
    const Status done = matcher.Accept(text.substr(i, 1));
    LATTICE_CHECK(!done || could_go_on);
    if (!done && done.error().code != ErrorCode::kInvalidArgument) return 0;
    LATTICE_CHECK(matcher.can_continue() || matcher.is_complete());
    const auto forced = matcher.Forced(8);
    if (!forced) return 0;
    if (forced->empty()) continue;
    const Status follows = matcher.Accept(*forced);
    if (!follows) {
      LATTICE_CHECK(follows.error().code == ErrorCode::kResourceExhausted);
      return 0;
    }
    matcher.Rollback(1);
  }
  return 0;
}
