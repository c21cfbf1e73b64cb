"""Answers of `lattice serve` are as OpenAI's own description of its API has them.
Usage: openai_description_test.py BINARY FIXTURES DESCRIPTION [TEST...], the last one being openapi.json of
https://github.com/openai/openai-openapi."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from scripted_case import ScriptedCase
from server_test import FIXTURES, chat

try:
    import jsonschema
except ImportError:
    sys.exit("the package jsonschema is not installed (Debian: python3-jsonschema)")

DOCUMENT = json.loads(pathlib.Path(sys.argv[3]).read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
# Members that answers have beside those of the description.
OURS = {"reasoning_content", "kind", "max_model_len", "status", "value", "store"}


def repair(schema):
    """As JSON Schema: `nullable` is a word of older versions of OpenAPI."""
    if isinstance(schema, dict):
        for part in list(schema.values()):
            repair(part)
        if schema.pop("nullable", None) is True:
            inner = dict(schema)
            schema.clear()
            schema["anyOf"] = [inner, {"type": "null"}]
    elif isinstance(schema, list):
        for part in schema:
            repair(part)


repair(SCHEMAS)
# What the schemas leave out and OpenAI's server does: a piece has no reason to end yet; nothing is said of the first
# token of an echo; a response that has begun has no usage (the description's own examples say null).
choice = SCHEMAS["CreateCompletionResponse"]["properties"]["choices"]["items"]["properties"]
choice["finish_reason"]["enum"].append(None)
choice["finish_reason"]["type"] = ["string", "null"]
lists = choice["logprobs"]["anyOf"][0]["properties"]
for name in ("token_logprobs", "top_logprobs"):
    lists[name]["items"] = {"anyOf": [lists[name]["items"], {"type": "null"}]}


for part in SCHEMAS["Response"]["allOf"]:
    if "usage" in part.get("properties", {}):
        part["properties"]["usage"] = {"anyOf": [part["properties"]["usage"], {"type": "null"}]}


def validator(schema):
    return jsonschema.Draft202012Validator({"components": DOCUMENT["components"], **schema})


def resolve(schema):
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]]
    return schema


def of_type(event):
    """The schema of the event of this `type`."""
    for one in SCHEMAS["ResponseStreamEvent"]["anyOf"]:
        if event["type"] in resolve(one)["properties"]["type"]["enum"]:
            return one
    raise AssertionError(event["type"])


def known_members(schema, seen):
    """All names that the schema speaks of, at any depth."""
    schema = resolve(schema)
    if id(schema) in seen:
        return set()
    seen.add(id(schema))
    names = set(schema.get("properties", {}))
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *schema.get("oneOf", []),
             *schema.get("allOf", [])]
    parts += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return names.union(*(known_members(part, seen) for part in parts))


def members(value):
    if isinstance(value, list):
        return set().union(*map(members, value))
    if isinstance(value, dict):
        return set(value).union(*(members(v) for k, v in value.items() if k not in ("metadata", "top_logprobs", "schema")))
    return set()


class Answers(ScriptedCase):
    FLAGS = (f"--model={FIXTURES}/llama", f"--embedding-model={FIXTURES}/bert", "--context", "4096")

    def check(self, value, schema, what):
        found = [f"{error.json_path}: {error.message[:300]}" + "".join(
            f"\n    {inner.json_path}: {inner.message[:200]}" for inner in error.context or [])
            for error in validator(schema).iter_errors(value)]
        self.assertEqual(found, [], what)
        self.assertEqual(members(value) - known_members(schema, set()) - OURS, set(), what)

    def ask(self, path, body=None, method=None, described=None, status=200):
        method = method or ("GET" if body is None else "POST")
        response, content = self.server.ask(method, "/v1" + path, body)
        self.assertEqual(response.status, status, content)
        answer = json.loads(content)
        schema = {"$ref": "#/components/schemas/ErrorResponse"}
        if status == 200:
            schema = DOCUMENT["paths"][described or path][method.lower()]["responses"]["200"]["content"]["application/json"]["schema"]
        self.check(answer, schema, (path, body))
        return answer

    def stream(self, path, body, name):
        response, content = self.server.ask("POST", "/v1" + path, dict(body, stream=True))
        self.assertEqual(response.status, 200, content)
        events = [line[6:] for line in content.decode().split("\n") if line.startswith("data: ")]
        for event in map(json.loads, (e for e in events if e != "[DONE]")):
            self.check(event, {"$ref": "#/components/schemas/" + name} if name else of_type(event), (path, event))

    def test_chat(self):
        for body in (chat("hello", model="hermes"), chat("weather", model="hermes", tools=[TOOL], max_tokens=200),
                     chat("both", model="hermes", tools=[TOOL], max_tokens=200),
                     chat("ponder", model="hermes", max_tokens=200),
                     chat("a", model="llama", logprobs=True, top_logprobs=3, n=2, min_tokens=3, temperature=1)):
            self.ask("/chat/completions", body)
            self.stream("/chat/completions", body, "CreateChatCompletionStreamResponse")
            self.stream("/chat/completions", dict(body, stream_options={"include_usage": True}),
                        "CreateChatCompletionStreamResponse")

    def test_completions(self):
        for body in ({"prompt": "a", "model": "llama"}, {"prompt": ["a", "b"], "n": 2, "model": "llama", "echo": True},
                     {"prompt": [[1, 3], [2]], "model": "llama", "logprobs": 2, "max_tokens": 3, "echo": True}):
            self.ask("/completions", body)
            self.stream("/completions", body, "CreateCompletionResponse")

    def test_embeddings(self):
        self.ask("/embeddings", {"input": ["a", "b"], "model": "bert"})

    def test_models(self):
        self.ask("/models")
        self.ask("/models/llama", described="/models/{model}")

    def test_responses(self):
        tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}
        for body in ({"model": "hermes", "input": "hello"},
                     {"model": "hermes", "input": "ponder", "max_output_tokens": 200, "instructions": "Be brief."},
                     {"model": "hermes", "input": "weather", "max_output_tokens": 200, "tools": [tool]},
                     {"model": "hermes", "input": "both", "max_output_tokens": 200, "tools": [tool], "tool_choice": "auto",
                      "parallel_tool_calls": False, "metadata": {"a": "b"}, "reasoning": {"effort": "low"}},
                     {"model": "llama", "input": "a", "max_output_tokens": 3, "temperature": 1, "top_p": 0.5},
                     {"model": "llama", "input": "a", "max_output_tokens": 20, "text": {"format": {
                         "type": "json_schema", "name": "n", "schema": {"type": "object"}}, "verbosity": "low"}}):
            given = self.ask("/responses", body)
            self.stream("/responses", body, None)
            self.assertEqual(self.ask(f"/responses/{given['id']}", described="/responses/{response_id}"), given)

    def test_errors(self):
        for path, body in (("/chat/completions", {"messages": []}), ("/completions", {}), ("/embeddings", {"input": ""}),
                           ("/responses", {"input": 3}), ("/no/such/route", {})):
            self.ask(path, body, status=404 if "such" in path else 400)
        self.ask("/models/none", status=404)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
