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

std::string Offered(std::string_view form, json::array tools, bool parallel = true,
                    json::array control_marks = {}) {
  return serialize(json::object{{"form", form},
                                {"parallel", parallel},
                                {"control_marks", std::move(control_marks)},
                                {"tools", std::move(tools)}});
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

TEST(ToolCallsTest, ListsOfCallsBehindAMark) {
  const std::string call(kAdd);
  const auto grammar = MustCompile(Offered("mistral", SomeTools()));
  for (const std::string& text : {std::string("hello [TOOL"), "[TOOL_CALLS][" + call + "]",
                                  "So: [TOOL_CALLS] [" + call + ", " + call + "]"}) {
    EXPECT_TRUE(Takes(grammar, text)) << text;
  }
  for (const std::string& text :
       {std::string("[TOOL_CALLS]"), "[TOOL_CALLS]" + call, "[TOOL_CALLS][" + call + "] and",
        std::string("[TOOL_CALLS][]"), "\xFF[TOOL_CALLS][" + call + "]"}) {
    EXPECT_FALSE(Takes(grammar, text)) << text;
  }
  const auto one = MustCompile(Offered("mistral", SomeTools(), /*parallel=*/false));
  EXPECT_FALSE(Takes(one, "[TOOL_CALLS][" + call + ", " + call + "]"));
}

TEST(ToolCallsTest, NamesBeforeMarkedArguments) {
  const json::array marks = {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"};
  const auto grammar = MustCompile(Offered("mistral", SomeTools(), true, marks));
  const std::string call = "\xFF[TOOL_CALLS]add\xFF[ARGS]{\"a\": 1, \"b\": 2}";
  const std::string with_id = "\xFF[TOOL_CALLS]now\xFF[CALL_ID]abcDEF123\xFF[ARGS]{}";
  for (const std::string& text : {std::string("hello"), call, "So: " + call + with_id}) {
    EXPECT_TRUE(Takes(grammar, text)) << text;
  }
  for (const std::string text :
       {"[TOOL_CALLS]", "[TOOL_CALLS]add[ARGS]{\"a\": 1, \"b\": 2}", "\xFF",
        "\xFF[TOOL_CALLS]sub\xFF[ARGS]{}", "\xFF[TOOL_CALLS]add\xFF[ARGS]{\"a\": 1}",
        "\xFF[TOOL_CALLS]now\xFF[CALL_ID]abc\xFF[ARGS]{}"}) {
    EXPECT_FALSE(Takes(grammar, text)) << text;
  }
}

json::object Typed(json::object tool, json::object types) {
  tool["types"] = std::move(types);
  return tool;
}

// Texts, a number, either of them, and a list.
json::array MarkedTools() {
  return {
      Typed(Tool("find",
                 {{"properties",
                   {{"what", {{"type", "string"}, {"maxLength", 20}}},
                    {"n", {{"$ref", "#/$defs/n"}}},
                    {"key", {{"type", {"string", "integer", "null"}}}},
                    {"tags", {{"type", "array"}, {"items", {{"enum", {"a", "</parameter>"}}}}}}}},
                  {"required", {"what"}},
                  {"$defs", {{"n", {{"type", "integer"}, {"minimum", 3}}}}}}),
            {{"what", {"string"}},
             {"n", {"integer"}},
             {"key", {"string", "integer", "null"}},
             {"tags", {"array"}}}),
      Typed(Tool("now", {{"not", json::object()}}, /*strict=*/false), {})};
}

TEST(ToolCallsTest, ArgumentsOneByOne) {
  const auto find = [](const std::string& parameters) {
    return "<tool_call>\n<function=find>\n" + parameters + "</function>\n</tool_call>";
  };
  const auto parameter = [](const std::string& key, const std::string& value) {
    return "<parameter=" + key + ">\n" + value + "\n</parameter>\n";
  };
  const auto grammar = MustCompile(Offered("xml", MarkedTools()));
  const std::string what = parameter("what", "\"a\" <b>\n5");
  for (const std::string& text :
       {std::string("hello <tool_call"), find(what),
        "So:\n" + find(what) + "\n" + find(parameter("what", "")),
        find(parameter("what", "55") + parameter("n", "3")), find(what + parameter("key", "null")),
        find(what + parameter("key", "none")), find(what + parameter("tags", "[\"a\", \"a\"]")),
        "<tool_call>\n<function=now>\n" + parameter("any key", "{") +
            "</function>\n</tool_call>"}) {
    EXPECT_TRUE(Takes(grammar, text)) << text;
  }
  for (const std::string& text :
       {std::string("<function=find>"), std::string("<tool_call>"), find(""),
        find(parameter("what", "a text of more than 20")), find(parameter("what", "a</parameter>")),
        find(what + parameter("n", "2")), find(what + parameter("n", "three")),
        find(what + parameter("key", "5.5")), find(what + parameter("key", " True")),
        find(what + parameter("other", "a")), find(what + parameter("tags", "[\"</parameter>\"]")),
        find(what + parameter("tags", "[b]")), find(what) + " and"}) {
    EXPECT_EQ(Takes(grammar, text), text.find(" True") != text.npos) << text;
  }
  const auto refused = CompileToolCalls(Offered(
      "xml",
      {Typed(Tool("find", {{"properties", {{"a", true}, {"b", true}}}, {"minProperties", 1}}),
             {})}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(ToolCallsTest, BareKeysAndMarkedTexts) {
  const json::object parameters = {
      {"properties",
       {{"city", {{"type", "string"}, {"minLength", 2}}},
        {"at", {{"properties", {{"x y", {{"type", "number"}}}}}, {"type", "object"}}},
        {"tags", {{"type", "array"}, {"items", {{"type", "string"}}}}}}},
      {"required", {"city"}},
      {"additionalProperties", false}};
  const json::array marks = {"<|tool_call>", "<tool_call|>", "<|\"|>"};
  for (const bool is_control : {false, true}) {
    const auto grammar = MustCompile(
        Offered("gemma", {Tool("weather", parameters)}, true, is_control ? marks : json::array()));
    const auto call = [&](std::string arguments) {
      const std::string lead = is_control ? "\xFF" : "";
      for (std::size_t at = 0; (at = arguments.find('$', at)) != arguments.npos;) {
        arguments.replace(at, 1, lead + "<|\"|>");
      }
      return lead + "<|tool_call>call:weather" + arguments + lead + "<tool_call|>";
    };
    const std::string good = call("{city:$Par\"is$,at:{$x y$:1.5},tags:[$a$,$$]}");
    for (const std::string& text :
         {std::string("hello"), good, "So: " + good + call("{city:$Rome$}")}) {
      EXPECT_TRUE(Takes(grammar, text)) << text;
    }
    for (const std::string& text :
         {call("{city:$P$}"), call("{}"), call("{\"city\":$Paris$}"), call("{city:Paris}"),
          call("{city:$Paris$,sea:1}"), call("{city:$Pa<|\"|>ris$}"), good + ".",
          std::string("<|tool_call>")}) {
      EXPECT_FALSE(Takes(grammar, text)) << text;
    }
  }
}

TEST(ToolCallsTest, MarksThatAreTokensComeAsTheseAlone) {
  const std::string call = "\xFF<tool_call>\n" + std::string(kAdd) + "\n\xFF</tool_call>";
  const auto grammar =
      MustCompile(Offered("hermes", SomeTools(), true, {"<tool_call>", "</tool_call>"}));
  EXPECT_TRUE(Takes(grammar, "So: " + call + "\n" + call));
  EXPECT_FALSE(Takes(grammar, "<tool_call>\n" + std::string(kAdd) + "\n</tool_call>"));
  EXPECT_FALSE(Takes(grammar, "<tool_call>"));
}

TEST(ToolCallsTest, ABrokenToolLeavesNothingBehind) {
  // The second is refused at its last member; both others are still enforced.
  json::array tools = SomeTools();
  tools.insert(tools.begin() + 1,
               Tool("hard",
                    {{"properties",
                      {{"a", {{"type", "string"}, {"pattern", "^(a|b){3,90}c$"}}},
                       {"b", {{"format", "regex"}}}}}},
                    /*strict=*/false));
  tools.push_back(Tool("last", {{"required", {"x"}},
                                {"properties", {{"x", {{"type", "boolean"}}}}},
                                {"additionalProperties", false}}));
  const auto grammar = MustCompile(Offered("call", std::move(tools)));
  EXPECT_TRUE(Takes(grammar, kAdd));
  EXPECT_TRUE(Takes(grammar, R"({"name": "hard", "arguments": {"a": 5, "b": []}})"));
  EXPECT_TRUE(Takes(grammar, R"({"name": "last", "arguments": {"x": true}})"));
  EXPECT_FALSE(Takes(grammar, R"({"name": "last", "arguments": {"x": 1}})"));
  EXPECT_FALSE(Takes(grammar, R"({"name": "add", "arguments": {"a": 1}})"));
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
