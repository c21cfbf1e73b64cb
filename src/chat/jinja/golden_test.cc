#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/jinja/json_value.h"
#include "chat/jinja/template.h"

namespace lattice::chat::jinja {
namespace {

std::string Str(const boost::json::value& value) {
  const auto& text = value.as_string();
  return std::string(text.data(), text.size());
}

/// What a small template prints, or "error: ..." with the error's message.
std::string Outcome(const std::string& source, const Variables& variables, const CivilTime& now) {
  const auto compiled = Template::Parse(source);
  if (!compiled) return "error: " + compiled.error().message;
  const auto text = compiled->Run(variables, now);
  return text ? std::string(text->view()) : "error: " + text.error().message;
}

/// Small templates for every statement, operator, filter, test and method, against Jinja2.
TEST(JinjaGoldenTest, EveryFeatureIsAsInTheReference) {
  const auto file = ReadFile(LATTICE_FIXTURES "/jinja/cases.json", std::size_t{1} << 20);
  ASSERT_TRUE(file) << file.error().message;
  const auto goldens = ParseJson(*file).value();
  Variables variables;
  for (const auto& [key, value] : goldens.at("data").as_object()) {
    variables.values.emplace_back(std::string(key),
                                  FromJson(value, Origin::kUser, variables.n_bytes));
  }
  const CivilTime now = ParseCivilTime(Str(goldens.at("now"))).value();
  const auto& cases = goldens.at("cases").as_array();
  ASSERT_GT(cases.size(), 100u);
  for (const auto& entry : cases) {
    const auto& row = entry.as_object();
    SCOPED_TRACE(Str(row.at("name")) + ": " + Str(row.at("template")));
    const std::string outcome = Outcome(Str(row.at("template")), variables, now);
    if (const auto* rendered = row.if_contains("rendered")) {
      EXPECT_EQ(outcome, Str(*rendered));
    } else if (row.at("error") == "TemplateError") {
      EXPECT_EQ(outcome, "error: " + Str(row.at("message")));
    } else if (row.at("error") == "TypeError" || row.at("error") == "UndefinedError") {
      // Python's words, for those who know them; only what they are about is promised.
      EXPECT_TRUE(outcome.starts_with("error: line ")) << outcome;
      RecordProperty(Str(row.at("name")), outcome);
    } else {
      EXPECT_TRUE(outcome.starts_with("error: ")) << outcome;
    }
  }
}

TEST(JinjaGoldenTest, ErrorsNameTheLineAndWhatIsWrong) {
  const Variables nothing;
  const CivilTime now;
  const auto outcome = [&](const std::string& source) { return Outcome(source, nothing, now); };
  EXPECT_EQ(outcome("a\n\n{{ b.c }}"), "error: line 3: 'b' is undefined");
  EXPECT_EQ(outcome("{% for a in [1] %}\n{{ a +\n 'x' }}{% endfor %}"),
            "error: line 2: unsupported operand type(s) for +: 'int' and 'str'");
  EXPECT_EQ(outcome("{% macro m() %}\n{{ none.x.y }}{% endmacro %}\n{{ m() }}"),
            "error: line 2: 'None' has no attribute 'x'");
  EXPECT_EQ(outcome("\n{% if x"), "error: line 2: unexpected end of template, expected '%}'");
  EXPECT_EQ(outcome("{% if true %}\n\n"),
            "error: line 2: unexpected end of template, expected 'endif'");
  EXPECT_EQ(outcome("{% include 'x' %}"), "error: line 1: 'include': a chat template stands alone");
  EXPECT_EQ(outcome("\xff"), "error: the template is not valid UTF-8");
  EXPECT_EQ(outcome("{{ '\\ud800' }}"),
            "error: line 1: string literal: an escape names no character");
}

}  // namespace
}  // namespace lattice::chat::jinja
