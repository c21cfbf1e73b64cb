"""`lattice serve` as client packages see it: openai, anthropic and ollama for Python, openai and
anthropic for Node. What is not installed is skipped. Usage: clients_test.py BINARY FIXTURES [TEST...]"""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import scripted_model
from scripted_case import ScriptedCase
from server_test import FIXTURES

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "number"}}}


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"the package {package} is not installed")


class Clients(ScriptedCase):
    FLAGS = (f"--embedding-model={FIXTURES}/bert", "--context", "4096")


@needs("openai")
class OpenAi(Clients):
    TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}

    def setUp(self):
        import openai
        self.openai = openai
        self.client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
        self.addCleanup(self.client.close)

    def test_chat_and_tools(self):
        chat = self.client.chat.completions
        messages = [{"role": "user", "content": "weather"}]
        whole = chat.create(model="hermes", messages=messages, tools=[self.TOOL], temperature=0)
        call = whole.choices[0].message.tool_calls[0]
        self.assertEqual((call.function.name, json.loads(call.function.arguments)),
                         ("weather", {"city": "Paris", "days": 2.5}))
        with chat.stream(model="hermes", messages=messages, tools=[self.TOOL], temperature=0) as stream:
            kinds = {event.type for event in stream}
            last = stream.get_final_completion().choices[0]
        self.assertIn("tool_calls.function.arguments.done", kinds)
        self.assertEqual((last.message.tool_calls[0].function.arguments, last.finish_reason),
                         (call.function.arguments, "tool_calls"))
        messages += [whole.choices[0].message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
        self.assertEqual(chat.create(model="hermes", messages=messages, tools=[self.TOOL], temperature=0)
                         .choices[0].message.content, scripted_model.HERMES["after"])

    def test_responses(self):
        tool = {"type": "function", "name": "weather", "parameters": SCHEMA}
        ask = dict(model="hermes", input="weather", tools=[tool], temperature=0)
        whole = self.client.responses.create(**ask)
        self.assertEqual(whole.output_text, "Let me see.")
        with self.client.responses.stream(**ask) as stream:
            for _ in stream:
                pass
            last = stream.get_final_response()
        self.assertEqual([item.type for item in last.output], [item.type for item in whole.output])
        call = whole.output[1]
        following = self.client.responses.create(
            model="hermes", temperature=0, previous_response_id=whole.id,
            input=[{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}])
        self.assertEqual(following.output_text, scripted_model.HERMES["after"])

    def test_the_rest(self):
        self.assertIn("hermes", [m.id for m in self.client.models.list()])
        self.assertEqual(len(self.client.embeddings.create(model="bert", input=["a", "b"]).data), 2)
        with self.assertRaises(self.openai.BadRequestError) as caught:
            self.client.chat.completions.create(model="hermes", messages=[], temperature=0)
        self.assertEqual(caught.exception.param, "messages")


@needs("anthropic")
class Anthropic(Clients):
    TOOL = {"name": "weather", "input_schema": SCHEMA}

    def setUp(self):
        import anthropic
        self.anthropic = anthropic
        self.client = anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0)
        self.addCleanup(self.client.close)

    def test_messages(self):
        ask = dict(model="hermes", max_tokens=200, tools=[self.TOOL], messages=[{"role": "user", "content": "weather"}])
        whole = self.client.messages.create(**ask)
        self.assertEqual([block.type for block in whole.content], ["text", "tool_use"])
        self.assertEqual((whole.content[1].input, whole.stop_reason), ({"city": "Paris", "days": 2.5}, "tool_use"))
        with self.client.messages.stream(**ask) as stream:
            self.assertEqual("".join(stream.text_stream), "Let me see.")
            last = stream.get_final_message()
        self.assertEqual(last.content[1].input, whole.content[1].input)
        count = self.client.messages.count_tokens(model="hermes", tools=[self.TOOL], messages=ask["messages"])
        self.assertEqual(count.input_tokens, whole.usage.input_tokens)
        ask["messages"] += [{"role": "assistant", "content": whole.content}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": whole.content[1].id, "content": "sunny"}]}]
        self.assertEqual(self.client.messages.create(**ask).content[0].text, scripted_model.HERMES["after"])

    def test_runner(self):
        asked = []

        def weather(city: str, days: float) -> str:
            """Says how the weather is."""
            asked.append((city, days))
            return "sunny"
        runner = self.client.beta.messages.tool_runner(
            model="hermes", max_tokens=200, tools=[self.anthropic.beta_tool(weather)],
            messages=[{"role": "user", "content": "weather"}])
        self.assertEqual(runner.until_done().content[0].text, scripted_model.HERMES["after"])
        self.assertEqual(asked, [("Paris", 2.5)])

    def test_errors(self):
        with self.assertRaises(self.anthropic.BadRequestError) as caught:
            self.client.messages.create(model="hermes", max_tokens=5, messages=[])
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(self.anthropic.NotFoundError):
            self.client.messages.create(model="none", max_tokens=5, messages=[{"role": "user", "content": "a"}])


@needs("ollama")
class Ollama(Clients):
    def setUp(self):
        import ollama
        self.ollama = ollama
        self.client = ollama.Client(host=self.url)

    def test_chat(self):
        def weather(city: str) -> str:
            """Says how the weather is.

            Args:
              city: Where.
            """
            return city
        ask = dict(model="hermes", messages=[{"role": "user", "content": "weather"}], tools=[weather])
        whole = self.client.chat(**ask)
        self.assertEqual(whole.message.tool_calls[0].function.arguments["city"], "Paris")
        text = "".join(part.message.content for part in self.client.chat(**ask, stream=True))
        self.assertEqual(text, whole.message.content)
        ask["messages"] += [whole.message, {"role": "tool", "tool_name": "weather", "content": "sunny"}]
        self.assertEqual(self.client.chat(**ask).message.content, scripted_model.HERMES["after"])

    def test_the_rest(self):
        self.assertEqual(self.client.generate(model="hermes", prompt="hello").response, scripted_model.HERMES["hello"])
        self.assertEqual(len(self.client.embed(model="bert", input=["a", "b"]).embeddings), 2)
        self.assertTrue(self.client.embeddings(model="bert", prompt="a").embedding)
        self.assertIn("hermes", [m.model for m in self.client.list().models])
        self.assertIn("hermes", [m.model for m in self.client.ps().models])
        self.assertIn("tools", self.client.show("hermes").capabilities)
        with self.assertRaises(self.ollama.ResponseError) as caught:
            self.client.chat(model="none", messages=[{"role": "user", "content": "a"}])
        self.assertEqual(caught.exception.status_code, 404)


def has_node_package(name="openai"):
    return shutil.which("node") and not subprocess.run(
        ["node", "-e", f"require('{name}')"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


class Node(Clients):
    def check(self, script, url):
        done = subprocess.run(["node", pathlib.Path(__file__).with_name(script), url], capture_output=True, timeout=120,
                              env=os.environ)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, b"ok"), done.stderr.decode())

    @unittest.skipUnless(has_node_package(), "Node does not find the package openai (NODE_PATH)")
    def test_openai(self):
        self.check("openai_client.js", self.url + "/v1")

    @unittest.skipUnless(has_node_package("@anthropic-ai/sdk"), "Node does not find @anthropic-ai/sdk (NODE_PATH)")
    def test_anthropic(self):
        self.check("anthropic_client.js", self.url)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
