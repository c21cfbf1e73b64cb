#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/gbnf.h"
#include "grammar/matcher.h"
#include "lattice/check.h"

namespace grammar = lattice::grammar;
using lattice::ErrorCode;
using lattice::Status;
using lattice::TokenId;

namespace {

const std::shared_ptr<const grammar::Vocabulary>& Tokens() {
  static const auto kTokens = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* piece : {"",       "a",         "ab",   "ba", "aab", "\"a", "\",",
                              "a\"",    "{\"",       "\": ", "  ", "\n ", "12",  "aaaa",
                              "\u00e9", "x\u00e9\"", "((",   "))", "[[",  "]]"}) {
      tokens.emplace_back(piece);
    }
    return std::make_shared<const grammar::Vocabulary>(std::move(tokens), 1 << 20);
  }();
  return kTokens;
}

}  // namespace

/// A grammar, a NUL, bytes that choose among the allowed tokens: every mask is what trying each
/// token says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  grammar::GbnfLimits limits{.max_size = 1'000,
                             .max_rules = 50,
                             .grammar = {.max_expressions = 20'000, .max_symbols = 5'000}};
  const auto built = grammar::ParseGbnf(input.substr(0, cut), limits);
  if (!built) return 0;
  grammar::AutomatonLimits small;
  small.parser.max_items = 1'000;
  small.parser.max_bytes = 8 << 20;
  small.parser.lexer = {.max_states = 2'000, .max_expressions = 20'000};
  const auto& vocabulary = Tokens();
  grammar::Matcher matcher(std::make_shared<grammar::Automaton>(*built, vocabulary, small));
  const std::string_view choices =
      cut == input.npos ? std::string_view("x") : input.substr(cut + 1).substr(0, 12);
  for (const char choice : choices) {
    grammar::TokenBits bits(vocabulary->n_words(), UINT64_MAX);
    if (!matcher.Fill(bits)) return 0;
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary->size()); ++id) {
      const Status goes_on = matcher.AcceptToken(id);
      if (!goes_on && goes_on.error().code == ErrorCode::kResourceExhausted) return 0;
      const bool is_set = (bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0;
      LATTICE_CHECK(is_set == goes_on.has_value());
      if (!goes_on) continue;
      matcher.Rollback(1);
      allowed.push_back(id);
    }
    if (allowed.empty()) return 0;
    const auto next = static_cast<std::uint8_t>(choice) % allowed.size();
    if (!matcher.AcceptToken(allowed[next])) return 0;
  }
  return 0;
}
