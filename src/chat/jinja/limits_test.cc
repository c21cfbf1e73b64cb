#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <vector>

#include "chat/jinja/template.h"

namespace lattice::chat::jinja {
namespace {

/// The error of a template without variables, with its code in front; "" when there is none.
std::string Failure(const std::string& source, const Limits& limits = {.max_steps = 500'000}) {
  const auto compiled = Template::Parse(source, limits);
  const auto text = compiled ? compiled->Run({}, {}) : Result<Text>(compiled.error());
  if (text) return "";
  return std::to_string(static_cast<int>(text.error().code)) + " " + text.error().message;
}

std::string Repeat(std::string_view text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

struct Hostile {
  const char* name;
  std::string source;
  const char* expected;  // part of the message
};

std::vector<Hostile> HostileTemplates() {
  return {
      {"long range", "{% for i in range(1000000000) %}{% endfor %}", "items in a list"},
      {"huge range", "{{ range(-10**37, 10**37) }}", "too long"},
      {"nested loops",
       "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}"
       "{% endfor %}{% endfor %}{% endfor %}",
       "limit of"},
      {"doubling",
       "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}"
       "{% endfor %}",
       "bytes in a string"},
      {"doubling list",
       "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}"
       "{% endfor %}",
       "items in a list"},
      {"repetition", "{{ 'a' * 10**9 }}", "bytes in a string"},
      {"repetition of nothing", "{{ ('' * 10**30)|length }}{{ [0] * 10**9 }}", "items in a list"},
      {"many strings",
       "{% set ns = namespace(x=[]) %}{% for i in range(500) %}"
       "{% set ns.x = ns.x + ['a' * 10**6] %}{% endfor %}",
       "bytes in all values"},
      {"output", "{% for i in range(99999) %}{{ 'aaaaaaaaaa' * 1000 }}{% endfor %}", "limit of"},
      {"endless macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "levels of evaluation"},
      {"macros in turn",
       "{% macro a(x) %}{% if x %}{% for i in [1] %}{{ b(x) }}{% endfor %}{% endif %}{% endmacro %}"
       "{% macro b(x) %}{% filter upper %}{{ a(x ~ '') }}{% endfilter %}{% endmacro %}{{ a('1') }}",
       "levels of evaluation"},
      {"endless loop call", "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
       "levels of evaluation"},
      {"endless caller",
       "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
       "levels of evaluation"},
      {"nested lists",
       "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}"
       "{% endfor %}{{ ns.x }}",
       "nested lists"},
      {"nested methods",
       "{% set ns = namespace(x={}) %}{% for i in range(9000) %}{% set ns.x = {'a': ns.x}.get %}"
       "{% endfor %}",
       "nested lists"},
      {"a namespace in itself", "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
       "levels of evaluation"},
      {"tree of one node",
       "{% set ns = namespace(x=[1, 1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
       "{% endfor %}{{ ns.x|tojson }}",
       "limit of"},
      {"comparing trees",
       "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
       "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
       "steps"},
      {"wide indent", "{{ {'a': 1}|tojson(indent=10**9) }}", "at most 100"},
      {"wide format", "{{ '%999999999d' % 1 }}", "places"},
      {"wide padding", "{{ 'a'.center(10**12) }}", "bytes in a string"},
      {"replacement", "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}", "bytes in a string"},
      {"joining", "{{ ('x' * 10**5).join(range(9999)|map('string')) }}", "bytes in a string"},
      {"filters in filters", "{{ 'a'|map(" + Repeat("'map',", 40'000) + "'upper')|list }}",
       "limit of"},
      {"many characters", "{% for c in 'a' * 10**7 %}{% endfor %}", "items in a list"},
      {"power", "{{ 10 ** 100 }}", "too large"},
      {"parentheses", "{{ " + Repeat("(", 50'000) + "1" + Repeat(")", 50'000) + " }}",
       "nested levels"},
      {"brackets", "{{ " + Repeat("[", 50'000) + Repeat("]", 50'000) + " }}", "nested levels"},
      {"signs", "{{ " + Repeat("-", 100'000) + "1 }}", "nested levels"},
      {"nots", "{{ " + Repeat("not ", 40'000) + "1 }}", "nested levels"},
      {"sum", "{{ 1" + Repeat("+1", 100'000) + " }}", "an expression of more than"},
      {"path", "{{ a" + Repeat(".a", 100'000) + " }}", "an expression of more than"},
      {"calls", "{{ a" + Repeat("()", 100'000) + " }}", "an expression of more than"},
      {"filters", "{{ a" + Repeat("|e", 100'000) + " }}", "an expression of more than"},
      {"choices", "{{ 1" + Repeat(" if 1", 40'000) + " }}", "an expression of more than"},
      {"choices in else", "{{ 1" + Repeat(" if 1 else 1", 20'000) + " }}", "nested levels"},
      {"tests", "{{ " + Repeat("1 is eq (", 20'000) + "1" + Repeat(")", 20'000) + " }}",
       "nested levels"},
      {"targets", "{% set " + Repeat("(", 50'000) + "a" + Repeat(")", 50'000) + " = 1 %}",
       "nested levels"},
      {"blocks", Repeat("{% if 1 %}", 20'000), "nested levels"},
      {"loops", Repeat("{% for a in b %}", 15'000), "nested levels"},
      {"a long template", Repeat("a", 2'000'000), "the limit is"},
      {"a large literal", "{{ 9" + Repeat("9", 100) + " }}", "no usable integer"},
      {"a literal past all doubles", "{{ 1e999 }}", "too large"},
      {"tuples of affixes in tuples",
       "{% set ns = namespace(t=('b', 'b')) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) %}"
       "{% endfor %}{{ 'a'.startswith(ns.t) }}",
       "not tuple"},
      {"named arguments of filters in filters",
       "{% set ns = namespace(p=[]) %}{% for i in range(20000) %}{% set ns.p = ns.p + [[i ~ '', "
       "i]] %}"
       "{% endfor %}{{ 'a'|map(" +
           Repeat("'map',", 400) + "'upper', **dict(ns.p))|list }}",
       "limit of"},
  };
}

// Templates that look again and again at a string of 10^6 bytes, or keep what refers to it.
std::vector<Hostile> TemplatesWithALongString() {
  const auto again = [](const std::string& expression) {
    return "{% set s = 'a' * 10**6 %}{% set u = '\u00e4' * 10**6 %}{% set n = '0' * 10**6 %}"
           "{% set d = {'b': 1} %}{% set ns = namespace(x=0, l=[]) %}{% for i in range(99999) %}{% "
           "set ns.x = " +
           expression + " %}{% endfor %}";
  };
  return {
      {"counting words", again("s|wordcount"), "steps"},
      {"a separator that is missing", again("s.partition('b')[0] is string"), "steps"},
      {"a separator that is missing on the right", again("s.rpartition('b')[0] is string"),
       "steps"},
      {"almost a prefix", again("s.removeprefix(s ~ 'b')|length"), "limit of"},
      {"characters at the end", again("u[999990:999991]"), "steps"},
      {"a cut at the end", again("u|truncate(999990, false, '', 0) is string"), "limit of"},
      {"digits", again("n|int"), "steps"},
      {"digits of a real number", again("n|float"), "steps"},
      {"a key", again("d.get(s)"), "steps"},
      {"a key in a dict", again("s in d"), "steps"},
      {"an item", again("d[s] is defined"), "limit of"},
      {"an attribute's path", again("[d]|map(attribute=s)|list|length"), "limit of"},
      {"reasons of what is undefined",
       again("i") + "{% for i in range(9999) %}"
                    "{% set ns.l = ns.l + [d[s]] %}{% endfor %}",
       "limit of"},
      {"copies of a key",
       again("i") + "{% for i in range(9999) %}"
                    "{% set ns.l = ns.l + [{s: 1}] %}{% endfor %}",
       "limit of"},
  };
}

TEST(JinjaLimitsTest, EveryLookAtALongStringCounts) {
  for (const Hostile& hostile : TemplatesWithALongString()) {
    SCOPED_TRACE(hostile.name);
    EXPECT_NE(Failure(hostile.source, {.max_steps = 2'000'000}).find(hostile.expected),
              std::string::npos)
        << Failure(hostile.source, {.max_steps = 2'000'000});
  }
}

TEST(JinjaLimitsTest, MarkedStringsShareTheirBytes) {
  const Text text(std::string(1000, 'a'));
  EXPECT_EQ(text.AsMarkup(true).view().data(), text.view().data());
  EXPECT_TRUE(text.AsMarkup(true).is_markup());
  EXPECT_FALSE(text.is_markup());
}

TEST(JinjaLimitsTest, OriginsOfBytesCountAsMemory) {
  const auto compiled = Template::Parse("{% set x = u|list|join(',') %}{{ (x ~ x)|length }}",
                                        {.max_built_bytes = 4000});
  ASSERT_TRUE(compiled) << compiled.error().message;
  Variables variables;
  variables.values.emplace_back("u", Value(Text(std::string(50, 'a'), Origin::kUser)));
  const auto text = compiled->Run(variables, {});
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("bytes in all values"), std::string::npos)
      << text.error().message;
}

TEST(JinjaLimitsTest, ManyVariablesCostTimeWhereTheyAreLookedUp) {
  std::string source;
  for (int i = 0; i < 5000; ++i) source += "{% set v" + std::to_string(i) + " = 1 %}";
  source += "{% for i in range(99999) %}{{ v4999 }}{% endfor %}";
  EXPECT_NE(Failure(source, {.max_steps = 2'000'000}).find("steps"), std::string::npos);
}

TEST(JinjaLimitsTest, TheLargestIntegersAreRefusedOrHaveAnAnswer) {
  const std::string largest = "170141183460469231731687303715884105727";
  const auto run = [](const std::string& expression) {
    const auto compiled = Template::Parse("{{ " + expression + " }}");
    const auto text = compiled ? compiled->Run({}, {}) : Result<Text>(compiled.error());
    return text ? std::string(text->view()) : text.error().message;
  };
  const std::string smallest = "(-" + largest + " - 1)";
  EXPECT_EQ(run("'-5'.zfill(" + smallest + ")"), "-5");
  EXPECT_EQ(run("'5'.zfill(" + smallest + ")"), "5");
  EXPECT_EQ(run("'abc'.center(" + smallest + ")"), "abc");
  EXPECT_EQ(run("'abc'|truncate(" + largest + ", false, '...', " + largest + ")"), "abc");
  EXPECT_EQ(run("range(2**100, -(2**100), " + smallest + ")|length"), "1");
  EXPECT_EQ(run("range(0, 2**100, 2**99)"),
            "range(0, 1267650600228229401496703205376, 633825300114114700748351602688)");
}

TEST(JinjaLimitsTest, HostileTemplatesEndWithAnErrorThatNamesTheLimit) {
  for (const Hostile& hostile : HostileTemplates()) {
    SCOPED_TRACE(hostile.name);
    EXPECT_NE(Failure(hostile.source).find(hostile.expected), std::string::npos)
        << Failure(hostile.source);
  }
}

// A default thread of a server has 8 MiB; half of that must do in this build with its sanitizers.
void* RunDeepTemplates(void*) {
  for (const Hostile& hostile : HostileTemplates()) {
    if (std::string_view(hostile.expected) == "levels of evaluation" ||
        std::string_view(hostile.expected) == "nested levels") {
      EXPECT_NE(Failure(hostile.source), "") << hostile.name;
    }
  }
  return nullptr;
}

TEST(JinjaLimitsTest, HalfAnOrdinaryStackIsEnough) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{4} << 20), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, RunDeepTemplates, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(JinjaLimitsTest, EachLimitIsTheCallersToSet) {
  const std::string exhausted = std::to_string(static_cast<int>(ErrorCode::kResourceExhausted));
  const auto fails = [&](const std::string& source, const Limits& limits, const char* what) {
    const std::string failure = Failure(source, limits);
    EXPECT_TRUE(failure.starts_with(exhausted)) << failure;
    EXPECT_NE(failure.find(what), std::string::npos) << failure;
    EXPECT_EQ(Failure(source), "");
  };
  fails("{{ 1 + 1 }}", {.max_steps = 2}, "2 steps");
  fails("aaaa{{ 1 }}", {.max_output_bytes = 4}, "4 bytes of output");
  fails("{{ 'a' * 5 }}", {.max_string_bytes = 4}, "4 bytes in a string");
  fails("{{ [1, 2, 3]|length }}", {.max_list_items = 2}, "2 items in a list");
  fails("{{ ((((1)))) }}", {.max_nesting = 4}, "4 nested levels");
  fails("{{ 1 + 2 * 3 }}", {.max_depth = 2}, "2 levels of evaluation");
  fails("{{ [[[1]]] }}", {.max_values = 2}, "2 nested lists");
  fails("{{ 'abc' ~ 'def' }}", {.max_built_bytes = 8}, "bytes in all values");
  fails("{{ 1 }}", {.max_source_bytes = 3}, "the limit is 3");
}

TEST(JinjaLimitsTest, WhatOutlivesItsBlockStaysUsable) {
  const auto compiled = Template::Parse(
      "{% set ns = namespace() %}{% for i in [1, 2] %}{% set j = i * 10 %}"
      "{% macro m() %}{{ i }}{{ j }}{% endmacro %}{% set ns.m = m %}{% set ns.loop = loop %}"
      "{% endfor %}{{ ns.m() }} {{ ns.loop.index }}{{ ns.loop.revindex0 }} "
      "{% for t in [[[]]] recursive %}{% set ns.l = loop %}.{% endfor %}{{ ns.l([[1], [2]]) }}");
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto text = compiled->Run({}, {});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->view(), "220 20 ...");
}

}  // namespace
}  // namespace lattice::chat::jinja
