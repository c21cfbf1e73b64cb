"""`lattice serve` as its clients see it, on the tiny models. Usage: server_test.py BINARY FIXTURES [TEST...]"""
import base64
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BINARY, FIXTURES = sys.argv[1:3]


class Server:
    def __init__(self, *arguments, env=None, scheme="http"):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", "--threads", "2", *arguments], stdout=subprocess.PIPE,
            stderr=self.log, env=dict(os.environ, LATTICE_OFFLINE="1", LATTICE_WEIGHT_CACHE="off", **(env or {})))
        line = self.process.stdout.readline().decode()
        assert line.startswith(f"listening on {scheme}://127.0.0.1:"), (line, self.read_log())
        self.port = int(line.split("://127.0.0.1:")[1].split()[0])

    def read_log(self):
        self.log.seek(0)
        return self.log.read().decode()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.process.stdout.close()
        return status

    def close(self):
        self.end()
        self.log.close()

    def ask(self, method, path, body=None, headers=None, timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def json(self, path, body=None, **kwargs):
        response, content = self.ask("GET" if body is None else "POST", path, body, **kwargs)
        return response.status, json.loads(content)

    def events(self, path, body):
        """The objects of a stream, and whether it said [DONE]."""
        response, content = self.ask("POST", path, dict(body, stream=True))
        assert response.status == 200, content
        assert response.getheader("Content-Type").startswith("text/event-stream"), response.headers
        out = []
        for event in content.decode().split("\n\n"):
            if event.startswith("data: "):
                out.append(event[6:])
        return [json.loads(e) for e in out if e != "[DONE]"], bool(out) and out[-1] == "[DONE]"

    def raw(self, request, timeout=30):
        """All that the server answers to these bytes until it closes or says no more."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as s:
            try:
                s.sendall(request)
            except OSError:
                pass  # it may have closed before it read all
            answer = b""
            try:
                while piece := s.recv(65536):
                    answer += piece
            except OSError:
                pass
            return answer

    def metric(self, name):
        _, content = self.ask("GET", "/metrics")
        values = [line.rsplit(" ", 1)[1] for line in content.decode().splitlines()
                  if line.split("{")[0].split(" ")[0] == name]
        return sum(float(v) for v in values)

    def events_while(self, act):
        """The events of an answer of 300 tokens; `act` is called when the answer is in the making."""
        result = []
        thread = threading.Thread(target=lambda: result.append(self.events(
            "/v1/chat/completions", chat("Go on.", max_tokens=300, ignore_eos=True))))
        thread.start()
        while self.metric("lattice_requests_answering") == 0 and thread.is_alive():
            time.sleep(0.005)
        act()
        thread.join()
        return result[0]


def chat(text, **fields):
    return dict({"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 24}, **fields)


class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model", f"{FIXTURES}/llama", "--model", f"{FIXTURES}/qwen3_5",
                            "--embedding-model", f"{FIXTURES}/bert", "--parallel", "4", "--context", "512",
                            "--precision", "f32", "--kv-type", "f32")

    @classmethod
    def tearDownClass(cls):
        status = cls.server.end()
        log = cls.server.read_log()
        cls.server.close()
        assert status == 0, (status, log)

    def test_models_and_health(self):
        status, body = self.server.json("/v1/models")
        self.assertEqual(status, 200)
        self.assertEqual([m["id"] for m in body["data"]], ["llama", "qwen3_5", "bert"])
        for path in ("/v1/models/llama", "/models/llama/", "/v1/models/%6clama"):
            status, model = self.server.json(path)
            self.assertEqual((status, model), (200, body["data"][0]))
        self.assertEqual(self.server.json("/v1/models/none")[0], 404)
        for path in ("/health", "/v1/health", "/ready", "/health/"):
            self.assertEqual(self.server.ask("GET", path)[0].status, 200, path)

    def test_errors_have_their_four_fields(self):
        cases = [
            ("GET", "/nowhere", None, 404), ("GET", "/v1/chat/completions", None, 405),
            ("DELETE", "/v1/models", None, 405), ("POST", "/v1/chat/completions", "", 400),
            ("POST", "/v1/chat/completions", "[" * 100000, 400),
            ("POST", "/v1/chat/completions", {"model": "none", **chat("a")}, 404),
            ("POST", "/v1/chat/completions", {"model": "bert", **chat("a")}, 404),
            ("POST", "/v1/chat/completions", chat("a", temperature=5), 400),
            ("POST", "/v1/chat/completions", chat("a" * 5000), 400),
            ("POST", "/v1/chat/completions", chat("a", grammar="root ::= b"), 400),
            ("POST", "/v1/chat/completions", {"messages": []}, 400),
            ("POST", "/v1/completions", {"prompt": [10**9]}, 400),
            ("POST", "/v1/embeddings", {"input": []}, 400),
            ("POST", "/v1/embeddings", {"input": "a", "dimensions": 10**6}, 400),
            ("POST", "/v1/embeddings", {"input": [[1, 2]]}, 400),
            ("POST", "/v1/embeddings", {"input": "a " * 5000}, 400),
        ]
        for method, path, body, status in cases:
            response, content = self.server.ask(method, path, body)
            self.assertEqual(response.status, status, (path, body, content[:300]))
            error = json.loads(content)["error"]
            self.assertEqual(set(error), {"message", "type", "param", "code"})
            self.assertIsInstance(error["message"], str)
        _, body = self.server.json("/v1/chat/completions", chat("a" * 5000))
        self.assertEqual((body["error"]["code"], body["error"]["param"]),
                         ("context_length_exceeded", "messages"))

    def check_stream(self, path, body):
        status, whole = self.server.json(path, body)
        self.assertEqual(status, 200, whole)
        events, done = self.server.events(path, dict(body, stream_options={"include_usage": True}))
        self.assertTrue(done)
        self.assertEqual(len({e["id"] for e in events}), 1)
        self.assertEqual(events[-1]["choices"], [])
        # What was read for the first of the two need not be read again.
        for usage in (events[-1]["usage"], whole["usage"]):
            self.assertLess(usage["prompt_tokens_details"].pop("cached_tokens"), usage["prompt_tokens"])
        self.assertEqual(events[-1]["usage"], whole["usage"])
        choices = {}
        for event in events[:-1]:
            self.assertIsNone(event["usage"])
            (choice,) = event["choices"]
            of = choices.setdefault(choice["index"], {"text": "", "reasoning": "", "finish": None, "logprobs": []})
            self.assertIsNone(of["finish"], "nothing comes after the finish")
            of["finish"] = choice["finish_reason"]
            delta = choice.get("delta", {})
            of["text"] += choice.get("text", delta.get("content", ""))
            of["reasoning"] += delta.get("reasoning_content", "")
            if choice["logprobs"]:
                of["logprobs"].append(choice["logprobs"])
        self.assertEqual(list(choices), list(range(len(whole["choices"]))))
        for choice in whole["choices"]:
            streamed = choices[choice["index"]]
            message = choice.get("message", {})
            self.assertEqual(streamed["text"], choice.get("text", message.get("content")))
            self.assertEqual(streamed["reasoning"], message.get("reasoning_content", ""))
            self.assertEqual(streamed["finish"], choice["finish_reason"])
        return whole, choices

    def test_a_stream_says_the_same_as_a_whole(self):
        for model in ("llama", "qwen3_5"):
            for fields in ({}, {"n": 3, "temperature": 1.5, "seed": 7}, {"stop": ["e", "a"]},
                           {"temperature": 1.5, "seed": 3, "top_p": 0.9, "top_k": 40, "min_p": 0.01,
                            "presence_penalty": 1, "frequency_penalty": 1, "repetition_penalty": 1.1},
                           {"reasoning_effort": "none"}, {"max_tokens": 1}):
                whole, _ = self.check_stream("/v1/chat/completions", chat("Name a river.", model=model, **fields))
                usage = whole["usage"]
                self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
                fields = dict({"temperature": 0, "max_tokens": 8}, **fields)
                if fields.pop("reasoning_effort", None):
                    fields["echo"] = True
                self.check_stream("/v1/completions", dict(fields, model=model, prompt=["One", "Two"]))

    def test_logprobs_belong_to_the_text(self):
        body = chat("Name a river.", logprobs=True, top_logprobs=3, reasoning_effort="none")
        whole, streamed = self.check_stream("/v1/chat/completions", body)
        content = whole["choices"][0]["logprobs"]["content"]
        self.assertEqual([e for part in streamed[0]["logprobs"] for e in part["content"]], content)
        for entry in content:
            self.assertEqual(len(entry["top_logprobs"]), 3)
            self.assertEqual(entry["logprob"], entry["top_logprobs"][0]["logprob"])
        whole, streamed = self.check_stream("/v1/completions",
                                            {"prompt": "One", "max_tokens": 8, "temperature": 0, "logprobs": 2})
        logprobs = whole["choices"][0]["logprobs"]
        self.assertEqual({len(values) for values in logprobs.values()}, {len(logprobs["tokens"])})
        tokens = [t for part in streamed[0]["logprobs"] for t in part["tokens"]]
        self.assertEqual(tokens, logprobs["tokens"])

    def test_logit_bias_decides(self):
        _, tokens = self.server.json("/tokenize", {"content": "b"})
        bias = {str(tokens["tokens"][-1]): 100}
        _, whole = self.server.json("/v1/completions", {"prompt": "a", "max_tokens": 3, "temperature": 0,
                                                        "logit_bias": bias, "logprobs": 0})
        self.assertEqual(len(set(whole["choices"][0]["logprobs"]["tokens"])), 1)

    def test_answers_are_held_to_a_structure(self):
        number = {"guided_regex": "-?[1-9][0-9]{0,2}"}
        forms = [(number, "^-?[1-9][0-9]{0,2}$"), ({"structured_outputs": {"choice": ["yes", "no."]}}, "^(yes|no\\.)$"),
                 ({"grammar": 'root ::= "<" [a-c]{3} ">"'}, "^<[abc]{3}>$"),
                 ({"guided_choice": ["(a)", "b|c"]}, "^(\\(a\\)|b\\|c)$")]
        for model in "llama", "qwen3_5":
            for fields, pattern in forms:
                fields = dict(fields, model=model, temperature=1.5, seed=3)
                whole, _ = self.check_stream("/v1/chat/completions",
                                             chat("How many?", reasoning_effort="none", **fields))
                self.assertRegex(whole["choices"][0]["message"]["content"], pattern)
                self.assertEqual(whole["choices"][0]["finish_reason"], "stop")
                whole, _ = self.check_stream("/v1/completions", {"prompt": "x", "max_tokens": 30, **fields})
                self.assertRegex(whole["choices"][0]["text"], pattern)
        status, body = self.server.json("/v1/chat/completions", chat("a", guided_regex="a(?=b)"))
        self.assertEqual((status, body["error"]["param"]), (400, "guided_regex"))
        self.assertIn("character 3", body["error"]["message"])
        # What is cut is said to be cut.
        _, cut = self.server.json("/v1/completions", {"prompt": "x", "max_tokens": 2, "guided_regex": "[a-z]{50}"})
        self.assertEqual(cut["choices"][0]["finish_reason"], "length")
        many = self.server.json("/v1/chat/completions", chat("a", n=4, reasoning_effort="none", **number))[1]
        for choice in many["choices"]:
            self.assertRegex(choice["message"]["content"], "^-?[1-9][0-9]{0,2}$")

    def test_ids_and_text_are_the_same_prompt(self):
        _, tokens = self.server.json("/tokenize", {"prompt": "Once upon a time"})
        _, by_text = self.server.json("/v1/completions", {"prompt": "Once upon a time", "temperature": 0})
        _, by_ids = self.server.json("/v1/completions", {"prompt": tokens["tokens"], "temperature": 0})
        self.assertEqual(by_text["choices"], by_ids["choices"])
        _, text = self.server.json("/detokenize", {"tokens": self.server.json(
            "/tokenize", {"content": "héllo <s>"})[1]["tokens"]})
        self.assertIn("llo", text["content"])

    def test_together_is_as_alone(self):
        bodies = [chat(f"Question {i}: " + "why? " * i, max_tokens=16, temperature=1.2, seed=i,
                       model=("llama", "qwen3_5")[i % 2]) for i in range(12)]
        alone = [self.server.json("/v1/chat/completions", b)[1]["choices"] for b in bodies]
        together = [None] * len(bodies)

        def ask(i):
            together[i] = self.server.json("/v1/chat/completions", bodies[i])[1].get("choices")
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_embeddings(self):
        texts = ["one", "two words", "one", "\ud83d lone"]
        status, body = self.server.json("/v1/embeddings", {"input": texts})
        self.assertEqual(status, 200, body)
        self.assertEqual([d["index"] for d in body["data"]], [0, 1, 2, 3])
        self.assertEqual(body["data"][0]["embedding"], body["data"][2]["embedding"])
        size = len(body["data"][0]["embedding"])
        _, packed = self.server.json("/v1/embeddings", {"input": texts, "encoding_format": "base64"})
        for a, b in zip(body["data"], packed["data"]):
            values = struct.unpack(f"<{size}f", base64.b64decode(b["embedding"], validate=True))
            self.assertEqual([struct.unpack("<f", struct.pack("<f", x))[0] for x in a["embedding"]], list(values))
        _, alone = self.server.json("/embeddings", {"model": "bert", "input": "two words"})
        self.assertEqual(alone["data"][0]["embedding"], body["data"][1]["embedding"])
        _, short = self.server.json("/v1/embeddings", {"input": "one", "dimensions": 8})
        self.assertEqual(len(short["data"][0]["embedding"]), 8)
        status, cut = self.server.json("/v1/embeddings", {"input": "a " * 5000, "truncate": True})
        self.assertEqual(status, 200, cut)

    def await_idle(self):
        for _ in range(600):
            busy = sum(self.server.metric(f"lattice_requests_{what}") for what in ("waiting", "reading", "answering"))
            if busy == 0:
                return
            time.sleep(0.05)
        self.fail("requests of clients that left are still at work")

    def test_clients_that_leave_free_their_place(self):
        for i in range(12):
            body = json.dumps(chat("Go on.", max_tokens=480, ignore_eos=True, stream=i % 2 == 0)).encode()
            s = socket.create_connection(("127.0.0.1", self.server.port))
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(body) + body)
            if i % 2 == 0:
                s.recv(100)
            s.close()
        self.await_idle()
        self.assertEqual(self.server.json("/v1/chat/completions", chat("a"))[0], 200)

    def test_browsers_of_others_are_refused(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            response, _ = self.server.ask("POST", "/v1/chat/completions", chat("a"), headers=headers)
            self.assertEqual(response.status, 403, headers)
            self.assertIsNone(response.getheader("Access-Control-Allow-Origin"))
        response, _ = self.server.ask("POST", "/v1/chat/completions", json.dumps(chat("a")),
                                      headers={"Content-Type": "text/plain"})
        self.assertEqual(response.status, 415)
        body = json.dumps(chat("a", max_tokens=1)).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n"
        # Without a type, which some clients do not name, only what cannot be a page of others.
        for more, status in ((b"", b"200"), (b"Sec-Fetch-Site: cross-site\r\n", b"415")):
            self.assertEqual(self.server.raw(head % len(body) + more + b"\r\n" + body)[9:12], status)

    def test_what_the_model_says_of_a_text(self):
        _, tokens = self.server.json("/tokenize", {"prompt": "Once upon a time", "model": "llama"})
        ids = tokens["tokens"]
        body = {"prompt": ids, "model": "llama", "echo": True, "logprobs": 20, "max_tokens": 0, "temperature": 0}
        status, judged = self.server.json("/v1/completions", body)
        self.assertEqual(status, 200, judged)
        choice, usage = judged["choices"][0], judged["usage"]
        logprobs = choice["logprobs"]
        self.assertEqual({len(values) for values in logprobs.values()}, {len(ids)})
        self.assertEqual((logprobs["token_logprobs"][0], logprobs["top_logprobs"][0]), (None, None))
        self.assertEqual((usage["prompt_tokens"], usage["completion_tokens"], choice["finish_reason"]),
                         (len(ids), 0, "length"))
        self.assertEqual(logprobs["text_offset"], sorted(logprobs["text_offset"]))
        for n in range(1, len(ids)):  # as when the token was to be drawn
            _, drawn = self.server.json("/v1/completions", {"prompt": ids[:n], "model": "llama", "max_tokens": 1,
                                                            "logprobs": 20, "temperature": 0})
            self.assertEqual(drawn["choices"][0]["logprobs"]["top_logprobs"][0], logprobs["top_logprobs"][n])
        # With an answer behind it, whole and streamed.
        for model in "llama", "qwen3_5":
            body = dict(body, model=model, prompt=["Once upon", "a time"], max_tokens=5, logprobs=1)
            whole, streamed = self.check_stream("/v1/completions", body)
            for choice in whole["choices"]:
                parts = streamed[choice["index"]]["logprobs"]
                for name, values in choice["logprobs"].items():
                    self.assertEqual([v for part in parts for v in part[name]], values)

    def test_least_length(self):
        _, short = self.server.json("/v1/completions", {"prompt": "a", "max_tokens": 12, "temperature": 0, "logprobs": 0})
        stop = self.server.json("/tokenize", {"content": short["choices"][0]["logprobs"]["tokens"][0]})[1]["tokens"][-1:]
        body = {"prompt": "a", "max_tokens": 12, "temperature": 0, "stop_token_ids": stop}
        for least in 0, 5, 12:
            _, answer = self.server.json("/v1/completions", dict(body, min_tokens=least))
            self.assertGreaterEqual(answer["usage"]["completion_tokens"], least)
        self.assertEqual(self.server.json("/v1/completions", dict(body, min_tokens=2, guided_regex="a"))[0], 400)

    def test_metrics_are_prometheus(self):
        self.server.json("/v1/chat/completions", chat("a"))
        _, content = self.server.ask("GET", "/metrics")
        declared = set()
        for line in content.decode().splitlines():
            if line.startswith("# TYPE "):
                declared.add(line.split()[2])
            elif not line.startswith("#"):
                name = line.split("{")[0].split(" ")[0]
                base = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
                self.assertTrue({name, base} & declared, line)
                float(line.rsplit(" ", 1)[1])
                self.assertNotIn("nan", line.lower())
        self.assertGreater(self.server.metric("lattice_generated_tokens_total"), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
