"""The dialects of `lattice serve`, with models that say what they are told to. Usage: dialects_test.py BINARY
FIXTURES [TEST...]"""
import json
import sys
import unittest

import scripted_model
from scripted_case import ScriptedCase
from server_test import FIXTURES

WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "Says how the weather is.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}}
NOW = {"type": "function", "function": {"name": "now"}}


def ask(text, **fields):
    return dict({"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 200,
                 "tools": [WEATHER, NOW]}, **fields)


class Dialects(ScriptedCase):
    FLAGS = (f"--model={FIXTURES}/llama", f"--embedding-model={FIXTURES}/bert", "--parallel", "4", "--context", "4096",
             "--precision", "f32", "--kv-type", "f32")

    def post(self, path, body, status=200):
        got, answer = self.server.json(path, body)
        self.assertEqual(got, status, answer)
        return answer

    def named_events(self, path, body):
        """The events of a stream: (name, object)."""
        response, content = self.server.ask("POST", path, dict(body, stream=True))
        self.assertEqual(response.status, 200, content)
        events = []
        for event in content.decode().split("\n\n"):
            if event and not event.startswith(":"):
                name, data = event.split("\n")
                events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
                self.assertEqual(events[-1][0], events[-1][1]["type"])
        return events


class Anthropic(Dialects):
    TOOLS = [{"name": t["function"]["name"], "input_schema": t["function"].get("parameters", {"type": "object"})}
             for t in (WEATHER, NOW)]

    def body(self, text, **fields):
        return dict({"model": "hermes", "max_tokens": 200, "temperature": 0, "tools": self.TOOLS,
                     "messages": [{"role": "user", "content": text}]}, **fields)

    def streamed(self, body):
        events = self.named_events("/v1/messages", body)
        self.assertEqual(events[0][0], "message_start")
        self.assertEqual([name for name, _ in events[-2:]], ["message_delta", "message_stop"])
        message, open_block = events[0][1]["message"], None
        for name, event in events[1:-2]:
            if name == "content_block_start":
                self.assertIsNone(open_block)
                open_block = event["index"]
                self.assertEqual(open_block, len(message["content"]))
                message["content"].append(event["content_block"])
                partial = ""
            elif name == "content_block_delta":
                self.assertEqual(event["index"], open_block)
                delta, block = event["delta"], message["content"][-1]
                for key, kind in (("text", "text_delta"), ("thinking", "thinking_delta")):
                    if delta["type"] == kind:
                        block[key] += delta[key]
                if delta["type"] == "input_json_delta":
                    partial += delta["partial_json"]
                    block["input"] = json.loads(partial)
            elif name == "content_block_stop":
                self.assertEqual(event["index"], open_block)
                open_block = None
            else:
                self.assertEqual(name, "ping")
        self.assertIsNone(open_block)
        message.update(events[-2][1]["delta"])
        message["usage"].update(events[-2][1]["usage"])
        return message

    def answer(self, body):
        whole, streamed = self.post("/v1/messages", body), self.streamed(body)
        ids = []
        for message in (whole, streamed):
            self.assertRegex(message.pop("id"), "^msg_")
            for block in message["content"]:
                if block["type"] == "tool_use":
                    self.assertRegex(block["id"], "^toolu_")
                    ids.append(block.pop("id"))
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual(whole, streamed)
        count = self.post("/v1/messages/count_tokens", {k: v for k, v in body.items() if k != "max_tokens"})
        self.assertEqual(count, {"input_tokens": whole["usage"]["input_tokens"]})
        return whole

    def test_text_and_its_end(self):
        message = self.answer(self.body("hello", system="Be kind."))
        self.assertEqual(message["content"], [{"type": "text", "text": scripted_model.HERMES["hello"]}])
        self.assertEqual((message["stop_reason"], message["stop_sequence"]), ("end_turn", None))
        message = self.answer(self.body("hello", stop_sequences=["zzz", "there"]))
        self.assertEqual((message["stop_reason"], message["stop_sequence"]), ("stop_sequence", "there"))
        self.assertEqual(message["content"], [{"type": "text", "text": "Hello "}])
        message = self.answer(self.body("hello", max_tokens=2))
        self.assertEqual((message["stop_reason"], message["usage"]["output_tokens"]), ("max_tokens", 2))

    def test_tools_and_thinking_are_blocks(self):
        message = self.answer(self.body("weather"))
        self.assertEqual(message["stop_reason"], "tool_use")
        self.assertEqual(message["content"], [{"type": "text", "text": "Let me see."}, {
            "type": "tool_use", "name": "weather", "input": {"city": "Paris", "days": 2.5}}])
        message = self.answer(self.body("ponder", thinking={"type": "enabled", "budget_tokens": 1024}))
        self.assertEqual(message["content"], [
            {"type": "thinking", "thinking": "One and two make three.", "signature": ""},
            {"type": "text", "text": "Three, I guess."}])

    def test_results_go_back(self):
        body = self.body("weather")
        message = self.post("/v1/messages", body)
        use = message["content"][1]["id"]
        body["messages"] += [{"role": "assistant", "content": message["content"]},
                             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use, "content": [
                                 {"type": "text", "text": "sunny"}]}]}]
        self.assertEqual(self.answer(body)["content"][0]["text"], scripted_model.HERMES["after"])
        body["messages"][-1]["content"][0]["tool_use_id"] = "other"
        self.assertEqual(self.post("/v1/messages", body, 400)["error"]["type"], "invalid_request_error")

    def test_errors_are_of_this_dialect(self):
        bad = [{"max_tokens": None}, {"messages": []}, {"messages": [{"role": "system", "content": "a"}]},
               {"temperature": 3}, {"tool_choice": {"type": "tool", "name": "x"}}, {"tool_choice": {"type": "x"}},
               {"tools": [{"type": "web_search_20250305", "name": "s"}]}, {"unknown": 1}, {"stop_sequences": "a"},
               {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}]
        for fields in bad:
            response, content = self.server.ask("POST", "/v1/messages", self.body("a", **fields))
            self.assertEqual(response.status, 400, fields)
            error = json.loads(content)
            self.assertEqual((error["type"], error["error"]["type"]), ("error", "invalid_request_error"))
            self.assertEqual(response.getheader("request-id"), error["request_id"])
        self.assertEqual(self.post("/v1/messages", self.body("a", model="none"), 404)["error"]["type"], "not_found_error")

    def test_clients_are_told_that_no_conversation_is_kept(self):
        body = self.body("hello", thread={"type": "create"})
        self.assertEqual(self.post("/v1/messages", body, 400)["error"]["details"],
                         {"error_code": "thread_unsupported_request", "unsupported": ["thread"]})
        self.assertNotIn("details", self.post("/v1/messages", self.body("a", temperature=3), 400)["error"])


class Responses(Dialects):
    TOOLS = [dict(type="function", **t["function"]) for t in (WEATHER, NOW)]

    def body(self, said, **fields):
        return dict({"model": "hermes", "input": said, "temperature": 0, "tools": self.TOOLS}, **fields)

    def streamed(self, body):
        events = self.named_events("/v1/responses", body)
        self.assertEqual([e["sequence_number"] for _, e in events], list(range(len(events))))
        self.assertEqual([name for name, _ in events[:2]], ["response.created", "response.in_progress"])
        self.assertEqual(events[0][1]["response"]["status"], "in_progress")
        last = events[-1][1]["response"]
        self.assertEqual(events[-1][0], "response." + last["status"])
        output = []
        for name, event in events[2:-1]:
            name = name.removeprefix("response.")
            if name == "output_item.added":
                self.assertEqual(event["output_index"], len(output))
                output.append(event["item"])
                said = ""
                continue
            item = output[event["output_index"]]
            self.assertEqual(event["output_index"], len(output) - 1)
            if name == "output_item.done":
                self.assertEqual(event["item"], dict(item, status="completed"))
                self.assertEqual(event["item"], last["output"][event["output_index"]])
                continue
            self.assertEqual(event["item_id"], item["id"])
            if name == "content_part.added":
                item["content"].append(event["part"])
            elif name.endswith(".delta"):
                said += event["delta"]
                if item["type"] != "function_call":
                    item["content"][0]["text"] = said
                else:
                    item["arguments"] = said
            elif name == "content_part.done":
                self.assertEqual(event["part"], item["content"][0])
            else:
                self.assertEqual(event.get("text", event.get("arguments")), said)
        self.assertEqual(len(output), len(last["output"]))
        return last

    def answer(self, body):
        whole, streamed = self.post("/v1/responses", body), self.streamed(body)
        plain = []
        for response in (whole, streamed):
            response = json.loads(json.dumps(response))
            self.assertRegex(response.pop("id"), "^resp_")
            response.pop("created_at")
            response["usage"]["input_tokens_details"].pop("cached_tokens")
            for item in response["output"]:
                item.pop("id")
                item.pop("call_id", None)
            plain.append(response)
        self.assertEqual(*plain)
        return whole

    def test_items_of_an_answer(self):
        response = self.answer(self.body("hello", instructions="Be kind.", metadata={"a": "b"}))
        self.assertEqual(response["output"][0]["content"][0]["text"], scripted_model.HERMES["hello"])
        self.assertEqual((response["status"], response["instructions"], response["metadata"]),
                         ("completed", "Be kind.", {"a": "b"}))
        response = self.answer(self.body("weather"))
        self.assertEqual([i["type"] for i in response["output"]], ["message", "function_call"])
        self.assertEqual(json.loads(response["output"][1]["arguments"]), {"city": "Paris", "days": 2.5})
        response = self.answer(self.body("ponder"))
        self.assertEqual([i["type"] for i in response["output"]], ["reasoning", "message"])
        self.assertEqual(response["output"][0]["content"][0]["text"], "One and two make three.")
        response = self.answer(self.body("hello", max_output_tokens=2))
        self.assertEqual((response["status"], response["incomplete_details"]),
                         ("incomplete", {"reason": "max_output_tokens"}))

    def test_a_response_is_gone_on_from(self):
        first = self.post("/v1/responses", self.body("weather"))
        result = {"type": "function_call_output", "call_id": first["output"][1]["call_id"], "output": "sunny"}
        following = self.answer(self.body([result], previous_response_id=first["id"]))
        self.assertEqual(following["output"][0]["content"][0]["text"], scripted_model.HERMES["after"])
        self.assertEqual(following["previous_response_id"], first["id"])
        by_hand = self.answer(self.body([{"role": "user", "content": "weather"}, *first["output"], result]))
        self.assertEqual(by_hand["usage"]["input_tokens"], following["usage"]["input_tokens"])
        third = self.post("/v1/responses", self.body("hello", previous_response_id=following["id"]))
        self.assertGreater(third["usage"]["input_tokens"], following["usage"]["input_tokens"])
        unknown = self.post("/v1/responses", self.body("weather", store=False))["id"]
        for id in (unknown, "resp_none"):
            error = self.post("/v1/responses", self.body("a", previous_response_id=id), 400)["error"]
            self.assertEqual(error["param"], "previous_response_id")

    def test_what_is_not_there_is_refused(self):
        for fields in ({"input": None}, {"input": [{"type": "item_reference", "id": "x"}]}, {"background": True},
                       {"tools": [{"type": "web_search"}]}, {"include": ["message.output_text.logprobs"]},
                       {"text": {"format": {"type": "xml"}}}, {"tool_choice": "must"}, {"unknown": 1},
                       {"max_output_tokens": 0}, {"reasoning": {"effort": "huge"}},
                       {"input": [{"type": "function_call_output", "call_id": "x", "output": "a"}]},
                       {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}):
            self.assertEqual(set(self.post("/v1/responses", self.body("a", **fields), 400)["error"]),
                             {"message", "type", "param", "code"})


class Ollama(Dialects):
    def body(self, text, **fields):
        return dict({"model": "hermes:latest", "messages": [{"role": "user", "content": text}], "tools": [WEATHER, NOW],
                     "options": {"temperature": 0, "num_predict": 200, "num_ctx": 4096}}, **fields)

    def lines(self, path, body):
        response, content = self.server.ask("POST", path, body)
        self.assertEqual((response.status, response.getheader("Content-Type")), (200, "application/x-ndjson"), content)
        lines = [json.loads(line) for line in content.decode().splitlines()]
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        return lines

    def answer(self, body):
        whole = self.post("/api/chat", dict(body, stream=False))
        message = {"role": "assistant", "content": ""}
        for line in (lines := self.lines("/api/chat", body)):
            for key in ("content", "thinking"):
                if key in line["message"]:
                    message[key] = message.get(key, "") + line["message"][key]
            message.setdefault("tool_calls", []).extend(line["message"].get("tool_calls", []))
        for one in (message, whole["message"]):
            for call in one.get("tool_calls", []):
                self.assertTrue(call.pop("id"))
        if not message["tool_calls"]:
            del message["tool_calls"]
        self.assertEqual(message, whole["message"])
        for key in ("done_reason", "prompt_eval_count", "eval_count", "model"):
            self.assertEqual(lines[-1][key], whole[key])
        return whole

    def test_chat(self):
        whole = self.answer(self.body("hello"))
        self.assertEqual((whole["message"]["content"], whole["done_reason"]), (scripted_model.HERMES["hello"], "stop"))
        whole = self.answer(self.body("weather"))
        self.assertEqual(whole["message"]["tool_calls"], [
            {"function": {"name": "weather", "arguments": {"city": "Paris", "days": 2.5}}}])
        whole = self.answer(self.body("ponder", think=True))
        self.assertEqual(whole["message"]["thinking"], "One and two make three.")
        whole = self.answer(self.body("hello", options={"temperature": 0, "num_predict": 2}))
        self.assertEqual((whole["done_reason"], whole["eval_count"]), ("length", 2))

    def test_results_need_no_ids(self):
        body = self.body("weather")
        message = self.post("/api/chat", dict(body, stream=False))["message"]
        for call in message["tool_calls"]:
            del call["id"]
        body["messages"] += [message, {"role": "tool", "tool_name": "weather", "content": "sunny"}]
        self.assertEqual(self.answer(body)["message"]["content"], scripted_model.HERMES["after"])
        body["messages"].append(body["messages"][-1])
        self.assertIn("messages[3]", self.post("/api/chat", body, 400)["error"])

    def test_generate(self):
        body = {"model": "hermes", "prompt": "hello", "system": "Be kind.", "options": {"temperature": 0}}
        whole = self.post("/api/generate", dict(body, stream=False))
        self.assertEqual(whole["response"], scripted_model.HERMES["hello"])
        self.assertEqual("".join(line["response"] for line in self.lines("/api/generate", body)), whole["response"])
        for path, nothing in (("/api/generate", {}), ("/api/chat", {"messages": []})):
            self.assertEqual(self.post(path, dict(nothing, model="hermes"))["done_reason"], "load")
            for bad in {"think": "AAA"}, {"options": {"temperature": 9}}, {"tools": 3}:
                if path == "/api/chat" or "tools" not in bad:
                    self.post(path, dict(nothing, model="hermes", **bad), 400)

    def test_embeddings_are_those_of_the_other_route(self):
        texts = ["one", "two words"]
        other = self.post("/v1/embeddings", {"model": "bert", "input": texts})
        answer = self.post("/api/embed", {"model": "bert:latest", "input": texts})
        self.assertEqual(answer["embeddings"], [d["embedding"] for d in other["data"]])
        self.assertEqual(answer["prompt_eval_count"], other["usage"]["prompt_tokens"])
        self.assertEqual(self.post("/api/embeddings", {"model": "bert", "prompt": "one"}),
                         {"embedding": answer["embeddings"][0]})

    def test_models_are_listed(self):
        _, tags = self.server.json("/api/tags")
        self.assertEqual([m["name"] for m in tags["models"]], ["hermes", "xml", "llama_calls", "llama", "bert"])
        _, running = self.server.json("/api/ps")
        self.assertIn("hermes", [m["name"] for m in running["models"]])
        shown = self.post("/api/show", {"model": "hermes"})
        self.assertEqual(shown["capabilities"], ["completion", "tools", "thinking"])
        self.assertEqual(self.post("/api/show", {"model": "bert"})["capabilities"], ["embedding"])
        self.assertIn("version", self.server.json("/api/version")[1])

    def test_errors_are_a_text(self):
        for path, body, status in (
                ("/api/chat", self.body("a", model="none"), 404), ("/api/chat", self.body("a", options={"x": 1}), 400),
                ("/api/chat", self.body("a", options={"mirostat": 1}), 400), ("/api/chat", {"model": "hermes"}, 400),
                ("/api/chat", self.body("a", images=["x"]), 400), ("/api/chat", self.body("a", unknown=1), 400),
                ("/api/generate", {"model": "hermes", "prompt": "a", "raw": True}, 400),
                ("/api/embed", {"model": "bert"}, 400), ("/api/show", {"model": "none"}, 404)):
            self.assertIsInstance(self.post(path, body, status)["error"], str)


class Infill(Dialects):
    def test_a_middle_is_asked_for_by_the_model_s_tokens(self):
        n_tokens = [self.post("/tokenize", {"content": text, "model": "hermes"})["count"] for text in ("def f(", "\nf(1, 2)")]
        for prompt in "def f(", self.post("/tokenize", {"content": "def f(", "model": "hermes"})["tokens"]:
            body = {"model": "hermes", "prompt": prompt, "suffix": "\nf(1, 2)", "temperature": 0, "max_tokens": 50}
            answer = self.post("/v1/completions", body)
            self.assertEqual(answer["choices"][0]["text"], scripted_model.HERMES["middle"])
            self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
            self.assertEqual(answer["usage"]["prompt_tokens"], sum(n_tokens) + 3)
        for more in {"model": "xml"}, {"echo": True}:
            error = self.post("/v1/completions", dict(body, **more), 400)["error"]
            self.assertEqual((error["param"], error["code"]), ("suffix", "unsupported_parameter"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
