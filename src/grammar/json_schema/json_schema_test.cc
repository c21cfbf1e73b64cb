#include "grammar/json_schema/json_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "grammar/matcher.h"

namespace lattice::grammar {
namespace {

struct Case {
  std::string_view schema;
  std::vector<std::string_view> valid;
  std::vector<std::string_view> invalid;
};

const Case kCases[] = {
    {R"({"type":"integer","minimum":-3,"maximum":120})",
     {"-3", "0", "7", "99", "120"},
     {"-4", "121", "1.5", "007", "1.0", "1e1"}},
    {R"({"type":"number","exclusiveMinimum":0.25,"maximum":10})",
     {"0.251", "0.3", "1", "10", "10.0", "9.999"},
     {"0.25", "0.250", "0", "10.01", "-1"}},
    {R"({"type":"number"})",
     {"1e5", "-2.5E+08", "1e-299", "1e005", "1e308"},
     {"1e309", "1e1000", "1e-4000", "1e"}},
    {R"({"type":"integer","multipleOf":7})", {"0", "7", "-14", "700"}, {"1", "15", "-13"}},
    {R"({"multipleOf":0.01})", {"0.01", "1.5", "3", "true"}, {"0.001", "1.234"}},
    {R"({"type":"string","minLength":2,"maxLength":3})",
     {R"("ab")", R"("a\n\"")", "\"\xC3\xA9\xE2\x82\xAC\""},
     {R"("a")", R"("abcd")", R"("a)"}},
    {R"({"type":"string","pattern":"^a+$"})", {R"("a")", R"("aaa")"}, {R"("")", R"("ba")"}},
    {R"({"type":"string","format":"date"})",
     {R"("2024-02-29")", R"("1999-12-31")"},
     {R"("2023-02-29")", R"("2023-13-01")"}},
    // A second 60 is the last one of a day of UTC, wherever it is read.
    {R"({"type":"string","format":"time"})",
     {R"("12:00:59Z")", R"("23:59:60z")", R"("15:59:60.5-08:00")", R"("01:29:60+01:30")",
      R"("23:29:60+23:30")", R"("23:58:60+23:59")", R"("00:00:60-23:59")", R"("23:59:60-00:00")"},
     {R"("22:59:60Z")", R"("23:59:60+01:00")", R"("15:59:60-08:01")", R"("00:29:60+01:30")",
      R"("23:59:61Z")", R"("24:59:60+01:00")"}},
    {R"({"type":"string","format":"date-time"})",
     {R"("1998-12-31T15:59:60.123-08:00")", R"("1990-02-28t15:59:59-08:00")"},
     {R"("1998-12-31T22:59:60Z")", R"("1990-02-29T15:59:59Z")"}},
    {R"({"type":"string","format":"uri"})",
     {R"("https://a-b.example:80/x;y?q=1#~f")", R"("urn:isbn:0-395")", R"("ftp://[::1]/")"},
     {R"("//a/b")", R"("http://a b/")", R"("x")", R"("http://a/%zz")"}},
    {R"({"type":"string","format":"hostname"})",
     {R"("a")", R"("a1")", R"("a-b")", R"("a--b.c-d-e")", R"("www.example-host.com")",
      R"("xn--bcher-kva.example")"},
     {R"("ab--c")", R"("ab--")", R"("xn--bcher-kvb.example")", R"("xn--a")", R"("-a")", R"("a-")",
      R"("a..b")",
      R"("a-vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv-vvvvvvvvvvvvvvvvvvvvvv")"}},
    {R"({"type":"string","format":"hostname","pattern":"er","maxLength":13})",
     {R"("xn--bcher-kva")", R"("xn.bcher-kva")"},
     {R"("xn--bcher-kva.b")", R"("xn--bcher")", R"("xn--zca")"}},
    {R"({"type":"string","format":"uri-reference"})", {R"("../a-b?c")", R"("")"}, {R"("a\\b")"}},
    {R"({"type":"string","pattern":"^\\s$"})", {"\"\xC2\xA0\"", R"("\t")"}, {R"("a")"}},
    {R"({"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"],
         "additionalProperties":false,"type":"object"})",
     {R"({"b":"x"})", R"({"a":1,"b":"x"})"},
     {R"({})", R"({"a":1})", R"({"b":"x","c":1})", R"({"a":"1","b":"x"})"}},
    {R"({"type":"object","properties":{"a":{"type":"integer"}}})",
     {R"({})", R"({"a":1,"z":[1,{}]})", R"({"z":null})"},
     {R"({"a":"x"})", R"({"z":1,"a":"x"})", R"({"z":1,"\u0061":"x"})", R"({"z":1,"a":1})"}},
    {R"({"type":"object","patternProperties":{"^x":{"type":"integer"}},
         "additionalProperties":{"type":"string"}})",
     {R"({"x1":1,"y":"s"})", R"({})"},
     {R"({"x1":"s"})", R"({"y":1})"}},
    {R"({"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":false,
         "properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}}})",
     {R"({"a":null})", R"({"b":null,"c":null})"},
     {R"({})", R"({"a":null,"b":null,"c":null})"}},
    {R"({"enum":[1,"a",null,{"k":[true]}]})",
     {"1", "1.0", R"("a")", "null", R"({"k":[true]})"},
     {"2", R"("b")", R"({"k":[false]})", R"({})"}},
    {R"({"oneOf":[{"required":["a"]},{"required":["b"]}],"type":"object"})",
     {R"({"a":1})", R"({"b":1})"},
     {R"({})", R"({"a":1,"b":1})"}},
    {R"({"not":{"type":"string"}})", {"1", "{}", "[]"}, {R"("a")"}},
    {R"({"if":{"properties":{"k":{"const":1}},"required":["k"]},"then":{"required":["x"]},
         "type":"object"})",
     {R"({"k":1,"x":2})", R"({"k":2})", R"({})"},
     {R"({"k":1})"}},
    {R"({"type":"array","prefixItems":[{"type":"null"},{"type":"integer"}],"items":false})",
     {"[]", "[null]", "[null,1]"},
     {"[1]", "[null,1,1]"}},
    {R"({"type":"array","items":{"enum":[1,2,3]},"uniqueItems":true,"minItems":2})",
     {"[1,2]", "[3,1,2]"},
     {"[1]", "[1,1]", "[1,2,3,1]"}},
    {R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":5},"maxContains":1})",
     {"[5]", "[1,6,2]"},
     {"[]", "[1]", "[5,6]"}},
    {R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":
         {"next":{"$ref":"#/$defs/n"}},"additionalProperties":false}}})",
     {R"({})", R"({"next":{"next":{}}})"},
     {R"({"next":1})"}},
    {R"({"$defs":{"a~b/c%":{"anyOf":[{"type":"null"}]}},"$ref":"#/$defs/a~0b~1c%25/anyOf/0"})",
     {"null"},
     {"1"}},
    {R"({"properties":{"left":{"anyOf":[{"type":"null"},{"type":"string"}]},
                       "right":{"$ref":"#/properties/left/anyOf/0"}},"required":["right"]})",
     {R"({"left":"a","right":null})"},
     {R"({"right":"a"})"}},
    {R"({"$schema":"http://json-schema.org/draft-04/schema#","minimum":3,"exclusiveMinimum":true})",
     {"3.5", "4"},
     {"3", "3.0"}},
    // What a draft does not know says nothing in it.
    {R"({"$schema":"http://json-schema.org/draft-04/schema#","if":{"type":"string"},
         "then":{"minLength":3},"const":7,"propertyNames":false,"format":"hostname"})",
     {"1", R"("a")", R"("xn--x.ab--c")", R"({"a":1})"},
     {R"("-a")"}},
    {R"({"$schema":"http://json-schema.org/draft-07/schema#","contentEncoding":"base64"})",
     {R"("eyJmb28iOiAiYmFyIn0K")", R"("")", "1"},
     {R"("eyJmb28iOi%iYmFyIn0K")", R"("abc")"}},
    {R"({"contentEncoding":"base64","contentMediaType":"application/json"})", {R"("%")"}, {}},
    {R"({"type":"object","additionalProperties":{"type":"integer"},"properties":{"a\"b":{}}})",
     {R"({"a\"b":"s"})"},
     {R"({"z":"s"})"}},
};

TEST(JsonSchemaTest, AcceptsWhatIsValidAndNothingElse) {
  for (const Case& c : kCases) {
    const auto grammar = CompileJsonSchemaText(c.schema);
    ASSERT_TRUE(grammar) << c.schema << ": " << grammar.error().message;
    for (const std::string_view text : c.valid) {
      const auto matches = Matches(*grammar, text);
      EXPECT_TRUE(matches && *matches) << c.schema << " must take " << text;
    }
    for (const std::string_view text : c.invalid) {
      const auto matches = Matches(*grammar, text);
      EXPECT_TRUE(matches && !*matches) << c.schema << " must not take " << text;
    }
  }
}

TEST(JsonSchemaTest, RefusesWhatItCannotEnforceWithItsPlace) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"properties":{"a":{"$ref":"https://example.com/x"}}})", "#/properties/a/$ref"},
      {R"({"properties":{"a":{"format":"regex"}}})", "#/properties/a/format"},
      {R"x({"items":{"pattern":"a(?=b)"}})x", "#/items/pattern"},
      {R"({"items":{"multipleOf":-1}})", "#/items/multipleOf"},
      {R"({"$schema":"http://json-schema.org/draft-07/schema#",
           "contentMediaType":"application/json"})",
       "#/contentMediaType"},
      {R"({"type":"array","uniqueItems":true})", "uniqueItems"},
      {R"({"$ref":"#"})", "circle"},
      {R"({"enum":[]})", ""},
      {R"({"type":"integer","minimum":3,"maximum":2})", ""},
      {R"({"allOf":[{"type":"string"},{"type":"null"}]})", ""},
      {R"({"type":"string","minLength":5,"maxLength":4})", ""},
      {R"(3)", "#"},
  };
  for (const auto& [schema, place] : cases) {
    const auto grammar = CompileJsonSchemaText(schema);
    ASSERT_FALSE(grammar) << schema;
    EXPECT_NE(grammar.error().message.find(place), std::string::npos) << grammar.error().message;
  }
}

TEST(JsonSchemaTest, WhiteSpaceWithinALimitWhereAskedFor) {
  const auto grammar = CompileJsonSchemaText(R"({"type":"array"})", {.max_whitespace = 2});
  ASSERT_TRUE(grammar);
  EXPECT_TRUE(*Matches(*grammar, "[ 1 ,\n {}]"));
  EXPECT_FALSE(*Matches(*grammar, "[   1]"));
}

TEST(JsonSchemaTest, LengthsCountCharactersHoweverTheyAreSpelled) {
  for (const std::size_t n : {1999, 2000, 2001, 8000}) {
    const auto grammar =
        CompileJsonSchemaText(R"({"type":"string","maxLength":)" + std::to_string(n) + "}");
    ASSERT_TRUE(grammar) << grammar.error().message;
    for (const std::string_view c : {"a", R"(\")", R"(\n)", R"(\u001f)", "\xF0\x9F\x98\x80"}) {
      std::string text = "\"";
      for (std::size_t i = 0; i < n; ++i) text += c;
      EXPECT_TRUE(*Matches(*grammar, text + "\"")) << n << c;
      EXPECT_FALSE(*Matches(*grammar, text + std::string(c) + "\"")) << n << c;
    }
  }
}

// Conditions that take more states together than anybody has: refused with their place, or the
// text ends with an error; it never hangs, and nothing that breaks a condition is let through.
TEST(JsonSchemaTest, HostilePatternsTakeBoundedWork) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"x({"pattern":"(a[a-z]{10}){2,5}","maxLength":60,"not":{"pattern":"b[a-z]{9}c"}})x",
       "abcaaaaaabababababcabcabcb"},
      {R"x({"pattern":"a.{1,30}b.{1,30}c","maxLength":200,"not":{"pattern":"d.{5,40}e.{3,20}f"}})x",
       "abcdaaebfaaababdeababcfabcadbcebafbabaab"},
      {R"x({"pattern":"^(a?){50}(a{2,7}|b{1,9}){3,100}$","not":{"pattern":"^(a{3,5}b{2,4}){2,50}"}})x",
       "aaaaabbbaaaabbaaaaaaabbbbbbbbbbbbbbb"},
      {R"x({"allOf":[{"pattern":"a.{20}b"},{"pattern":"c.{21}d"},{"not":{"pattern":"e.{22}f"}}]})x",
       "acebdfhacebdfhacebdfhacebdfh"},
  };
  for (const auto& [strings, text] : cases) {
    const std::string schema =
        R"({"properties":{"p":)" + std::string(strings) + R"(},"required":["p"],"type":"object"})";
    JsonSchemaOptions options;
    options.limits.max_work = 100'000;
    const auto grammar = CompileJsonSchemaText(schema, options);
    if (!grammar) {
      EXPECT_EQ(grammar.error().code, ErrorCode::kResourceExhausted) << schema;
      EXPECT_EQ(grammar.error().message.find("#/properties/p"), 0) << grammar.error().message;
      continue;
    }
    AutomatonLimits limits;
    limits.parser.lexer.max_work = 100'000;
    limits.parser.lexer.work_per_byte = 10;
    const auto automaton = std::make_shared<Automaton>(*grammar, nullptr, limits);
    Matcher matcher(automaton);
    Status status = matcher.Accept(R"({"p":")");
    for (std::size_t i = 0; i < text.size() && status; ++i) {
      status = matcher.Accept(text.substr(i, 1));
    }
    ASSERT_FALSE(status) << schema;
    EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted) << status.error().message;
    EXPECT_TRUE(automaton->has_failed());
    EXPECT_FALSE(matcher.Accept("a"));
  }
}

TEST(JsonSchemaTest, LargeSchemasEndInBoundedTime) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"items":)";
  EXPECT_FALSE(CompileJsonSchemaText(deep));
  EXPECT_FALSE(CompileJsonSchemaText(R"({"pattern":")" + std::string(100'000, '(') + "\"}"));
  std::string product = R"({"type":"object","allOf":[)";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    product += (i > 0 ? "," : "") + std::string(R"({"anyOf":[{"required":["a)") + n +
               R"("]},{"required":["b)" + n + R"("]}]})";
  }
  const auto refused = CompileJsonSchemaText(product + "]}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace lattice::grammar
