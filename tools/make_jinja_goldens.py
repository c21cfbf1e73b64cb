"""Writes tests/fixtures/jinja/cases.json: small templates and what Jinja2 makes of them with the settings that
transformers gives it for chat templates. Usage: make_jinja_goldens.py OUTPUT (needs jinja2 3.1.6)."""
import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

DATA = {
    "name": "Ann", "empty": "", "none": None, "yes": True, "no": False, "n": 7, "neg": -3, "pi": 3.25, "big": 12345678901234567890,
    "tiny": 1e-7, "huge": 1e22, "whole": 2.0, "text": "  Straße, né\u00a0日本 \n", "quote": "it's \"q\" \\ \n\t\u0007\u200b", "html": "<a & 'b'>",
    "items": [3, 1, 2], "words": ["pear", "Apple", "fig"], "nested": {"b": {"c": [1, {"d": None}]}, "a": "x"},
    "people": [{"name": "Bo", "age": 3, "ok": True}, {"name": "al", "age": 1, "ok": False}, {"name": "Cy", "age": 2, "ok": True}],
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}],
    "method_keys": {"items": "I", "get": "G", "x y": 1}, "lines": "one\ntwo\r\nthree\n", "csv": "a,b,,c", "emoji": "a👩‍👩‍👧é",
}

CASES = {
    # whitespace control
    "trim_blocks": "a\n{% if yes %}\nb\n{% endif %}\nc\n", "lstrip_blocks": "a\n   {% if yes %}  b{% endif %}   \n  {{ n }}\n",
    "lstrip_off": "a\n   {%+ if yes %}b{% endif +%}\nc", "minus": "a  \n {%- if yes -%} \n b {{- n -}} \n c{% endif %}  {#- gone -#}  d",
    "comment": "a{# x {{ y }} #}\nb\n  {# z #}\nc", "raw": "{% raw %}{{ x }}{% if %}{% endraw %}|{%- raw -%}  {{ a }}  {%- endraw -%}  b",
    "last_newline": "x\n\n", "newlines": "a\r\nb\rc", "output_newline": "{{ n }}\n{{ n }}\n", "braces": "{ {{ {'a': {'b': 1}}.a.b }} } {",
    "tag_in_string": "{{ '%}' ~ \"}}\" }}", "start_of_line": "  {% set a = 1 %}\n  {% set b = 2 %}x", "comment_line": "  {# c #}\nx\n\t{% if yes %}\ny{% endif %}",
    # literals and printing
    "literals": "{{ 1 }} {{ 1.5 }} {{ 1e3 }} {{ 'a' 'b' }} {{ true }} {{ True }} {{ none }} {{ [1, 'a', none] }} {{ (1,) }} {{ () }} {{ {'a': 1} }}",
    "numbers": "{{ 0x1f }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 2.50 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1/3 }}",
    "data_numbers": "{{ big }} {{ tiny }} {{ huge }} {{ whole }} {{ [tiny, huge] }}", "escapes": "{{ 'a\\n\\t\\x41\\u00e9\\\\\\'\\q\\101' }}",
    "repr": "{{ [quote, text, emoji, html] }}", "undefined_prints_nothing": "[{{ nothing }}][{{ nothing.more if false }}]", "nested_print": "{{ nested }}",
    "views": "{{ nested.keys() }} {{ nested.values() }} {{ nested.items() }} {{ range(3) }} {{ range(1, 7, 2) }}",
    # operators
    "arithmetic": "{{ 7 + 2 }} {{ 7 - 9 }} {{ 7 * 2 }} {{ 7 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}",
    "precedence": "{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ -2 ** 2 }} {{ 2 * 3 ~ 4 }} {{ not 1 == 2 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ -1|abs }}",
    "booleans": "{{ 1 and 0 }} {{ '' or 'x' }} {{ none or nothing or 3 }} {{ not '' }} {{ yes and name }} {{ true + true }}",
    "comparisons": "{{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 != '1' }} {{ none == none }} {{ {'a': 1} == {'a': 1.0} }} {{ (1,) == [1] }}",
    "in": "{{ 'b' in 'abc' }} {{ 2 in items }} {{ 'a' in nested }} {{ 9 not in items }} {{ nothing in items }} {{ 'x' in nothing }}",
    "concat": "{{ 'a' ~ 1 ~ none ~ true ~ nothing ~ 1.0 }} {{ 'a' + 'b' }} {{ [1] + [2] }} {{ 'ab' * 3 }} {{ [0] * 2 }} {{ 2 * 'x' }}",
    "inline_if": "{{ 'a' if yes else 'b' }}{{ 'c' if no }}{{ 1 if no else 2 if no else 3 }}", "percent": "{{ '%s-%d-%05.1f-%x-%%-%r' % ('a', 5, 3.14159, 255, 'q') }} {{ '%(a)s' % {'a': 1} }} {{ '%s' % 3 }} {{ '%5s|%-5s|%+d' % ('a', 'b', 3) }}",
    # access
    "attributes": "{{ nested.b.c[1].d }} {{ nested['a'] }} {{ nested.zzz }} {{ items.0 }} {{ items[-1] }} {{ items[9] }} {{ 'abc'[1] }} {{ emoji[-1] }}",
    "method_or_key": "{{ method_keys['items'] }} {{ method_keys['x y'] }} {{ method_keys.items is string }} {{ nested['items'] is mapping }} {{ method_keys.get('get') }}",
    "slices": "{{ items[1:] }} {{ items[:-1] }} {{ items[::-1] }} {{ items[::2] }} {{ 'abcdef'[1:-1:2] }} {{ emoji[1:] }} {{ 'abc'[5:] }} {{ 'abc'[-2:] }} {{ items[-9:9] }} {{ 'abc'[::-1] }}",
    # statements
    "if": "{% if n > 9 %}a{% elif n > 5 %}b{% else %}c{% endif %}{% if no %}{% endif %}{% if 0 %}x{% else %}y{% endif %}",
    "for": "{% for x in items %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ',' if not loop.last }}{% endfor %}",
    "loop_variables": "{% for x in words %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('o', 'e') }}{{ loop.changed(x|length) }}{{ loop.depth }} {% endfor %}",
    "for_else": "{% for x in [] %}a{% else %}none{% endfor %}{% for x in nothing %}a{% else %}undefined{% endfor %}{% for x in [1] %}{% continue %}{% else %}e{% endfor %}",
    "for_if": "{% for p in people if p.ok %}{{ loop.index }}{{ p.name }}{% endfor %}", "for_dict": "{% for k in nested %}{{ k }}{% endfor %}{% for k, v in nested.items() %}{{ k }}={{ v }};{% endfor %}",
    "for_unpack": "{% for a, (b, c) in [(1, (2, 3))] %}{{ a + b + c }}{% endfor %}{% for c in 'né' %}[{{ c }}]{% endfor %}",
    "break_continue": "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "loop_scope": "{% set a = 1 %}{% for i in [1, 2] %}{{ a }}{% set a = a + 10 %}{{ a }} {% endfor %}{{ a }}", "if_scope": "{% if yes %}{% set a = 5 %}{% endif %}{{ a }}",
    "nested_loops": "{% for a in [1, 2] %}{% for b in [3] %}{{ loop.index }}{{ a }}{{ b }}{% endfor %}{{ loop.index }} {% endfor %}",
    "recursive": "{% for t in tree recursive %}{{ t.v }}@{{ loop.depth }}[{{ loop(t.kids) }}]{% endfor %}",
    "set": "{% set a, b = 1, 2 %}{{ b }}{{ a }}{% set c = 1, 2 %}{{ c }}{% set d %}x{{ n }}{% endset %}{{ d }}{% set e | upper | replace('X', 'y') %}x{% endset %}{{ e }}",
    "namespace": "{% set ns = namespace(a=1, b='x') %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}{{ namespace({'q': 2}).q }}",
    "macro": "{% macro m(a, b='d', c=a) %}[{{ a }}|{{ b }}|{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3, a=4) }}{{ m() }}{{ m(1)|length }}",
    "macro_extras": "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m(*[7, 8]) }}{{ m(**{'a': 9}) }}",
    "macro_scope": "{% set x = 1 %}{% macro m() %}{{ x }}{{ later }}{% endmacro %}{{ m() }}{% set x = 2 %}{% set later = 'L' %}{{ m() }}{% macro r(k) %}{{ k }}{% if k %}{{ r(k - 1) }}{% endif %}{% endmacro %}{{ r(3) }}",
    "call": "{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}{% call m(1) %}body{{ n }}{% endcall %}{% macro k() %}{{ caller('p', 2) }}{% endmacro %}{% call(x, y=3) k() %}{{ x }}{{ y }}{% endcall %}",
    "filter_block": "{% filter upper|replace('B', '-') %}abc{{ name }}{% endfilter %}", "with": "{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "generation": "a{% generation %}b{% set q = 1 %}{{ q }}{% endgeneration %}{{ q }}c\n{%- generation %}\nx\n{% endgeneration %}\ny",
    # filters
    "string_filters": "{{ name|upper }} {{ name|lower }} {{ 'hello wORLD-x (y)'|title }} {{ 'hELLO'|capitalize }} [{{ text|trim }}] {{ 'xxaxx'|trim('x') }} {{ 'aXbX'|replace('X', '-', 1) }} {{ 5|string ~ '' }} {{ 'a b  c'|wordcount }} [{{ 'ab'|center(6) }}] {{ 'a/b c&é'|urlencode }}",
    "indent": "{{ 'a\n\nb'|indent }}|{{ 'a\n\nb'|indent(2, true, true) }}|{{ 'a\nb'|indent('> ') }}", "truncate": "{{ 'one two three four'|truncate(11) }} {{ 'one two three four'|truncate(9, true, '~', 0) }} {{ 'short'|truncate(3) }}",
    "escape": "{{ html|e }} {{ html|escape|escape }} {{ html|safe }} {{ '<' ~ (html|safe) }} {{ '<' + ('x'|safe) }} {{ html|forceescape }}", "format_filter": "{{ '%s and %s'|format('a', 2) }} {{ '%(x)d'|format(x=3) }}",
    "number_filters": "{{ -3|abs }} {{ '42'|int }} {{ 'x'|int(9) }} {{ 3.9|int }} {{ '2.5'|float }} {{ 2.5|round }} {{ 3.14159|round(2) }} {{ 3.2|round(0, 'ceil') }} {{ 7|round }} {{ '0x1f'|int(0, 16) }} {{ ' 8 '|int }}",
    "default": "{{ nothing|default('d') }} {{ none|default('d') }} {{ ''|default('d', true) }} {{ nothing|d }} {{ nested.q|default([]) }}", "length": "{{ items|length }} {{ 'né'|count }} {{ nested|length }} {{ nothing|length }}",
    "list_filters": "{{ items|first }} {{ items|last }} {{ 'ab'|list }} {{ items|join('-') }} {{ people|join(',', attribute='name') }} {{ items|reverse|list }} {{ 'abc'|reverse }} {{ items|sum }} {{ people|sum(attribute='age') }} {{ []|first }}",
    "batch_slice": "{{ range(5)|batch(2)|list }} {{ range(5)|batch(2, 'x')|list }} {{ range(5)|slice(2)|list }} {{ range(5)|slice(3, 'f')|list }}",
    "sort": "{{ items|sort }} {{ items|sort(reverse=true) }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ people|sort(attribute='name')|map(attribute='name')|list }}",
    "dictsort": "{{ {'b': 1, 'A': 2, 'c': 0}|dictsort }} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ {'b': 1, 'A': 2}|dictsort(by='value', reverse=true) }}",
    "select": "{{ items|select('gt', 1)|list }} {{ items|reject('odd')|list }} {{ people|selectattr('ok')|map(attribute='age')|list }} {{ people|rejectattr('age', 'equalto', 1)|list|length }} {{ [0, 1, '']|select|list }} {{ words|map('upper')|join }} {{ people|map(attribute='zz', default='-')|list }}",
    "falsy_sequences": "{{ none|selectattr('a')|list }}{{ none|map(attribute='a')|list }}{{ false|reject|list }}{{ 'x' % items }}{{ ['<'|e] }}",
    "generators": "{% set g = items|select('gt', 1) %}{{ 'true' if g else 'false' }}{% for x in g %}{{ x }}{% endfor %}|{% for x in g %}{{ x }}{% endfor %}|{{ (items|map('string')) is sequence }}",
    "unique_min_max": "{{ ['a', 'A', 'b', 'a']|unique|list }} {{ items|min }} {{ words|max }} {{ people|min(attribute='age') }} {{ []|max }}",
    "groupby": "{% for k, g in people|groupby('ok') %}{{ k }}:{{ g|map(attribute='name')|join('+') }};{% endfor %}", "items_filter": "{% for k, v in nested|items %}{{ k }}{% endfor %}{{ {}|items|list }}{{ nothing|items|list }}",
    "tojson": "{{ nested|tojson }} {{ [text, quote, html]|tojson }} {{ [true, none, 1.0, 1e30]|tojson }} {{ {1: 2, none: 3, true: 4}|tojson }}",
    "tojson_options": "{{ nested|tojson(indent=2) }} {{ []|tojson(indent=2) }} {{ {'b': 1, 'a': [1]}|tojson(sort_keys=true, separators=(',', ':')) }} {{ emoji|tojson(ensure_ascii=true) }} {{ [1]|tojson(indent='--') }}",
    "attr_filter": "{{ nested|attr('a') is defined }} {{ namespace(q=1)|attr('q') }}",
    # tests
    "tests": "{{ nothing is defined }}{{ n is defined }}{{ nothing is undefined }}{{ none is none }}{{ n is none }}{{ yes is boolean }}{{ n is boolean }}{{ yes is true }}{{ no is false }}{{ 1 is true }}",
    "type_tests": "{{ n is integer }}{{ yes is integer }}{{ pi is float }}{{ n is number }}{{ yes is number }}{{ name is string }}{{ nested is mapping }}{{ items is mapping }}{{ items is iterable }}{{ n is iterable }}{{ name is iterable }}{{ items is sequence }}{{ nested is sequence }}{{ n is sequence }}{{ nothing is iterable }}{{ range is callable }}",
    "value_tests": "{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 1 is eq 1 }}{{ 1 is ne 1 }}{{ 2 is gt 1 }}{{ 2 is le 1 }}{{ 'a' is in 'abc' }}{{ 'a' is lower }}{{ 'A' is upper }}{{ 1 is sameas true }}{{ none is sameas none }}{{ 'upper' is filter }}{{ 'odd' is test }}{{ 1 is not odd }}{{ not 1 is odd }}",
    # methods
    "split_methods": "{{ csv.split(',') }} {{ csv.split(',', 1) }} {{ csv.rsplit(',', 1) }} {{ ' a b  c '.split() }} {{ ' a b  c '.split(none, 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ lines.splitlines() }} {{ lines.splitlines(true) }} {{ csv.partition(',') }} {{ csv.rpartition(',') }} {{ csv.partition('z') }}",
    "strip_methods": "[{{ text.strip() }}] [{{ 'xyax'.strip('xy') }}] [{{ ' a '.lstrip() }}] [{{ 'a\n\n'.rstrip('\n') }}] {{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'éaé'.strip('é') }}",
    "find_methods": "{{ 'banana'.find('an') }} {{ 'banana'.rfind('an') }} {{ 'banana'.find('x') }} {{ 'banana'.index('n') }} {{ 'banana'.count('a') }} {{ 'éaéa'.find('a', 2) }} {{ 'banana'.count('') }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.startswith('b', 1) }} {{ 'aaa'.count('a', 1) }}",
    "case_methods": "{{ 'aB ß'.upper() }} {{ 'ÀÉ'.lower() }} {{ \"they're x1y\".title() }} {{ 'hELLO wORLD'.capitalize() }} {{ 'aB'.swapcase() }} {{ 'a1'.isalnum() }}{{ 'a'.isalpha() }}{{ '12'.isdigit() }}{{ ''.isdigit() }}{{ ' '.isspace() }}{{ 'aB'.islower() }}{{ 'AB1'.isupper() }}{{ 'é'.isascii() }}",
    "pad_methods": "[{{ 'ab'.center(5) }}] [{{ 'abc'.center(6, '*') }}] [{{ 'a'.ljust(3, '.') }}] [{{ 'a'.rjust(3) }}] {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} [{{ 'a\tb'.expandtabs(4) }}]",
    "join_replace": "{{ ', '.join(words) }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'abc'.replace('', '-') }} {{ 'né'.replace('é', 'e') }}",
    "format_method": "{{ '{} {1} {0}'.format('a', 'b') if false else '{0} {1} {0}'.format('a', 'b') }} {{ '{x:>5}|{y:<4}|{z:^5}|{w:05d}'.format(x='a', y='b', z='c', w=42) }} {{ '{:.2f} {:,} {:x} {:e}'.format(3.14159, 1234567, 255, 12345.678) }} {{ '{{}} {a.name} {b[0]}'.format(a=people[0], b=items) if false else '{{}} {b[0]}'.format(b=items) }} {{ '{!r:>5}'.format('q') }}",
    "dict_methods": "{{ nested.get('a') }} {{ nested.get('q') }} {{ nested.get('q', 'd') }} {{ nested.keys()|list }} {{ nested.values()|list|length }} {{ dict(a=1, b=2) }} {{ dict([('x', 1)]) }} {{ nested.copy().a }}",
    "list_methods": "{{ items.index(1) }} {{ items.count(3) }} {{ (1, 2).index(2) }}", "functions": "{{ range(3)|list }} {{ range(5, 0, -2)|list }} {{ range(0)|list }} {{ strftime_now('%Y-%m-%d %H:%M:%S %j %b %B %a %A %y %-d %I %p %U %W %w %%') }}",
    # errors
    "tilde_binds_tighter": "{{ 1 + 2 ~ 3 }}", "raise": "a{{ raise_exception('No ' ~ name) }}b", "undefined_attribute": "{{ nothing.a }}", "undefined_arithmetic": "{{ nothing + 1 }}", "missing_attribute_use": "{{ nested.q.r }}", "call_undefined": "{{ nothing() }}",
    "bad_concat": "{{ 'a' + 1 }}", "bad_concat_list": "{{ [1] + 'a' }}", "none_iteration": "{% for x in none %}{% endfor %}", "int_iteration": "{% for x in 5 %}{% endfor %}", "none_attribute": "{{ none.x.y }}", "division": "{{ 1 / 0 }}",
    "in_none": "{{ 'a' in none }}", "in_string": "{{ 1 in 'a' }}", "compare_types": "{{ 1 < 'a' }}", "unpack": "{% for a, b in [1] %}{% endfor %}", "unpack_many": "{% set a, b = [1, 2, 3] %}", "items_of_string": "{{ 'a'|items|list }}",
    "append": "{{ items.append(4) }}", "len_of_generator": "{{ items|select|length }}", "macro_arguments": "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "macro_keyword": "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
    "set_attribute": "{% set nested.a = 1 %}", "tojson_undefined": "{{ nothing|tojson }}", "not_callable": "{{ name() }}", "unhashable": "{{ {[1]: 2} }}", "range_zero": "{{ range(1, 2, 0) }}", "big_range": "{{ range(100001) }}",
    "syntax_end": "{% if yes %}", "syntax_unknown": "{% foo %}", "syntax_endfor": "{% if yes %}{% endfor %}", "syntax_expression": "{{ 1 + }}", "syntax_brace": "{{ (1 }}", "syntax_string": "{{ 'a }}", "syntax_comment": "{# a", "syntax_raw": "{% raw %}a",
    "syntax_break": "{% break %}", "syntax_call": "{% call 1 %}{% endcall %}", "syntax_filter": "{{ 1| }}", "syntax_target": "{% set 1 = 2 %}", "syntax_char": "{{ a ? b }}", "syntax_trailing": "{{ 1 2 }}", "syntax_default": "{% macro m(a=1, b) %}{% endmacro %}",
    "no_filter": "{{ 1|nofilter }}", "no_test": "{{ 1 is notest }}", "bad_sort": "{{ [1, 'a']|sort }}", "split_empty": "{{ 'a'.split('') }}", "index_missing": "{{ 'a'.index('b') }}", "join_items": "{{ ','.join([1]) }}",
}


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                       extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime(2026, 3, 5, 14, 7, 9).strftime(form)
    return env


def main():
    env, rows = environment(), []
    for name, template in CASES.items():
        row = {"name": name, "template": template}
        try:
            row["rendered"] = env.from_string(template).render(**json.loads(json.dumps(DATA)))
        except Exception as error:  # whatever the reference raises is the expected outcome
            row["error"], row["message"] = type(error).__name__, str(error)
        rows.append(row)
    out = {"made_by": "tools/make_jinja_goldens.py, jinja2 " + jinja2.__version__, "now": "2026-03-05T14:07:09", "data": DATA, "cases": rows}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(out, file, ensure_ascii=False, indent=1)
        file.write("\n")


main()
