#include "chat/tools/call_parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "chat/tools/typed_value.h"

namespace lattice::chat {
namespace {

constexpr const char* kTools = R"([
  {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
  {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object",
    "$defs": {"Unit": {"enum": ["c", "f"]}, "Day": {"type": "integer"}},
    "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"},
      "limit": {"type": ["number", "null"]}, "unit": {"$ref": "#/$defs/Unit"},
      "day": {"anyOf": [{"$ref": "#/$defs/Day"}, {"type": "null"}]},
      "points": {"type": "array"}, "free": {}}}}}])";

std::shared_ptr<const OfferedTools> Tools() {
  return std::make_shared<OfferedTools>(ParseJson(kTools)->get_array());
}

/// "text|name(arguments)|text" of what an answer consists of.
std::string Shown(const std::vector<AnswerPiece>& pieces) {
  std::string out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const AnswerPiece& piece = pieces[i];
    const bool joins = i > 0 && !piece.is_call() && !pieces[i - 1].is_call();
    if (i > 0 && !joins) out += '|';
    out += piece.is_call() ? piece.call.name + "(" + piece.call.arguments + ")" : piece.text;
  }
  return out;
}

std::string Parse(CallForm form, std::string_view text, std::size_t piece_bytes) {
  CallParser parser(form, Tools());
  std::vector<AnswerPiece> all;
  const auto add = [&](std::vector<AnswerPiece> pieces) {
    for (AnswerPiece& piece : pieces) all.push_back(std::move(piece));
  };
  for (std::size_t i = 0; i < text.size(); i += piece_bytes) {
    add(parser.Push(text.substr(i, piece_bytes)));
  }
  add(parser.Finish());
  return Shown(all);
}

struct Case {
  const char* text;
  const char* shown;  // null: the text itself
};

void Check(CallForm form, std::initializer_list<Case> cases) {
  for (const Case& test : cases) {
    const std::string expected = test.shown == nullptr ? test.text : test.shown;
    for (std::size_t n = 1; n <= 60; ++n) {
      ASSERT_EQ(Parse(form, test.text, n), expected) << "in pieces of " << n;
    }
    const std::string_view text = test.text;
    for (std::size_t split = 0; split <= text.size(); ++split) {
      CallParser parser(form, Tools());
      std::vector<AnswerPiece> all = parser.Push(text.substr(0, split));
      for (auto& piece : parser.Push(text.substr(split))) all.push_back(std::move(piece));
      for (auto& piece : parser.Finish()) all.push_back(std::move(piece));
      ASSERT_EQ(Shown(all), expected) << "split at " << split;
    }
  }
}

TEST(CallParserTest, HermesCallsAreFound) {
  Check(CallForm::kHermes,
        {{"<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>", "now({})"},
         {"I look.\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"P}{\\\"\", "
          "\"x\": 1.50}}\n</tool_call>\n<tool_call>{\"name\": \"now\"}</tool_call>",
          "I look.|weather({\"city\": \"P}{\\\"\", \"x\": 1.50})|now({})"},
         {"a <tool_call>{\"name\":\"now\",\"arguments\":null}</tool_call> b", "a|now({})|  b"},
         {"<tool_call>{\"name\":\"now\",\"arguments\":\"{\\\"a\\\": 1}\"}</tool_call>",
          "now({\"a\": 1})"},
         {"<tool_call>{\"arguments\":{\"a\":\"1\n2\"},\"name\":\"now\"}", "now({\"a\":\"1\\n2\"})"},
         {"<tool_call>[{\"name\":\"now\"},{\"function\":{\"name\":\"b\",\"parameters\":{}}}]",
          "now({})|b({})"},
         {"\n <tool_call>{\"name\":\"now\"}</tool_call>\n", "now({})"},
         {"\n no call \n", nullptr},
         {"<tool_call>{\"name\":\"now\"} tail</tool_call>", "now({})|tail</tool_call>"},
         {"<tool_call>{\"name\":\"now\"}</tool", "now({})|</tool"}});
}

TEST(CallParserTest, WhatIsNoCallIsText) {
  Check(CallForm::kHermes,
        {{"<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": ", nullptr},
         {"<tool_call>\nnot json</tool_call>", nullptr},
         {"<tool_call>{\"name\": \"\"}</tool_call>", nullptr},
         {"<tool_call>{\"name\": \"a b\"}</tool_call>", nullptr},
         {"<tool_call>{\"name\": \"now\", \"arguments\": [1]}</tool_call>", nullptr},
         {"<tool_call>{\"name\": \"now\", \"arguments\": {1}}</tool_call>", nullptr},
         {"<tool_call>{\"name\": 5}</tool_call>", nullptr},
         {"<tool_call>[]</tool_call>", nullptr},
         {"<tool_ca", nullptr},
         {"<tool_call>", nullptr},
         {"a < b <tool_c all>", nullptr},
         {"<tool_call>{\"name\": <tool_call>{\"name\":\"now\"}</tool_call>",
          "<tool_call>{\"name\":|now({})"},
         {"<tool_call><tool_call>{\"name\":\"now\"}</tool_call>", "<tool_call>|now({})"}});
  Check(CallForm::kXml, {{"<tool_call>\n<function=now>\n<param", nullptr},
                         {"<tool_call>\n<function=>\n</function>", nullptr},
                         {"<tool_call>{\"name\":\"now\"}</tool_call>", nullptr},
                         {"<function=now><parameter=>1</parameter></function>", nullptr}});
  Check(CallForm::kLlama, {{"{\"answer\": {\"name\": 1}}", nullptr},
                           {"{\"name\": \"other\", \"parameters\": {}}", nullptr},
                           {"Here: {\"name\": \"now\", \"parameters\": {}}", nullptr},
                           {"<|python_tag|>print(1)", nullptr},
                           {"{\"name\": \"now\", \"para", nullptr}});
  Check(CallForm::kMistral, {{"[TOOL_CALLS]", nullptr},
                             {"[TOOL_CALLS]now", nullptr},
                             {"[TOOL_CALLS]a b[ARGS]{}", nullptr},
                             {"[TOOL_CALLS][{\"name\":1}]", nullptr}});
  Check(CallForm::kGemma, {{"<|tool_call>call:now{", nullptr},
                           {"<|tool_call>call:now{a:1]}<tool_call|>", nullptr},
                           {"<|tool_call>call:now{a}<tool_call|>", nullptr},
                           {"<|tool_call>call:now{a:<|\"|>never", nullptr},
                           {"<|tool_call>call:{}<tool_call|>", nullptr}});
}

TEST(CallParserTest, XmlCallsAreTypedByTheirSchema) {
  Check(CallForm::kXml,
        {{"<tool_call>\n<function=now>\n</function>\n</tool_call>", "now({})"},
         {"Well.\n\n<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n"
          "<parameter=days>\n5\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n"
          "</function>\n</tool_call>\nDone",
          "Well.|weather({\"city\": \"Paris\", \"days\": 5, \"exact\": true})|\n\n\nDone"},
         {"<function=weather><parameter=city>5</parameter><parameter=days>five</parameter>"
          "<parameter=limit>null</parameter><parameter=unit>c</parameter></function>",
          "weather({\"city\": \"5\", \"days\": \"five\", \"limit\": null, \"unit\": \"c\"})"},
         {"<function=weather><parameter=city>\na\n</parameter>b</parameter>\n</parameter>"
          "<parameter=points>[1, 2.50]</parameter></function>",
          "weather({\"city\": \"a\\n</parameter>b</parameter>\", \"points\": [1, 2.50]})"},
         {"<tool_call><function=now></function><function=now></function></tool_call>",
          "now({})|now({})"}});
}

TEST(CallParserTest, ValuesHaveTheTypeThatFits) {
  const auto tools = Tools();
  const boost::json::object* schema = tools->Parameters("weather");
  EXPECT_EQ(TypedValue("7", "day", schema), "7");
  EXPECT_EQ(TypedValue("None", "day", schema), "null");
  EXPECT_EQ(TypedValue("7.5", "day", schema), "\"7.5\"");
  EXPECT_EQ(TypedValue(" 7 ", "days", schema), "7");
  EXPECT_EQ(TypedValue(" 7 ", "city", schema), "\" 7 \"");
  EXPECT_EQ(TypedValue("{\"a\": 1}", "free", schema), "{\"a\": 1}");
  EXPECT_EQ(TypedValue("{\"a\": 1}", "unknown", nullptr), "{\"a\": 1}");
  EXPECT_EQ(TypedValue("\"a\"", "free", schema), "\"\\\"a\\\"\"");
  EXPECT_EQ(TypedValue("", "days", schema), "\"\"");
  const auto loop = ParseJson(R"({"properties": {"a": {"$ref": "#/properties/a"}}})");
  EXPECT_EQ(TypedValue("x", "a", &loop->get_object()), "\"x\"");
}

TEST(CallParserTest, LlamaCallsAreTheWholeAnswer) {
  Check(CallForm::kLlama,
        {{"{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\"}}",
          "weather({\"city\": \"Paris\"})"},
         {" {\"type\": \"function\", \"name\": \"now\", \"parameters\": {}}", "now({})"},
         {"{\"name\": \"now\"}; {\"name\": \"now\"}", "now({})|now({})"},
         {"<|python_tag|>{\"name\": \"now\", \"parameters\": {}}", "now({})"},
         {"A. <|python_tag|>{\"name\": \"now\"}", "A.|now({})"}});
}

TEST(CallParserTest, GemmaCallsBecomeJson) {
  Check(CallForm::kGemma,
        {{"<|tool_call>call:now{}<tool_call|>", "now({})"},
         {"A<|tool_call>call:weather{city:<|\"|>a\"{,}:<tool_call|>\n<|\"|>,days:5,on:true}"
          "<tool_call|><|tool_call>call:now{list:[1,<|\"|>b<|\"|>,{<|\"|>k<|\"|>:-2.5}],w:word}"
          "<tool_call|>",
          "A|weather({\"city\":\"a\\\"{,}:<tool_call|>\\n\",\"days\":5,\"on\":true})|"
          "now({\"list\":[1,\"b\",{\"k\":-2.5}],\"w\":\"word\"})"}});
}

TEST(CallParserTest, MistralCallsComeInTwoWays) {
  Check(CallForm::kMistral,
        {{"[TOOL_CALLS][{\"name\": \"now\", \"arguments\": {}, \"id\": \"123456789\"}, "
          "{\"name\": \"weather\", \"arguments\": {\"city\": \"P\"}}]",
          "now({})|weather({\"city\": \"P\"})"},
         {"[TOOL_CALLS] [{\"name\": \"now\"}]", "now({})"},
         {"Hm[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{\"days\": 1}",
          "Hm|now({})|weather({\"days\": 1})"},
         {"[TOOL_CALLS]now{}", "now({})"}});
}

TEST(CallParserTest, TextComesAsSoonAsItIsCertain) {
  CallParser parser(CallForm::kHermes, Tools());
  EXPECT_EQ(Shown(parser.Push("Let me see <tool")), "Let me see");
  EXPECT_EQ(Shown(parser.Push("s> there")), " <tools> there");
  EXPECT_EQ(Shown(parser.Push("<tool_call>{\"name\":\"no")), "");
  EXPECT_EQ(Shown(parser.Push("w\"}")), "now({})");
}

TEST(CallParserTest, FormsAreFoundInRealTemplates) {
  const std::string fixtures = LATTICE_REFERENCE_FIXTURES;
  if (fixtures.empty()) GTEST_SKIP() << "LATTICE_REFERENCE_FIXTURES is not set";
  const std::map<std::string, CallForm> forms = {
      {"qwen2_5", CallForm::kHermes},       {"qwen3", CallForm::kHermes},
      {"qwq", CallForm::kHermes},           {"hermes3_tools", CallForm::kHermes},
      {"granite4", CallForm::kHermes},      {"qwen3_coder", CallForm::kXml},
      {"qwen3_5", CallForm::kXml},          {"llama3_1", CallForm::kLlama},
      {"llama3_2", CallForm::kLlama},       {"gemma4", CallForm::kGemma},
      {"mistral_nemo", CallForm::kMistral}, {"mistral_small3_2", CallForm::kMistral}};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(fixtures) / "chat_templates")) {
    if (entry.path().extension() != ".jinja") continue;
    const auto found = forms.find(entry.path().stem().string());
    const auto form = FindCallForm(ReadFile(entry.path(), 1 << 20).value());
    EXPECT_EQ(form, found == forms.end() ? std::nullopt : std::optional(found->second))
        << entry.path();
  }
}

}  // namespace
}  // namespace lattice::chat
