"""Asks a model, over HTTP, for texts of many schemas, expressions and grammars, and checks each with a validator of its own.

Usage: answers_to_schemas.py LATTICE MODEL DATA_FOLDER [--answers 200] [--temperatures 0 1 1.5] [--max-tokens 600]

DATA_FOLDER is maskbench/data of the repository guidance-ai/jsonschemabench. The sample is every 37th schema, in the
order of the names, whose smallest valid instance has at most 400 bytes: asked with that instance as an example until
at least so many answers are complete. Answers are judged by the package jsonschema, with the formats that it knows. A model
of this size does not always come to an end: nothing in most schemas bounds a text. An answer that was cut at
--max-tokens is not complete, and is counted apart, but what there is of it must be a beginning of JSON. Regular
expressions are checked by Python's, and texts of grammars by an expression of the same language. Prints totals; the
status is 1 if anything that is complete is not right.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import sys
import threading
import time

import jsonschema

from lattice_server import LatticeServer

# What is asked, the form, and for a grammar the same language as a regular expression.
EXPRESSIONS = [
    ("When did people first walk on the Moon?", r"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]"),
    ("Is water wet?", r"yes|no|perhaps"),
    ("Name a river.", r"[A-Z][a-z]{2,12}( [A-Z][a-z]{2,12}){0,2}"),
    ("Give me a phone number.", r"\+[1-9][0-9]{0,2}( [0-9]{2,4}){2,4}"),
    ("What is the capital of France?", r"The capital of [A-Z][a-z]+ is [A-Z][a-z]+\."),
    ("Write a price.", r"(\$|€|£)(0|[1-9][0-9]{0,2}(,[0-9]{3}){0,2})\.[0-9]{2}"),
    ("A poem of one line, please.", r"\w{1,12}(,? \w{1,12}){4,11}[.!?]"),
    ("Give me an IPv4 address.", r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)"),
]
GRAMMARS = [
    ("Write a shopping list for pancakes.", 'root ::= ("- " n " " thing "\\n"){1,4}\nn ::= [1-9] [0-9]?\nthing ::= [a-z] [a-z ]{1,18} [a-z]',
     r"(- [1-9][0-9]? [a-z][a-z ]{1,18}[a-z]\n){1,4}"),
    ("What is 2 + 3?", 'root ::= term (" + " term)* " = " term\nterm ::= "0" | [1-9] [0-9]{0,3}',
     r"(0|[1-9][0-9]{0,3})( \+ (0|[1-9][0-9]{0,3}))* = (0|[1-9][0-9]{0,3})"),
    ("Answer and say how sure you are.", 'root ::= answer " (" ("sure" | "unsure") ")"\nanswer ::= "yes" | "no" | answer " and no"',
     r"(yes|no)( and no)* \((sure|unsure)\)"),
    ("Name colours.", 'root ::= colour more\nmore ::= ("," sp colour more)?\nsp ::= " "*\ncolour ::= [a-z]{3,8}',
     r"[a-z]{3,8}(, *[a-z]{3,8})*"),
]


def is_beginning_of_json(text):
    """Brackets match and no string or word is broken, as far as the text goes."""
    open_, in_string, escaped = [], False, False
    for c in text:
        if in_string:
            in_string, escaped = escaped or c != '"', c == "\\" and not escaped
        elif c == '"':
            in_string = True
        elif c in "{[":
            open_.append("}" if c == "{" else "]")
        elif c in "}]" and (not open_ or open_.pop() != c):
            return False
    return bool(open_) or in_string or bool(text.strip())


def schemas(folder):
    for path in sorted(folder.glob("*.json"))[::37]:
        case = json.loads(path.read_text())
        valid = [json.dumps(t["data"], ensure_ascii=False, separators=(",", ":")) for t in case["tests"] if t["valid"]]
        if valid and len(example := min(valid, key=len)) <= 400:
            yield path.name, case["schema"], example


class Totals:
    def __init__(self):
        self.right, self.wrong, self.cut, self.refused, self.tokens = 0, [], 0, 0, 0

    def __str__(self):
        return (f"{self.right + len(self.wrong)} complete, {self.right} of them right; {self.cut} cut, {self.refused} refused; "
                f"{self.tokens} tokens")


def ask(server, totals, name, prompt, form, arguments, temperature, check, check_cut=lambda text: True):
    status, answer = server.request("POST", "/v1/chat/completions", {
        "messages": [{"role": "user", "content": prompt}], "max_tokens": arguments.max_tokens,
        "temperature": temperature, "seed": 7, **form})
    if status == 400 and answer["error"]["param"] != "messages":
        totals.refused += 1
        return
    if status != 200:
        sys.exit(f"{name}: {status} {answer}")
    (choice,) = answer["choices"]
    text = choice["message"]["content"]
    totals.tokens += answer["usage"]["completion_tokens"]
    complete = choice["finish_reason"] == "stop"
    wrong = check(text) if complete else None if check_cut(text) else "not the beginning of JSON"
    if wrong:
        totals.wrong.append(f"{name}: {wrong}: {text[:300]}")
    elif complete:
        totals.right += 1
    else:
        totals.cut += 1


def schema_check(schema):
    cls = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = cls(schema, format_checker=cls.FORMAT_CHECKER)

    def check(text):
        try:
            error = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(text)))
            return error and error.message[:200]
        except ValueError as error:
            return f"not JSON: {error}"
    return check


def ask_all(server, arguments, temperature):
    totals, cases, lock = Totals(), schemas(arguments.data_folder), threading.Lock()

    def work():
        while totals.right + len(totals.wrong) < arguments.answers:
            with lock:
                case = next(cases, None)
            if case is None:
                return
            name, schema, example = case
            form = {"response_format": {"type": "json_schema", "json_schema": {"name": "form", "schema": schema}}}
            ask(server, totals, name, f"Write data as JSON, such as {example}", form, arguments, temperature,
                schema_check(schema), is_beginning_of_json)

    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        for future in [pool.submit(work) for _ in range(arguments.parallel)]:
            future.result()
    return totals


def ask_texts(server, arguments, temperature):
    totals = Totals()
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        cases = [(said, {"guided_regex": regex}, regex) for said, regex in EXPRESSIONS]
        cases += [(said, {"grammar": gbnf}, regex) for said, gbnf, regex in GRAMMARS]
        futures = [pool.submit(ask, server, totals, said, said, form, arguments, temperature,
                               lambda text, regex=regex: None if re.fullmatch(regex, text) else "does not match")
                   for said, form, regex in cases]
        for future in futures:
            future.result()
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lattice")
    parser.add_argument("model")
    parser.add_argument("data_folder", type=pathlib.Path)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0, 1, 1.5])
    parser.add_argument("--max-tokens", type=int, default=600)
    parser.add_argument("--parallel", type=int, default=16)
    arguments = parser.parse_args()
    server = LatticeServer(arguments.lattice, arguments.model, arguments.parallel, context=4096)
    wrong = []
    try:
        for temperature in arguments.temperatures:
            begin = time.perf_counter()
            totals = ask_all(server, arguments, temperature)
            print(f"schemas, temperature {temperature:g}: {totals}, {time.perf_counter() - begin:.0f} s", flush=True)
            texts = ask_texts(server, arguments, temperature)
            print(f"expressions and grammars, temperature {temperature:g}: {texts}", flush=True)
            wrong += totals.wrong + texts.wrong
    finally:
        server.end()
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
