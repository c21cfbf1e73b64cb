#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "chat/jinja/json_value.h"
#include "chat/jinja/template.h"

namespace lattice::chat::jinja {
namespace {

/// What a template prints, with «» around what came from user data.
std::string Marked(const std::string& source) {
  Variables variables;
  const auto data = ParseJson(R"({"u": "User", "s": "  a b  ", "csv": "x,y,,z", "n": 5,
      "d": {"k": "v\"w"}, "l": ["p", "q"], "html": "<&", "e": "né", "f": "%s-%s {}"})");
  for (const auto& [key, value] : data->as_object()) {
    variables.values.emplace_back(std::string(key),
                                  FromJson(value, Origin::kUser, variables.n_bytes));
  }
  const auto compiled = Template::Parse(source);
  if (!compiled) return compiled.error().message;
  const auto text = compiled->Run(variables, {});
  if (!text) return text.error().message;
  std::string out;
  std::size_t at = 0;
  for (const ByteRange range : text->user_ranges()) {
    EXPECT_LE(at, range.begin);
    EXPECT_LT(range.begin, range.end);
    EXPECT_LE(range.end, text->size());
    out += text->view().substr(at, range.begin - at);
    out += "«" + std::string(text->view().substr(range.begin, range.end - range.begin)) + "»";
    at = range.end;
  }
  return out + std::string(text->view().substr(at));
}

TEST(JinjaOriginTest, EveryOperationKeepsTheOriginOfBytes) {
  EXPECT_EQ(Marked("<{{ u }}>"), "<«User»>");
  EXPECT_EQ(Marked("{{ '<' + u + '>' + 'x' ~ u ~ n }}"), "<«User»>x«User»5");
  EXPECT_EQ(Marked("{{ u + s }}"), "«User  a b  »");
  EXPECT_EQ(Marked("[{{ s|trim }}][{{ s.strip() }}][{{ ('<' + s).lstrip('< ') }}]"),
            "[«a b»][«a b»][«a b  »]");
  EXPECT_EQ(Marked("{{ u[1:3] }}{{ ('ab' + u)[1:4] }}{{ u[::-1] }}{{ e[1] }}{{ ('-' + e)[:2] }}"),
            "«se»b«UsresUé»-«n»");
  EXPECT_EQ(Marked("{{ csv.split(',') | join('|') }}"), "«x»|«y»||«z»");
  EXPECT_EQ(Marked("{{ (u + '/x').split('/') }}"), "['«User»', 'x']");
  EXPECT_EQ(Marked("{{ u.replace('s', '<t>') }}{{ 'a-b'.replace('-', u) }}"), "«U»<t>«er»a«User»b");
  EXPECT_EQ(Marked("{{ u|upper }}{{ ('x' + u)|lower }}{{ ('x' + u).title() }}"),
            "«USER»x«user»X«user»");
  EXPECT_EQ(Marked("{{ d|tojson }}{{ {'k': u}|tojson }}"), R"({"«k»": "«v\"w»"}{"k": "«User»"})");
  EXPECT_EQ(Marked("{{ d }}"), "{'«k»': '«v\"w»'}");
  EXPECT_EQ(Marked("{{ html|e }}{{ '<' + (u|safe) }}"), "«&lt;&amp;»&lt;«User»");
  EXPECT_EQ(Marked("{{ '%s=%5s' % ('a', u) }}{{ '{}:{:>6}'.format(u, u) }}"),
            "a= «UserUser»:  «User»");
  EXPECT_EQ(Marked("{{ f % (1, 'x') }}{{ f.format(2) }}"), "1«-»x« {}%s-%s »2");
  EXPECT_EQ(Marked("{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}{% for c in u %}{{ c }}-"
                   "{% endfor %}"),
            "«kv\"wU»-«s»-«e»-«r»-");
  EXPECT_EQ(Marked("{% set x %}[{{ u }}]{% endset %}{{ x }}{% macro m(a) %}({{ a }}){% endmacro %}"
                   "{{ m(u) }}{{ m('t') }}"),
            "[«User»](«User»)(t)");
  EXPECT_EQ(Marked("{{ l|map('upper')|join(', ') }}{{ (l + ['r'])|last }}{{ l|first }}"),
            "«P», «Q»r«p»");
  EXPECT_EQ(
      Marked("{{ u.center(8, '*') }}{{ u|indent(2, true) }}{{ u|truncate(3, true, '.', 0) }}"),
      "**«User»**  «UserUs».");
  EXPECT_EQ(Marked("{{ 'Us' 'er' }}{{ u == 'User' }}{{ u|length }}{{ {'User': 1}[u] }}"),
            "UserTrue41");
  EXPECT_EQ(Marked("{{ u * 2 }}{{ (u + 'x') * 2 }}{{ u.partition('s')[1] }}"),
            "«UserUserUser»x«User»x«s»");
}

}  // namespace
}  // namespace lattice::chat::jinja
