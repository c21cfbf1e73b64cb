#include "grammar/gbnf.h"

#include <gtest/gtest.h>

#include <string>

#include "grammar/matcher.h"

namespace lattice::grammar {
namespace {

bool Accepts(std::string_view gbnf, std::string_view text) {
  auto grammar = ParseGbnf(gbnf);
  if (!grammar) {
    ADD_FAILURE() << grammar.error().message;
    return false;
  }
  auto matched = Matches(*grammar, text);
  if (!matched) ADD_FAILURE() << matched.error().message;
  return matched && *matched;
}

std::string ErrorOf(std::string_view gbnf) {
  auto grammar = ParseGbnf(gbnf);
  return grammar ? "" : grammar.error().message;
}

constexpr std::string_view kJson = R"(
# JSON over several lines
root   ::= object
value  ::= object | array | text | number | ("true" | "false" | "null") space
object ::=
  "{" space (
    member ("," space member)*
  )? "}" space
member ::= text ":" space value
array  ::= "[" space (value ("," space value)*
  )? "]" space
text   ::= "\"" ( # between quotes
    [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9A-Fa-f]{4})
  )* "\"" space
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,3})? space
space  ::= | " " | "\n" [ \t]{0,20}
)";

TEST(GbnfTest, JsonAsPeopleWriteIt) {
  EXPECT_TRUE(Accepts(kJson, R"({"a": [1, -2.5e+10, "x\n\u00e9", {}, [], null], "b":true})"));
  EXPECT_TRUE(Accepts(kJson, "{\n    \"a\": {\n\t\"b\": 0}}"));
  EXPECT_FALSE(Accepts(kJson, R"({"a": 01})"));
  EXPECT_FALSE(Accepts(kJson, R"({"a": 1,})"));
  EXPECT_FALSE(Accepts(kJson, R"({"a": "\q"})"));
}

TEST(GbnfTest, LinesContinueWhereTheyMust) {
  EXPECT_TRUE(Accepts("root ::= \"a\"\n  | \"b\" |\n \"c\"\nx ::= \"y\"\n", "b"));
  EXPECT_TRUE(Accepts("root ::=\n\n  \"a\" # end\n", "a"));
  EXPECT_TRUE(Accepts("root ::= (\"a\"\n\"b\"\n)\r\n", "ab"));
  EXPECT_TRUE(Accepts("root ::= x-1_Y\nx-1_Y ::= [a-c\\]\\-]+", "a]-"));
}

TEST(GbnfTest, RecursionsAndEmptyRepetitions) {
  EXPECT_TRUE(Accepts("root ::= root \"a\" | \"b\"", "baaa"));
  EXPECT_TRUE(
      Accepts("root ::= ws \"x\"\nws ::= (sp | nl)*\nsp ::= [ \\t]*\nnl ::= \"\\n\"", "  \n \tx"));
  EXPECT_TRUE(Accepts("root ::= a\na ::= b | \"x\"\nb ::= a", "x"));
  EXPECT_TRUE(Accepts("root ::= [^\\n]{2,5000} .", std::string(5001, 'x')));
  EXPECT_FALSE(Accepts("root ::= [^\\n]{2,5000}", std::string(5001, 'x')));
  EXPECT_TRUE(Accepts("root ::= \"\\u00e9\" [\\U0001F600-\\U0001F64F]{,2}", "\u00e9\U0001F601"));
}

TEST(GbnfTest, ErrorsNameLineAndColumn) {
  EXPECT_EQ(ErrorOf("root ::= \"a\"{5,0}"),
            "grammar, line 1, column 13: {m,n} with m greater than n");
  EXPECT_EQ(ErrorOf("root ::= a\n\na ::= \"\u00e9\" b"),
            "grammar, line 3, column 11: the rule 'b' is not defined");
  EXPECT_EQ(ErrorOf("root ::= (\"a\""), "grammar, line 1, column 14: ')' is missing");
  EXPECT_EQ(ErrorOf("a ::= \"b\""), "the grammar has no rule 'root'");
  EXPECT_EQ(ErrorOf("root ::= \"a\"\nroot ::= \"b\""),
            "grammar, line 2, column 1: the rule 'root' is defined twice");
  EXPECT_EQ(ErrorOf("root ::= root \"a\""), "no text matches the grammar");
  for (const char* bad :
       {"root", "root ::= \"a", "root ::= [a", "root ::= [b-a]", "root ::= \"\\q\"",
        "root ::= \"a\"{x}", "root ::= \"a\"{,}", "root ::= )", "root ::= *", "root ::= <think>",
        "root ::= \"\\uD800\"", "::=", "root ::= a ::= b"}) {
    EXPECT_NE(ErrorOf(bad), "") << bad;
  }
  EXPECT_NE(ErrorOf("root ::= " + std::string(100'000, '(')), "");
}

}  // namespace
}  // namespace lattice::grammar
