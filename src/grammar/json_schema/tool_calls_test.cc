#include "grammar/json_schema/tool_calls.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

#include "grammar/matcher.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

json::object Tool(std::string_view name, json::value parameters, bool strict = true) {
  return {{"name", name}, {"parameters", std::move(parameters)}, {"strict", strict}};
}

// "add" takes two integers, "now" nothing that is known.
json::array SomeTools() {
  return {
      Tool("add", {{"properties", {{"a", {{"$ref", "#/$defs/n"}}}, {"b", {{"$ref", "#/$defs/n"}}}}},
                   {"required", {"a", "b"}},
                   {"additionalProperties", false},
                   {"$defs", {{"n", {{"type", "integer"}}}}}}),
      Tool("now", json::object(), /*strict=*/false)};
}

std::string Offered(std::string_view form, json::array tools, bool parallel = true) {
  return serialize(
      json::object{{"form", form}, {"parallel", parallel}, {"tools", std::move(tools)}});
}

bool Takes(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  const auto matches = Matches(grammar, text);
  EXPECT_TRUE(matches) << matches.error().message;
  return *matches;
}

std::shared_ptr<const Grammar> MustCompile(const std::string& offered) {
  auto grammar = CompileToolCalls(offered);
  EXPECT_TRUE(grammar) << grammar.error().message;
  return *grammar;
}

constexpr std::string_view kAdd = R"({"name": "add", "arguments": {"a": 1, "b": 2}})";

TEST(ToolCallsTest, ACallAndNothingElse) {
  const auto grammar = MustCompile(Offered("call", SomeTools()));
  EXPECT_TRUE(Takes(grammar, kAdd));
  EXPECT_TRUE(Takes(grammar, R"({"name": "now", "arguments": {}})"));
  EXPECT_TRUE(Takes(grammar, R"({"name": "now", "arguments": {"in": ["x", {"y": null}]}})"));
  for (const std::string_view text : {R"({"name": "add", "arguments": {"a": 1}})",
                                      R"({"name": "add", "arguments": {"a": 1, "b": "2"}})",
                                      R"({"name": "sub", "arguments": {}})",
                                      R"({"name": "now", "arguments": []})", "", "hello"}) {
    EXPECT_FALSE(Takes(grammar, text)) << text;
  }
}

TEST(ToolCallsTest, TextThenMarkedCalls) {
  const std::string call = "<tool_call>\n" + std::string(kAdd) + "\n</tool_call>";
  const auto grammar = MustCompile(Offered("hermes", SomeTools()));
  const std::string good[] = {"", "2 < 3 <tool_call", "\xC3\xA9 <tool_call" + call, call,
                              "I add.\n\n" + call + "\n" + call};
  for (const std::string& text : good) EXPECT_TRUE(Takes(grammar, text)) << text;
  const std::string bad[] = {
      "<tool_call>", "<tool_call> ",
      call + " and", call + call,
      "\xC3",        "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>"};
  for (const std::string& text : bad) EXPECT_FALSE(Takes(grammar, text)) << text;
  const auto one = MustCompile(Offered("hermes", SomeTools(), /*parallel=*/false));
  EXPECT_TRUE(Takes(one, call));
  EXPECT_FALSE(Takes(one, call + "\n" + call));
}

TEST(ToolCallsTest, TextOrBareCalls) {
  const std::string call = R"({"name": "add", "parameters": {"a": 1, "b": 2}})";
  const auto grammar = MustCompile(Offered("llama", SomeTools()));
  const std::string good[] = {"hello", R"({"answer": 4})", R"(a {"name": 1})", call,
                              call + "; " + call};
  for (const std::string& text : good) EXPECT_TRUE(Takes(grammar, text)) << text;
  const std::string bad[] = {R"({"name": 1})", R"( { "function" )", call + " and"};
  for (const std::string& text : bad) EXPECT_FALSE(Takes(grammar, text)) << text;
}

TEST(ToolCallsTest, WhatCannotBeEnforcedIsRefusedOfStrictToolsAlone) {
  const json::value hard = {{"properties", {{"a", {{"format", "regex"}}}}}};
  const auto refused = CompileToolCalls(Offered("call", {Tool("find", hard)}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(refused.error().message.starts_with("'find': #/properties/a/format"))
      << refused.error().message;
  const json::value never = {{"required", {"a"}}, {"additionalProperties", false}};
  EXPECT_FALSE(CompileToolCalls(Offered("call", {Tool("find", never), Tool("now", {})})));
  const auto loose = MustCompile(Offered("call", {Tool("find", hard, /*strict=*/false)}));
  EXPECT_TRUE(Takes(loose, R"({"name": "find", "arguments": {"a": 5}})"));
}

TEST(ToolCallsTest, AHundredKilobytesOfTools) {
  json::array tools;
  for (int t = 0; t < 100; ++t) {
    json::object properties;
    for (int p = 0; p < 8; ++p) {
      properties["property_" + std::to_string(t) + "_" + std::to_string(p)] = {
          {"description", "What it is: a text, or a list of numbers of its kind"},
          {"anyOf",
           {{{"type", "string"}, {"maxLength", 40 + p}},
            {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", t}}}}}}};
    }
    tools.push_back(Tool("tool_" + std::to_string(t),
                         {{"properties", std::move(properties)}, {"additionalProperties", false}}));
  }
  const std::string offered = Offered("hermes", std::move(tools));
  ASSERT_GT(offered.size(), 100'000u);
  const auto grammar = MustCompile(offered);
  EXPECT_TRUE(Takes(grammar,
                    "So:\n<tool_call>\n{\"name\": \"tool_77\", \"arguments\": "
                    "{\"property_77_3\": [77, 80]}}\n</tool_call>"));
  EXPECT_FALSE(Takes(grammar,
                     "So:\n<tool_call>\n{\"name\": \"tool_77\", \"arguments\": "
                     "{\"property_77_3\": [76]}}\n</tool_call>"));
}

}  // namespace
}  // namespace lattice::grammar
