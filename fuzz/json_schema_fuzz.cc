#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/test_validator.h"
#include "grammar/matcher.h"
#include "lattice/check.h"

namespace grammar = lattice::grammar;
using lattice::ParseJson;

namespace {

/// Numbers that doubles do not tell apart.
bool HasLongNumbers(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) {
    n = std::string_view("0123456789.eE+-").find(c) == std::string_view::npos ? 0 : n + 1;
    if (n > 12) return true;
  }
  return false;
}

void CheckText(const boost::json::value& schema, std::string_view text) {
  const boost::json::parse_options deep{.max_depth = 200};
  boost::system::error_code error;
  const boost::json::value made = boost::json::parse(text, error, {}, deep);
  if (error == boost::json::error::exponent_overflow) return;  // 1e99999999999
  LATTICE_CHECK(!error);
  const std::string written = boost::json::serialize(schema);
  // Other dialects, and other bases of references.
  if (written.find("$schema") != written.npos || written.find("$id") != written.npos) return;
  if (HasLongNumbers(written) || HasLongNumbers(text)) return;
  LATTICE_CHECK(grammar::Validate(schema, made, /*search=*/nullptr) != grammar::Verdict::kInvalid);
}

/// Goes on along one of the bytes that may come, chosen by `choice`. False: none may.
bool GoOn(grammar::Matcher& matcher, std::uint8_t choice, std::string& text) {
  for (int i = 0; i < 256; ++i) {
    // Printable characters first, so that short inputs say much.
    const char byte = static_cast<char>((i * 31 + choice + (i < 128 ? 0x20 : 0)) & 0xFF);
    if (!matcher.Accept({&byte, 1})) continue;
    text += byte;
    return true;
  }
  return false;
}

}  // namespace

/// A schema, a NUL, bytes that choose among those that may come: what is complete is JSON, and not
/// invalid.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view choices =
      cut == input.npos ? std::string_view() : input.substr(cut + 1).substr(0, 100);
  grammar::JsonSchemaOptions options;
  options.limits = {.max_expressions = 50'000, .max_symbols = 50'000, .max_work = 200'000};
  const auto built = grammar::CompileJsonSchemaText(input.substr(0, cut), options);
  if (!built) {
    LATTICE_CHECK(!built.error().message.empty());
    return 0;
  }
  const auto schema = ParseJson(input.substr(0, cut), 200);
  LATTICE_CHECK(schema.has_value());
  grammar::AutomatonLimits small;
  small.parser.max_items = 2'000;
  small.parser.max_bytes = 8 << 20;
  small.parser.lexer = {.max_states = 5'000, .max_expressions = 50'000, .max_work = 200'000};
  grammar::Matcher matcher(std::make_shared<grammar::Automaton>(*built, nullptr, small));
  std::string text;
  for (const char choice : choices) {
    if (matcher.is_complete()) CheckText(*schema, text);
    if (!GoOn(matcher, static_cast<std::uint8_t>(choice), text)) return 0;
  }
  return 0;
}
