// Random schemas: what masks let through is valid, and what is valid they let through. Judged by a
// validator that shares nothing with this room.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <random>

#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/test_validator.h"
#include "grammar/test_grammars.h"

namespace lattice::grammar {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t n) { return random() % n; }
bool Chance(Random& random, std::size_t one_in) { return Below(random, one_in) == 0; }

value RandomValue(Random& random, int depth);

value RandomLeaf(Random& random) {
  static constexpr const char* kTexts[] = {"", "a", "ab", "abc", "b", "12", "hello"};
  switch (Below(random, 5)) {
    case 0:
      return nullptr;
    case 1:
      return Chance(random, 2);
    case 2:
      return static_cast<int>(Below(random, 25)) - 8;
    default:
      return kTexts[Below(random, std::size(kTexts))];
  }
}

// Members stand in the order in which schemas below declare them.
value RandomValue(Random& random, int depth) {
  if (depth == 0 || Chance(random, 3)) return RandomLeaf(random);
  if (Chance(random, 2)) {
    array items(Below(random, 4));
    for (value& item : items) item = RandomValue(random, depth - 1);
    return items;
  }
  object members;
  for (const char* name : {"a", "b", "c", "x", "y"}) {
    if (Chance(random, 2)) members[name] = RandomValue(random, depth - 1);
  }
  return members;
}

value RandomSchema(Random& random, int depth);

void AddNumeric(Random& random, object& schema) {
  if (Chance(random, 3)) schema["minimum"] = static_cast<int>(Below(random, 12)) - 8;
  if (Chance(random, 3)) schema["maximum"] = static_cast<int>(Below(random, 14));
  if (Chance(random, 4)) schema["exclusiveMinimum"] = static_cast<int>(Below(random, 9)) - 6;
  if (Chance(random, 4)) schema["exclusiveMaximum"] = 0.5 + static_cast<double>(Below(random, 15));
  if (Chance(random, 4)) schema["multipleOf"] = 1 + Below(random, 4);
}

void AddString(Random& random, object& schema) {
  static constexpr const char* kPatterns[] = {"^a", "b$", "^[a-c]*$", "l+", "^.{2,5}$", "1|b"};
  if (Chance(random, 3)) schema["minLength"] = Below(random, 3);
  if (Chance(random, 3)) schema["maxLength"] = 1 + Below(random, 4);
  if (Chance(random, 3)) schema["pattern"] = kPatterns[Below(random, std::size(kPatterns))];
}

void AddList(Random& random, object& schema, int depth) {
  if (!Chance(random, 3)) schema["items"] = RandomSchema(random, depth - 1);
  if (Chance(random, 3)) {
    array prefix(1 + Below(random, 2));
    for (value& item : prefix) item = RandomSchema(random, depth - 1);
    schema["prefixItems"] = std::move(prefix);
  }
  if (Chance(random, 3)) schema["minItems"] = Below(random, 3);
  if (Chance(random, 3)) schema["maxItems"] = 1 + Below(random, 3);
  if (Chance(random, 6)) schema["contains"] = RandomSchema(random, depth - 1);
}

void AddMembers(Random& random, object& schema, int depth) {
  object& properties = schema["properties"].emplace_object();
  array required;
  for (const char* name : {"a", "b", "c"}) {
    properties[name] = RandomSchema(random, depth - 1);
    if (Chance(random, 3)) required.emplace_back(name);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  if (Chance(random, 3)) schema["additionalProperties"] = Chance(random, 2);
  if (Chance(random, 5)) schema["additionalProperties"] = RandomSchema(random, depth - 1);
  if (Chance(random, 6)) schema["patternProperties"] = {{"^x", RandomSchema(random, depth - 1)}};
  if (Chance(random, 6)) schema["propertyNames"] = {{"maxLength", 1 + Below(random, 2)}};
  if (Chance(random, 6)) schema["minProperties"] = 1;
  if (Chance(random, 6)) schema["maxProperties"] = 1 + Below(random, 3);
  if (Chance(random, 8)) schema["dependentRequired"] = {{"a", {"b"}}};
}

// Without members: of an object that breaks a rule, keys may have to stand in another order.
value RandomScalar(Random& random) {
  if (Chance(random, 4)) return {{"enum", {RandomLeaf(random), RandomLeaf(random)}}};
  object schema;
  if (Chance(random, 2)) {
    schema["type"] = Chance(random, 2) ? "integer" : "number";
    AddNumeric(random, schema);
  } else {
    schema["type"] = "string";
    AddString(random, schema);
  }
  return schema;
}

value RandomSchema(Random& random, int depth) {
  static constexpr const char* kTypes[] = {"null",   "boolean", "integer", "number",
                                           "string", "array",   "object"};
  if (depth <= 0)
    return Chance(random, 8) ? value(true) : value({{"type", kTypes[Below(random, 5)]}});
  object schema;
  switch (Below(random, 8)) {
    case 0:
      schema["enum"] = {RandomLeaf(random), RandomLeaf(random), RandomValue(random, 1)};
      break;
    case 1:
      schema["const"] = RandomValue(random, 1);
      break;
    case 2: {
      const char* const way = Chance(random, 2) ? "anyOf" : "allOf";
      schema[way] = {RandomSchema(random, depth - 1), RandomSchema(random, depth - 1)};
      if (!Chance(random, 3)) break;
      schema = {{"oneOf", {RandomScalar(random), RandomScalar(random)}}};
      break;
    }
    case 3:
      if (Chance(random, 2)) {
        schema["not"] = RandomScalar(random);
      } else {
        schema["if"] = RandomScalar(random);
        schema["then"] = RandomSchema(random, depth - 1);
        schema["else"] = RandomSchema(random, depth - 1);
      }
      break;
    case 4:
      schema["$ref"] = "#/$defs/d";
      break;
    default: {
      const std::size_t type = 2 + Below(random, 5);
      if (!Chance(random, 6)) schema["type"] = kTypes[type];
      if (type < 4) AddNumeric(random, schema);
      if (type == 4) AddString(random, schema);
      if (type == 5) AddList(random, schema, depth);
      if (type == 6) AddMembers(random, schema, depth);
    }
  }
  return schema;
}

value RandomDocument(Random& random) {
  value schema = RandomSchema(random, 3);
  if (schema.is_object()) schema.get_object()["$defs"] = {{"d", RandomSchema(random, 2)}};
  return schema;
}

bool Search(std::string_view pattern, std::string_view text) {
  int error = 0;
  PCRE2_SIZE where = 0;
  pcre2_code* const code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &error, &where, nullptr);
  EXPECT_NE(code, nullptr) << pattern;
  pcre2_match_data* const data = pcre2_match_data_create(4, nullptr);
  const bool found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                                 data, nullptr) >= 0;
  pcre2_match_data_free(data);
  pcre2_code_free(code);
  return found;
}

bool IsSet(const TokenBits& bits, TokenId id) {
  return (bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0;
}

// A text along random tokens of the masks, rather soon at its end; absent: it was not.
std::optional<std::string> Walk(const std::shared_ptr<Automaton>& automaton, Random& random) {
  const Vocabulary& vocabulary = *automaton->vocabulary();
  Matcher matcher(automaton);
  std::string text;
  for (int step = 0; step < 120; ++step) {
    if (matcher.is_complete() && (!matcher.can_continue() || Chance(random, 2))) return text;
    TokenBits bits(vocabulary.n_words(), UINT64_MAX);
    const Status filled = matcher.Fill(bits);
    if (!filled) return std::nullopt;
    std::vector<TokenId> allowed, closing;
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
      if (!IsSet(bits, id)) continue;
      allowed.push_back(id);
      if (std::string_view("\"}]").find(vocabulary.token(id)[0]) != std::string_view::npos) {
        closing.push_back(id);
      }
    }
    EXPECT_FALSE(allowed.empty()) << "no way to go on after " << text;
    if (allowed.empty()) return std::nullopt;
    const bool closes = !closing.empty() && (step > 30 || Chance(random, 2));
    const std::vector<TokenId>& some = closes ? closing : allowed;
    const TokenId id = some[Below(random, some.size())];
    const Status accepted = matcher.AcceptToken(id);
    EXPECT_TRUE(accepted) << "after " << text << ", " << vocabulary.token(id);
    if (!accepted) return std::nullopt;
    text += vocabulary.token(id);
  }
  return std::nullopt;
}

// Along random tokens that spell it.
void ExpectReached(const std::shared_ptr<Automaton>& automaton, const std::string& text,
                   Random& random) {
  const Vocabulary& vocabulary = *automaton->vocabulary();
  Matcher matcher(automaton);
  for (std::string_view rest = text; !rest.empty();) {
    std::vector<TokenId> fitting;
    for (std::size_t n = 1; n <= std::min(rest.size(), vocabulary.longest()); ++n) {
      const auto tokens = vocabulary.tokens_of(rest.substr(0, n));
      fitting.insert(fitting.end(), tokens.begin(), tokens.end());
    }
    const TokenId id = fitting[Below(random, fitting.size())];
    TokenBits bits(vocabulary.n_words(), UINT64_MAX);
    ASSERT_TRUE(matcher.Fill(bits));
    ASSERT_TRUE(IsSet(bits, id)) << "before " << rest;
    ASSERT_TRUE(matcher.AcceptToken(id));
    rest.remove_prefix(vocabulary.token(id).size());
  }
  EXPECT_TRUE(matcher.is_complete());
}

TEST(SchemaWalkTest, MasksLetThroughWhatIsValidAndNothingElse) {
  const auto vocabulary = SmallVocabulary();
  int n_compiled = 0, n_empty = 0, n_valid = 0, n_reached = 0;
  for (std::uint64_t seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const value schema = RandomDocument(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + serialize(schema));
    const auto grammar = CompileJsonSchema(schema);
    // Circles of references are refused whatever they mean.
    const bool is_empty = !grammar && grammar.error().code == ErrorCode::kInvalidArgument &&
                          grammar.error().message.find("circle") == std::string::npos;
    n_empty += is_empty ? 1 : 0;
    if (!grammar && !is_empty) continue;
    std::shared_ptr<Automaton> automaton;
    if (grammar) {
      ++n_compiled;
      automaton = std::make_shared<Automaton>(*grammar, vocabulary);
      for (int i = 0; i < 4; ++i) {
        const auto text = Walk(automaton, random);
        if (!text) continue;
        boost::system::error_code error;
        const value made = boost::json::parse(*text, error);
        ASSERT_FALSE(error) << *text;
        const Verdict verdict = Validate(schema, made, Search);
        ASSERT_NE(verdict, Verdict::kInvalid) << *text;
        n_valid += verdict == Verdict::kValid ? 1 : 0;
      }
    }
    for (int i = 0; i < 60; ++i) {
      const value instance = RandomValue(random, 2);
      if (Validate(schema, instance, Search) != Verdict::kValid) continue;
      ASSERT_FALSE(is_empty) << serialize(instance) << " is valid";
      ExpectReached(automaton, serialize(instance), random);
      if (testing::Test::HasFatalFailure()) FAIL() << serialize(instance);
      ++n_reached;
    }
  }
  EXPECT_GT(n_compiled, 250);
  EXPECT_GT(n_empty, 5);
  EXPECT_GT(n_valid, 500);
  EXPECT_GT(n_reached, 1000);
}

}  // namespace
}  // namespace lattice::grammar
