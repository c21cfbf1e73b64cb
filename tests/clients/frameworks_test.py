"""`lattice serve` behind LangChain and LiteLLM. What is not installed is skipped. Usage: frameworks_test.py BINARY
FIXTURES [TEST...]"""
import sys
import unittest

from clients_test import Clients, needs, scripted_model


def weather(city: str) -> str:
    """Says how the weather is."""
    return "sunny"


class LangChain(Clients):
    def check(self, model):
        """A call, its result, and the answer; whole and streamed."""
        from langchain_core.messages import HumanMessage, ToolMessage
        with_tools = model.bind_tools([weather])
        asked = [HumanMessage("weather")]
        answer = with_tools.invoke(asked)
        self.assertEqual([(c["name"], c["args"]["city"]) for c in answer.tool_calls], [("weather", "Paris")])
        streamed = None
        for chunk in with_tools.stream(asked):
            streamed = chunk if streamed is None else streamed + chunk
        self.assertEqual([c["args"] for c in streamed.tool_calls], [c["args"] for c in answer.tool_calls])
        asked += [answer, ToolMessage("sunny", tool_call_id=answer.tool_calls[0]["id"])]
        self.assertEqual(with_tools.invoke(asked).text.strip(), scripted_model.HERMES["after"])

    @needs("langchain_openai")
    def test_openai(self):
        from langchain_openai import ChatOpenAI, OpenAIEmbeddings
        self.check(ChatOpenAI(model="hermes", base_url=self.url + "/v1", api_key="none", temperature=0))
        vectors = OpenAIEmbeddings(model="bert", base_url=self.url + "/v1", api_key="none",
                                   check_embedding_ctx_length=False).embed_documents(["a", "b"])
        self.assertEqual(len(vectors), 2)

    @needs("langchain_openai")
    def test_responses(self):
        from langchain_openai import ChatOpenAI
        self.check(ChatOpenAI(model="hermes", base_url=self.url + "/v1", api_key="none", use_responses_api=True))

    @needs("langchain_anthropic")
    def test_anthropic(self):
        from langchain_anthropic import ChatAnthropic
        self.check(ChatAnthropic(model="hermes", base_url=self.url, api_key="none", max_tokens=200))

    @needs("langchain_ollama")
    def test_ollama(self):
        from langchain_ollama import ChatOllama, OllamaEmbeddings
        self.check(ChatOllama(model="hermes", base_url=self.url, temperature=0))
        self.assertEqual(len(OllamaEmbeddings(model="bert", base_url=self.url).embed_documents(["a", "b"])), 2)


@needs("litellm")
class LiteLlm(Clients):
    def test_dialects(self):
        import litellm
        tool = {"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}}}}
        for name, base in (("openai/hermes", "/v1"), ("anthropic/hermes", ""), ("ollama_chat/hermes", "")):
            answer = litellm.completion(model=name, api_base=self.url + base, api_key="none", tools=[tool],
                                        max_tokens=200, messages=[{"role": "user", "content": "weather"}])
            (call,) = answer.choices[0].message.tool_calls
            self.assertEqual((call.function.name, "Paris" in call.function.arguments), ("weather", True), name)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(
                model=name, api_base=self.url + base, api_key="none", max_tokens=200, stream=True,
                messages=[{"role": "user", "content": "hello"}]))
            self.assertEqual(text, scripted_model.HERMES["hello"], name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
