"""docs/openapi.yaml says what `lattice serve` does: its routes and fields are those of the sources, and answers are as it
describes them. Usage: server_openapi_test.py BINARY FIXTURES [TEST...]"""
import json
import pathlib
import re
import sys
import unittest

from scripted_case import ScriptedCase
from server_test import FIXTURES, chat

try:
    import yaml
except ImportError:
    sys.exit("the package yaml is not installed (Debian: python3-yaml)")

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "server"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def same(a, b):
    return type(a) is type(b) and a == b


class Description:
    """As much of OpenAPI and JSON Schema as the file uses."""

    def __init__(self, path):
        self.document = yaml.safe_load(path.read_text())

    def resolve(self, schema):
        while "$ref" in schema:
            found = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def schema(self, name):
        return self.document["components"]["schemas"][name]

    def fits(self, value, name):
        if name == "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        if name == "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, TYPES[name])

    def complaints(self, value, schema, where="$"):
        """What is wrong with the value, as texts."""
        schema = self.resolve(schema)
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(self.fits(value, t) for t in types):
            return [f"{where}: {value!r} is none of {types}"]
        if "const" in schema and not same(value, schema["const"]):
            return [f"{where}: {value!r} is not {schema['const']!r}"]
        if "enum" in schema and not any(same(value, e) for e in schema["enum"]):
            return [f"{where}: {value!r} is none of {schema['enum']}"]
        found = []
        for part in schema.get("allOf", []):
            found += self.complaints(value, part, where)
        if "anyOf" in schema:
            tried = [self.complaints(value, one, where) for one in schema["anyOf"]]
            if all(tried):
                found.append(f"{where}: {value!r} fits none of anyOf: {tried}")
        if "oneOf" in schema:
            tried = [self.complaints(value, one, where) for one in schema["oneOf"]]
            if sum(not t for t in tried) != 1:
                found.append(f"{where}: {value!r} fits {sum(not t for t in tried)} of oneOf: {tried}")
        if self.fits(value, "number"):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                found.append(f"{where}: {value} is out of range")
        if isinstance(value, str) and len(value) < schema.get("minLength", 0):
            found.append(f"{where}: {value!r} is too short")
        if isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                found.append(f"{where}: has {len(value)} items")
            for i, item in enumerate(value):
                found += self.complaints(item, schema.get("items", {}), f"{where}[{i}]")
        if isinstance(value, dict):
            found += [f"{where}: has no {key}" for key in schema.get("required", []) if key not in value]
            properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
            for key, item in value.items():
                if key in properties:
                    found += self.complaints(item, properties[key], f"{where}.{key}")
                elif more is False:
                    found.append(f"{where}: {key} is unknown")
                elif isinstance(more, dict):
                    found += self.complaints(item, more, f"{where}.{key}")
        return found


API = Description(ROOT / "docs" / "openapi.yaml")


def names_of(file, *arrays):
    """The strings of arrays of names in a source."""
    text = (SOURCES / file).read_text()
    names = set()
    for array in arrays:
        found = re.findall(r"constexpr std::string_view " + array + r"\[\] = \{(.*?)\};", text, re.S)
        assert found, (file, array)
        names |= {name for body in found for name in re.findall(r'"([^"]+)"', body)}
    return names


def fields_of(*schemas):
    names = set()
    for schema in map(API.schema, schemas):
        for part in ("properties", "x-refused", "x-ignored"):
            names |= set(schema.get(part, []))
    return names


class Sources(unittest.TestCase):
    def test_routes(self):
        table = re.findall(r'\{"(/[^"]*)", "([A-Z]+)", &Service::', (SOURCES / "openai" / "service.cc").read_text())
        self.assertGreater(len(table), 25)
        described = {(path.removeprefix("/v1"), method.upper())
                     for path, methods in API.document["paths"].items() for method in methods}
        self.assertEqual(described, set(table))

    def test_fields(self):
        generation = names_of("openai/generation_fields.cc", "kNames", "kRefused")
        generation |= names_of("openai/structure_fields.cc", "kNames")
        chat_own = names_of("openai/chat_request.cc", "kNames")
        completion_own = names_of("openai/completion_request.cc", "kNames")
        common = names_of("ollama/ollama_request.cc", "kCommon")
        direction = {"truncation_direction"}
        for fields, names in [
            (fields_of("Generation"), generation),
            (fields_of("Generation", "ChatRequest"), generation | chat_own),
            (fields_of("Generation", "CompletionRequest"), generation | completion_own),
            (fields_of("EmbeddingsRequest"), names_of("openai/embedding_routes.cc", "kNames")),
            (fields_of("MessagesRequest"), names_of("anthropic/messages_request.cc", "kNames", "kRefused")),
            (fields_of("CountTokensRequest"), names_of("anthropic/messages_request.cc", "kNames", "kRefused")),
            (fields_of("ResponsesRequest"), names_of("responses/response_request.cc", "kNames", "kRefused")),
            (fields_of("RerankRequest"), names_of("rerank/rerank_request.cc", "kNames")),
            (fields_of("TeiRerankRequest"), names_of("rerank/rerank_request.cc", "kTeiNames") | direction),
            (fields_of("TeiEmbedRequest"), names_of("rerank/tei_routes.cc", "kEmbedNames")),
            (fields_of("TokenizeRequest"), names_of("openai/token_routes.cc", "kTokenizeNames")),
            (fields_of("TeiTokenizeRequest"), names_of("openai/token_routes.cc", "kNames")),
            (fields_of("OllamaChatRequest"), common | names_of("ollama/ollama_request.cc", "kOfChat")),
            (fields_of("OllamaGenerateRequest"), common | names_of("ollama/ollama_request.cc", "kOfGenerate")),
            (fields_of("OllamaEmbedRequest"), names_of("ollama/ollama_routes.cc", "kNames") - {"name", "verbose"}),
        ]:
            self.assertEqual(fields, names)


class Answers(ScriptedCase):
    FLAGS = (f"--model={FIXTURES}/llama", f"--embedding-model={FIXTURES}/bert",
             f"--rerank-model={FIXTURES}/bert_reranker", "--context", "4096", "--precision", "f32")

    def check(self, path, body=None, status=200, method=None, described=None):
        """Asks and compares with the description; returns the answer."""
        method = method or ("GET" if body is None else "POST")
        response, content = self.server.ask(method, path, body)
        self.assertEqual(response.status, status, (path, body, content[:300]))
        operation = API.document["paths"][described or path][method.lower()]
        answers = operation["responses"]
        media = API.resolve(answers.get(str(status), answers["default"]))["content"]
        kind = response.getheader("Content-Type").split(";")[0]
        self.assertIn(kind, media, path)
        if kind == "text/event-stream":
            return self.check_events(content, media[kind])
        if kind != "application/json":
            return content
        answer = json.loads(content)
        self.assertEqual(API.complaints(answer, media[kind]["schema"]), [], (path, body))
        if status == 200 and body is not None and "requestBody" in operation:
            schema = API.resolve(operation["requestBody"])["content"]["application/json"]["schema"]
            self.assertEqual(API.complaints(body, schema), [], (path, body))
        return answer

    def check_events(self, content, media):
        events = [e[6:] for e in content.decode().split("\n\n") if e.startswith("data: ")]
        if "x-event" in media:
            for event in events:
                if event != "[DONE]":
                    self.assertEqual(API.complaints(json.loads(event), media["x-event"]), [])
        return events

    def test_what_is_served(self):
        for path in ("/", "/health", "/ready", "/ping", "/version", "/props", "/info", "/metrics", "/v1/models", "/api/tags",
                     "/api/ps", "/api/version"):
            self.check(path)
        self.check("/v1/models/llama", described="/v1/models/{id}")
        self.check("/v1/models/none", status=404, described="/v1/models/{id}")
        self.check("/models/unload", {"model": "none"}, status=404)
        self.check("/api/show", {"model": "llama"})
        self.check("/api/show", {"model": "none"}, status=404)

    def test_answers(self):
        tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
        for body in (chat("hello", model="hermes"), chat("weather", model="hermes", tools=[tool], max_tokens=200),
                     chat("ponder", model="hermes", max_tokens=200),
                     chat("a", model="llama", logprobs=True, top_logprobs=2, n=2, min_tokens=3),
                     chat("a", model="llama", guided_regex="[a-z]{3}", reasoning_effort="none")):
            self.check("/v1/chat/completions", body)
            self.check("/v1/chat/completions", dict(body, stream=True, stream_options={"include_usage": True}))
            self.check("/apply-template", body)
            self.check("/tokenize", {k: v for k, v in body.items() if k in ("messages", "model")})
        for body in ({"prompt": "a", "model": "llama"}, {"prompt": ["a", "b"], "n": 2, "model": "llama", "echo": True},
                     {"prompt": [[1], [2]], "model": "llama", "logprobs": 2, "max_tokens": 3}):
            self.check("/v1/completions", body)
            self.check("/v1/completions", dict(body, stream=True, stream_options={"include_usage": True}))
        messages = {"model": "hermes", "max_tokens": 200, "messages": [{"role": "user", "content": "ponder"}]}
        self.check("/v1/messages", messages)
        self.check("/v1/messages", dict(messages, stream=True))
        self.check("/v1/messages/count_tokens", messages)
        for path, body in (("/api/chat", {"model": "hermes", "messages": messages["messages"]}),
                           ("/api/generate", {"model": "hermes", "prompt": "hello"})):
            self.check(path, dict(body, stream=False))
            self.check(path, body)
        self.check("/detokenize", {"tokens": [1, 2]})
        self.check("/tokenize", {"content": "a b", "with_pieces": True, "return_token_strs": True})
        self.check("/tokenize", {"inputs": ["a b", "c"], "model": "bert"})

    def test_responses(self):
        body = {"model": "hermes", "input": "ponder", "max_output_tokens": 200, "instructions": "Be brief."}
        given = self.check("/v1/responses", body)
        self.check("/v1/responses", dict(body, stream=True))
        path, where = f"/v1/responses/{given['id']}", "/v1/responses/{id}"
        self.assertEqual(self.check(path, described=where), given)
        unkept = self.check("/v1/responses", dict(body, store=False))
        self.check(f"/v1/responses/{unkept['id']}", status=404, described=where)
        self.check(path, method="DELETE", described=where)
        self.check(path, method="DELETE", status=404, described=where)
        self.check(path, status=404, described=where)
        self.check("/v1/responses", dict(body, previous_response_id=given["id"]), status=400)

    def test_vectors_and_rankings(self):
        for body in ({"input": "a"}, {"input": ["a", "b"], "encoding_format": "base64", "dimensions": 4}):
            self.check("/v1/embeddings", body)
        self.check("/embed", {"inputs": ["a", "b"], "normalize": False})
        self.check("/api/embed", {"model": "bert", "input": ["a"]})
        self.check("/api/embeddings", {"model": "bert", "prompt": "a"})
        self.check("/v1/rerank", {"query": "a", "documents": ["b", {"text": "c"}], "top_n": 1})
        self.check("/v1/rerank", {"query": "a", "texts": ["b", "c"], "return_text": True})
        self.check("/v2/rerank", {"query": "a", "documents": ["b", "c"]})

    def test_errors(self):
        for path, methods in API.document["paths"].items():
            if "post" in methods:
                answer = self.check(path, {"no such field": 1}, status=400)
                self.assertIn("error", answer)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
