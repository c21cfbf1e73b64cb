"""What client packages get of `lattice serve` with a real model, SmolLM2-135M-Instruct, whose answer to one question is
known; with all-MiniLM-L6-v2 for vectors. Both lie in LATTICE_MODEL_CACHE. What is not installed is skipped.
Usage: real_model_test.py BINARY FIXTURES [TEST...]"""
import shutil
import subprocess
import sys
import unittest

from clients_test import Server, has_node_package, needs

MODEL, VECTORS = "smollm2-135m-instruct", "all-minilm-l6-v2"
ASKED = [{"role": "user", "content": "What is the largest ocean on Earth?"}]
ANSWER = "The largest ocean on Earth is the Pacific Ocean"
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"],
        "additionalProperties": False}
NODE = """
const OpenAI = require("openai");
(async () => {
  const client = new OpenAI({ baseURL: process.argv[1], apiKey: "none" });
  const ask = { model: process.argv[2], messages: JSON.parse(process.argv[3]), temperature: 0, max_tokens: 9 };
  const whole = await client.chat.completions.create(ask);
  let streamed = "";
  for await (const chunk of client.chat.completions.stream(ask)) streamed += chunk.choices[0].delta.content || "";
  if (streamed !== whole.choices[0].message.content) throw new Error(streamed);
  console.log(streamed);
})();
"""


class RealModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model", MODEL, "--embedding-model", VECTORS)
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        assert cls.server.end() == 0
        cls.server.close()

    @needs("openai")
    def test_openai(self):
        import openai
        import pydantic
        with openai.OpenAI(base_url=self.url + "/v1", api_key="none") as client:
            ask = dict(model=MODEL, messages=ASKED, temperature=0, stop=[","])
            self.assertEqual(client.chat.completions.create(**ask).choices[0].message.content, ANSWER)
            with client.chat.completions.stream(**ask) as stream:
                for _ in stream:
                    pass
                self.assertEqual(stream.get_final_completion().choices[0].message.content, ANSWER)
            ask = dict(model=MODEL, input=ASKED[0]["content"], temperature=0, max_output_tokens=16)
            self.assertTrue(client.responses.create(**ask).output_text.startswith(ANSWER))
            place = pydantic.create_model("Place", city=(str, pydantic.Field(max_length=20)))
            parsed = client.chat.completions.parse(model=MODEL, temperature=0, response_format=place, messages=[
                {"role": "user", "content": "Which city is the capital of France?"}])
            self.assertIsInstance(parsed.choices[0].message.parsed, place)
            a, b, c = (item.embedding for item in client.embeddings.create(
                model=VECTORS, input=["a cat", "a kitten", "a stock exchange"]).data)
            self.assertGreater(sum(x * y for x, y in zip(a, b)), 0.3 + sum(x * y for x, y in zip(a, c)))

    @unittest.skipUnless(has_node_package(), "Node does not find the package openai (NODE_PATH)")
    def test_node(self):
        import json
        done = subprocess.run([shutil.which("node"), "-e", NODE, self.url + "/v1", MODEL, json.dumps(ASKED)],
                              capture_output=True, timeout=120)
        self.assertEqual(done.stdout.decode().strip(), ANSWER, done.stderr.decode())

    @needs("anthropic")
    def test_anthropic(self):
        import anthropic
        with anthropic.Anthropic(base_url=self.url, api_key="none") as client:
            ask = dict(model=MODEL, messages=ASKED, max_tokens=9, extra_body={"temperature": 0})
            self.assertEqual(client.messages.create(**ask).content[0].text, ANSWER)
            with client.messages.stream(**ask) as stream:
                self.assertEqual("".join(stream.text_stream), ANSWER)

    @needs("ollama")
    def test_ollama(self):
        import ollama
        client = ollama.Client(host=self.url)
        ask = dict(model=MODEL, messages=ASKED, options={"temperature": 0, "num_predict": 9})
        self.assertEqual(client.chat(**ask).message.content, ANSWER)
        self.assertEqual("".join(part.message.content for part in client.chat(**ask, stream=True)), ANSWER)

    @needs("langchain_openai")
    def test_langchain(self):
        from langchain_openai import ChatOpenAI
        model = ChatOpenAI(model=MODEL, base_url=self.url + "/v1", api_key="none", temperature=0, max_tokens=9)
        self.assertEqual(model.invoke(ASKED).text, ANSWER)
        self.assertEqual("".join(chunk.text for chunk in model.stream(ASKED)), ANSWER)
        held = ChatOpenAI(model=MODEL, base_url=self.url + "/v1", api_key="none", temperature=0).with_structured_output(
            {"title": "place", **CITY}, method="json_schema")
        self.assertEqual(set(held.invoke("Which city is the capital of France?")), {"city"})

    @needs("litellm")
    def test_litellm(self):
        import litellm
        for name, base in (("openai/", "/v1"), ("anthropic/", ""), ("ollama_chat/", "")):
            answer = litellm.completion(model=name + MODEL, api_base=self.url + base, api_key="none", temperature=0,
                                        max_tokens=9, messages=ASKED)
            self.assertEqual(answer.choices[0].message.content, ANSWER, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
