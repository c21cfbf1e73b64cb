"""Calls of tools over OpenAI's chat route of `lattice serve`, with models that say what they are told to. Usage:
tool_calls_test.py BINARY FIXTURES [TEST...]"""
import json
import sys
import unittest

import scripted_model
from dialects_test import NOW, WEATHER, Dialects, ask


class OpenAiTools(Dialects):
    def streamed(self, body):
        """The message that a client's accumulator makes of a stream."""
        events, done = self.server.events("/v1/chat/completions", body)
        self.assertTrue(done)
        message, finish, calls = {"role": "", "content": ""}, None, []
        for event in events:
            (choice,) = event["choices"]
            self.assertIsNone(finish)
            finish = choice["finish_reason"]
            delta = choice["delta"]
            for key in ("role", "content", "reasoning_content"):
                if key in delta:
                    message[key] = message.get(key, "") + delta[key]
            for part in delta.get("tool_calls", []):
                if part["index"] == len(calls):
                    calls.append({"id": part["id"], "type": part["type"], "function": dict(part["function"])})
                    self.assertEqual(part["function"]["arguments"], "")
                else:
                    self.assertEqual(set(part), {"index", "function"})
                    calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
        if calls:
            message["tool_calls"] = calls
        return message, finish

    def answer(self, body):
        """The message and its finish; the same streamed and whole."""
        (choice,) = self.post("/v1/chat/completions", body)["choices"]
        message, finish = choice["message"], choice["finish_reason"]
        self.assertIsNone(message.pop("refusal"))
        streamed, streamed_finish = self.streamed(body)
        self.assertEqual(streamed_finish, finish)
        ids = []
        for one in (message, streamed):
            for call in one.get("tool_calls", []):
                ids.append(call.pop("id"))
                self.assertRegex(ids[-1], "^call_[0-9a-f]{24}$")
                self.assertEqual(call.pop("type"), "function")
                self.assertIsInstance(json.loads(call["function"]["arguments"]), dict)
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual(dict(streamed, content=streamed["content"] or None), dict(message, content=message["content"] or None))
        return message, finish

    def test_a_call_comes_as_json(self):
        message, finish = self.answer(ask("weather", model="hermes"))
        self.assertEqual(finish, "tool_calls")
        self.assertEqual(message["content"], "Let me see.")
        self.assertEqual(message["tool_calls"], [
            {"function": {"name": "weather", "arguments": '{"city": "Paris", "days": 2.50}'}}])
        message, finish = self.answer(ask("weather", model="xml"))
        self.assertEqual((message["content"], message["reasoning_content"], finish), (None, "A tool knows.", "tool_calls"))
        self.assertEqual(json.loads(message["tool_calls"][0]["function"]["arguments"]), {"city": "Rome", "days": 3})
        message, finish = self.answer(ask("weather", model="llama_calls", tools=[WEATHER]))
        self.assertEqual((message["content"], finish), (None, "tool_calls"))
        self.assertEqual(message["tool_calls"], [{"function": {"name": "weather", "arguments": '{"city": "Bern"}'}}])

    def test_calls_may_be_several(self):
        message, _ = self.answer(ask("both", model="hermes"))
        self.assertEqual([c["function"]["name"] for c in message["tool_calls"]], ["weather", "now"])
        self.assertEqual(message["tool_calls"][1]["function"]["arguments"], "{}")
        self.assertEqual(message["content"], "Wait, please.")
        message, finish = self.answer(ask("both", model="hermes", parallel_tool_calls=False))
        self.assertEqual(([c["function"]["name"] for c in message["tool_calls"]], finish), (["weather"], "tool_calls"))
        self.assertIsNone(message["content"])

    def test_what_is_no_call_is_text(self):
        message, finish = self.answer(ask("broken", model="hermes"))
        self.assertEqual((message["content"], finish), (scripted_model.HERMES["broken"], "stop"))
        body = ask("weather", model="hermes")
        del body["tools"]
        message, finish = self.answer(body)
        self.assertEqual((message["content"], finish), (scripted_model.HERMES["weather"], "stop"))
        for choice in ("none", "auto"):
            message, _ = self.answer(ask("weather", model="hermes", tool_choice=choice))
            self.assertEqual("tool_calls" in message, choice == "auto")
        message, finish = self.answer(ask("weather", model="hermes", max_tokens=20))
        self.assertEqual(finish, "length")
        self.assertTrue(scripted_model.HERMES["weather"].startswith(message["content"]))
        message, finish = self.answer(ask("json", model="llama_calls"))
        self.assertEqual((message["content"], finish), ('{"answer": 42}', "stop"))

    def test_a_conversation_goes_on_after_a_call(self):
        body = ask("weather", model="hermes")
        (choice,) = self.post("/v1/chat/completions", body)["choices"]
        call = choice["message"]["tool_calls"][0]
        body["messages"] += [choice["message"], {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}]
        message, finish = self.answer(body)
        self.assertEqual((message["content"], finish), (scripted_model.HERMES["after"], "stop"))
        body["messages"][-1]["tool_call_id"] = "another"
        error = self.post("/v1/chat/completions", body, 400)["error"]
        self.assertEqual(error["param"], "messages[2].tool_call_id")

    def bias(self, model, weights):
        """Ends what a model that is kept from what it wants to say would never end."""
        tokens = {text: self.server.json("/tokenize", {"model": model, "content": text})[1]["tokens"] for text in weights}
        return {str(tokens[text][0]): weight for text, weight in weights.items()}

    @staticmethod
    def closed_weather(**fields):
        """The tool with parameters that allow no others."""
        parameters = dict(WEATHER["function"]["parameters"], additionalProperties=False, **fields)
        return {"type": "function", "function": {"name": "weather", "parameters": parameters}}

    def test_a_call_can_be_required(self):
        for model in ("hermes", "xml", "llama_calls"):
            bias = self.bias(model, {'"': 100, "}": 90})
            for choice, names in (("required", ("weather", "now")),
                                  ({"type": "function", "function": {"name": "now"}}, ("now",)),
                                  ({"type": "function", "function": {"name": "weather"}}, ("weather",))):
                message, finish = self.answer(ask("hello", model=model, tools=[self.closed_weather(), NOW],
                                                  tool_choice=choice, logit_bias=bias, enable_thinking=False))
                (call,) = message["tool_calls"]
                self.assertIn(call["function"]["name"], names)
                self.assertEqual((message["content"], finish), (None, "tool_calls"))
                if call["function"]["name"] == "weather":
                    self.assertLessEqual(set(json.loads(call["function"]["arguments"])), {"city", "days"})
            message, finish = self.answer(ask("hello", model=model, tool_choice="required", max_tokens=5))
            self.assertEqual(finish, "length")
        error = self.post("/v1/chat/completions", ask("a", model="hermes", tool_choice={
            "type": "function", "function": {"name": "other"}}), 400)["error"]
        self.assertEqual(error["param"], "tool_choice")

    def test_strict_tools_hold_their_calls(self):
        tool = self.closed_weather(required=["city", "days"])
        tool["function"]["strict"] = True
        body = ask("weather", model="hermes", tools=[tool, NOW],
                   logit_bias=self.bias("hermes", {'"': 100, "}": 100, "7": 90}))
        message, finish = self.answer(body)
        self.assertEqual((message["content"], finish), ("Let me see.", "tool_calls"))
        (call,) = message["tool_calls"]
        arguments = json.loads(call["function"]["arguments"])
        self.assertEqual((call["function"]["name"], set(arguments)), ("weather", {"city", "days"}))
        self.assertIsInstance(arguments["days"], int)
        message, finish = self.answer(dict(body, messages=[{"role": "user", "content": "hello"}]))
        self.assertEqual((message["content"], finish), (scripted_model.HERMES["hello"], "stop"))
        tool["function"]["parameters"]["properties"] = {"city": {"format": "regex"}, "days": {}}
        error = self.post("/v1/chat/completions", body, 400)["error"]
        self.assertEqual(error["param"], "tools")
        self.assertIn("'weather': #/properties/city/format", error["message"])

    def test_strict_tools_hold_arguments_one_by_one(self):
        tool = self.closed_weather(required=["city", "days"])
        tool["function"]["strict"] = True
        tool["function"]["parameters"]["properties"] = {
            "city": {"type": "string"}, "days": {"type": "integer", "minimum": 30, "maximum": 99}}
        body = ask("weather", model="xml", tools=[tool], logit_bias=self.bias("xml", {"7": 90, "\n": 95}))
        message, finish = self.answer(body)
        self.assertEqual((message["reasoning_content"], finish), ("A tool knows.", "tool_calls"))
        (call,) = message["tool_calls"]
        self.assertEqual(json.loads(call["function"]["arguments"]), {"city": "Rome", "days": 37})  # Wants 3.
        tool["function"]["parameters"]["minProperties"] = 3
        error = self.post("/v1/chat/completions", body, 400)["error"]
        self.assertEqual(error["param"], "tools")

    def test_thinking_has_a_budget(self):
        body = ask("ponder", model="hermes")
        message, _ = self.answer(body)
        self.assertEqual((message["reasoning_content"], message["content"]),
                         ("One and two make three.", "Three, I guess."))
        message, _ = self.answer(dict(body, reasoning_budget=3))
        self.assertTrue("One and two".startswith(message["reasoning_content"]), message)
        self.assertFalse(message["content"])

    def test_stop_tokens(self):
        body = ask("hello", model="hermes")
        _, tokens = self.server.json("/tokenize", {"model": "hermes", "content": scripted_model.HERMES["hello"]})
        message, finish = self.answer(dict(body, stop_token_ids=[tokens["tokens"][-1]]))
        self.assertEqual((message["content"], finish), ("Hello there, fr", "stop"))

    def test_log_probabilities_are_those_of_the_text(self):
        (choice,) = self.post("/v1/chat/completions", ask("weather", model="hermes", logprobs=True))["choices"]
        entries = choice["logprobs"]["content"]
        self.assertTrue("".join(e["token"] for e in entries).startswith("Let me see."))
        self.assertNotIn("{", "".join(e["token"] for e in entries))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
