"""What hostile and careless clients send to `lattice serve`, after which a normal request gets its normal answer. Usage:
server_abuse_test.py BINARY FIXTURES [TEST...]"""
import json
import random
import re
import socket
import sys
import threading
import time
import unittest

from server_test import FIXTURES, Server, chat

HOST = b"Host: localhost\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
TINY = json.dumps(chat("a", max_tokens=1)).encode()
CHUNKED = POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


def length(body):
    return b"Content-Length: %d\r\n" % len(body)


def chunks(body, size=7):
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


class Abuse(unittest.TestCase):
    """Each test begins and ends with the same request and the same answer."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model", f"{FIXTURES}/llama", "--model", f"{FIXTURES}/qwen3_5", "--embedding-model",
                            f"{FIXTURES}/bert", "--rerank-model", f"{FIXTURES}/bert_reranker", "--parallel", "4",
                            "--context", "512", "--precision", "f32", "--kv-type", "f32")
        cls.normal = cls.answer()

    @classmethod
    def tearDownClass(cls):
        status = cls.server.end()
        log = cls.server.read_log()
        cls.server.close()
        assert status == 0, (status, log)

    @classmethod
    def answer(cls):
        status, body = cls.server.json("/v1/chat/completions", chat("Name a river.", max_tokens=8))
        assert status == 200, body
        return body["choices"]

    def tearDown(self):
        self.assertEqual(self.answer(), self.normal)
        for _ in range(600):
            busy = sum(self.server.metric(f"lattice_requests_{what}") for what in ("waiting", "reading", "answering"))
            if busy == 0:
                return
            time.sleep(0.05)
        self.fail("requests of clients that left are still at work")

    def refused(self, request, statuses=rb"(400|408|413|414|417|431|501|505)"):
        """One answer, an error, and the connection is over: nothing behind it is taken for a request."""
        answer = self.server.raw(request + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertRegex(answer, rb"^HTTP/1\.1 " + statuses + b" ", request[:200])
        self.assertEqual(len(re.findall(rb"HTTP/1\.1 \d", answer)), 1, request[:200])
        self.assertIn(b"Connection: close\r\n", answer)


class Transport(Abuse):
    def test_smuggling(self):
        one = length(TINY)
        for request in [
            POST + one + b"Transfer-Encoding: chunked\r\n\r\n" + TINY,
            POST + b"Transfer-Encoding: chunked\r\n" + one + b"\r\n" + chunks(TINY),
            POST + one + b"Content-Length: 3\r\n\r\n" + TINY, POST + one + one + b"\r\n" + TINY,
            POST + b"Content-Length: %d, %d\r\n\r\n" % (len(TINY), len(TINY)) + TINY,
            *[POST + b"Content-Length: " + n + b"\r\n\r\n" + TINY
              for n in (b"-1", b"+5", b"0x10", b"5 5", b"", b"1e2", b"18446744073709551616", b"99999999999", b"\xb5")],
            *[POST + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + chunks(TINY)
              for coding in (b"gzip, chunked", b"chunked, chunked", b"chunked, identity", b"xchunked", b"\x0bchunked",
                             b"identity", b"")],
            POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(TINY),
            POST + b"Transfer-Encoding : chunked\r\n\r\n" + chunks(TINY),
            POST + b"Content-Length : 5\r\n\r\n" + TINY, POST + b" Content-Length: 5\r\n\r\n" + TINY,
            POST + b"X: a\r\n Content-Length: 5\r\n\r\n" + TINY, POST + b"X: a\0b\r\n\r\n", POST + b"X\0: a\r\n\r\n",
            POST + b"X: a\rContent-Length: 5\r\n\r\n" + TINY, POST + b"X: a\nContent-Length: 5\r\n\r\n" + TINY,
            POST.replace(b"\r\n", b"\n") + b"\n", POST + b": nameless\r\n\r\n", POST + b"no colon\r\n\r\n",
            POST + HOST + one + b"\r\n" + TINY, b"POST / HTTP/1.1\r\n\r\n", b"GET / HTTP/3.0\r\n\r\n",
            b"GET / HTTP/1.1 \r\n" + HOST + b"\r\n", b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
            b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", b"GET\t/ HTTP/1.1\r\n" + HOST + b"\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", b"\0" * 1000, b"\x16\x03\x01" * 50 + b"\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /%00 HTTP/1.1\r\n" + HOST + b"\r\n",
            b"GET /%zz HTTP/1.1\r\n" + HOST + b"\r\n",
        ]:
            with self.subTest(request=request[:300]):
                self.refused(request)

    def test_sizes(self):
        self.refused(POST + b"X: " + b"a" * 10_000_000)
        self.refused(POST + b"a: b\r\n" * 200 + b"\r\n")
        self.refused(POST + b"a" * 100_000 + b": b\r\n\r\n")
        self.refused(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n")
        self.refused(b"A" * 100_000 + b" / HTTP/1.1\r\n")
        self.refused(POST + b"Content-Length: 40000000\r\n\r\n" + b" " * 100_000)
        self.refused(CHUNKED + b"1;" + b"x" * 100_000 + b"\r\n")
        self.refused(CHUNKED + b"0\r\n" + b"X: y\r\n" * 100_000 + b"\r\n")
        self.refused(CHUNKED + chunks(b" " * 40_000_000, 1 << 20))

    def test_chunks(self):
        for begin in (b"-2\r\n", b"0x5\r\n", b" 5\r\n", b"+5\r\n", b"\r\n", b"g\r\n", b"5 5\r\n", b"5\n", b"ffffffffffffffff\r\n",
                      b"10000000000000000\r\n", b"8000000000000000\r\n", b"5\r\n" + TINY + b"\r\n", b"5\r\n{}   x\r\n",
                      b";a\r\n", b"5\0\r\n", b"0\r\n\n", b"0\r\nno colon\r\n\r\n", b"0\r\nX: a\0\r\n\r\n",
                      chunks(TINY)[:-2] + b"Content-Length: 3\r\n\r\n"):
            with self.subTest(begin=begin):
                self.refused(CHUNKED + begin)
        # What is odd but right.
        for body in (chunks(TINY, 1), chunks(TINY, 1 << 20), chunks(TINY).replace(b"7\r\n", b"0007;a=b;c\r\n", 1),
                     chunks(TINY)[:-2] + b"X: y\r\n\r\n"):
            self.assertRegex(self.server.raw(CHUNKED + body), rb"^HTTP/1\.1 200 ", body)

    def test_cut_anywhere(self):
        whole = POST + length(TINY) + b"Connection: close\r\n\r\n" + TINY
        chunked = CHUNKED + chunks(TINY, 40)
        for request in whole, chunked:
            for at in range(1, len(request), 3):
                with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    s.sendall(request[:at])
                    s.sendall(request[at:])
                    self.assertEqual(s.recv(12), b"HTTP/1.1 200", at)
            with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in request:
                    s.sendall(bytes([byte]))
                self.assertEqual(s.recv(12), b"HTTP/1.1 200")
            for at in range(0, len(request), 5):  # and never completed
                with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                    s.sendall(request[:at])

    def test_requests_in_a_row_on_one_connection(self):
        request = POST + length(TINY) + b"\r\n" + TINY
        last = b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
        answer = self.server.raw(request * 20 + last)
        self.assertEqual(re.findall(rb"HTTP/1\.1 (\d+)", answer), [b"200"] * 21)

    def test_slow_clients_stall_nobody(self):
        slow = []
        for i in range(40):
            s = socket.create_connection(("127.0.0.1", self.server.port))
            s.sendall((POST[:10 + i], POST + b"X: ", POST + length(TINY) + b"\r\n{", CHUNKED + b"5\r\n{")[i % 4])
            slow.append(s)
        readers = []  # who ask for much and read nothing
        for _ in range(4):
            body = json.dumps(chat("Go on.", max_tokens=400, ignore_eos=True, stream=True, logprobs=True,
                                   top_logprobs=20)).encode()
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect(("127.0.0.1", self.server.port))
            s.sendall(POST + length(body) + b"\r\n" + body)
            readers.append(s)
        for _ in range(5):
            self.assertEqual(self.answer(), self.normal)
            for s in slow:
                try:
                    s.sendall(b"a")
                except OSError:
                    pass  # the server lost patience with this one
        for s in slow + readers:
            s.close()

    def test_more_connections_than_there_is_room_for(self):
        held = []
        for _ in range(300):
            s = socket.create_connection(("127.0.0.1", self.server.port))
            held.append(s)
        held[-1].settimeout(30)
        self.assertRegex(held[-1].recv(100), rb"^HTTP/1\.1 503 ")
        for s in held:
            s.close()
        for _ in range(200):  # until their ends have been seen
            try:
                if self.server.ask("GET", "/health")[0].status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.fail("connections that were closed still count")

    def test_a_storm_of_clients_that_leave(self):
        def leave(seed):
            rng = random.Random(seed)
            for i in range(12):
                body = json.dumps(chat("Go on. " * rng.randint(1, 40), max_tokens=400, ignore_eos=True,
                                       n=rng.choice((1, 1, 3)), stream=rng.random() < 0.7,
                                       model=rng.choice(("llama", "qwen3_5")))).encode()
                with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                    s.sendall(POST + length(body) + b"\r\n" + body)
                    if rng.random() < 0.3:
                        s.settimeout(0.5)
                        try:
                            s.recv(rng.randint(1, 3000))
                        except TimeoutError:
                            pass  # nothing has come, and it leaves
                    elif rng.random() < 0.5:
                        time.sleep(rng.random() * 0.05)
        threads = [threading.Thread(target=leave, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Bodies(Abuse):
    def status_of(self, path, body):
        response, content = self.server.ask("POST", path, body)
        if response.status != 200:
            self.assertIn("error", json.loads(content), content)
        return response.status, content

    def test_texts_that_are_no_json(self):
        bad = [b"", b"\xff", b'{"a":"\xff"}', b"{}x", b"nul", b"[1,]", b"{'a':1}", b'{"a":1e}', b'{"a":01}', b'{"a":NaN}',
               b'{"a":-Infinity}', b'{"a":"\n"}', b'{"a":"\\x"}', b'{"a":"\\u12"}', b'{"messages":1e999}', b"\xef\xbb\xbf{}",
               b"\0", b'{"a":"' + b"a" * 100, TINY.decode().encode("utf-16")]
        bad += [b'{"messages":[{"role":"user","content":"%s"}]}' % text
                for text in (b"\xc0\x80", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\x80", b"\xfe\xff")]
        for text in bad:
            for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/messages", "/api/chat", "/tokenize"):
                self.assertEqual(self.status_of(path, text)[0], 400, (path, text[:100]))

    def test_depth(self):
        deep = 100_000
        for text in ("[" * deep, '{"a":' * deep, '{"a":' + "[" * deep + "]" * deep + "}",
                     '{"messages":' + '[{"content":' * deep, "[" * deep + "]" * deep):
            self.assertEqual(self.status_of("/v1/chat/completions", text)[0], 400)
        schema = {"type": "object"}
        for _ in range(24):
            schema = {"type": "object", "properties": {"a": schema}}
        for field in ("tools", "response_format"):
            value = ([{"type": "function", "function": {"name": "f", "parameters": schema}}] if field == "tools" else
                     {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}})
            self.assertIn(self.status_of("/v1/chat/completions", chat("a", max_tokens=1, **{field: value}))[0], (200, 400))

    def test_numbers_at_their_edges(self):
        """name: (least, greatest); what lies beyond, and what is no number, is refused."""
        sampling = {"temperature": (0, 2), "top_p": (0, 1), "top_k": (-1, 2**31 - 1), "min_p": (0, 1), "typical_p": (0, 1),
                    "repetition_penalty": (0.01, 100), "repeat_penalty": (0.01, 100), "presence_penalty": (-2, 2),
                    "frequency_penalty": (-2, 2), "seed": (-2**63, 2**63 - 1), "max_tokens": (1, 2**31 - 1), "n": (1, 128)}
        short = {"max_tokens": 1, "temperature": 1}
        prompt = dict(prompt="a", **short)
        messages = dict(messages=[{"role": "user", "content": "a"}], **short)
        routes = [
            ("/v1/chat/completions", messages, {**sampling, "max_completion_tokens": (1, 2**31 - 1)}),
            ("/v1/chat/completions", dict(messages, logprobs=True), {"top_logprobs": (0, 20)}),
            ("/v1/completions", prompt, {**sampling, "logprobs": (0, 20)}),
            ("/v1/embeddings", {"input": "a"}, {"dimensions": (1, 64)}),
            ("/v1/messages", messages, {"max_tokens": (1, 2**31 - 1), "temperature": (0, 2), "top_p": (0, 1)}),
            ("/v1/responses", {"input": "a", "max_output_tokens": 16},
             {"temperature": (0, 2), "top_p": (0, 1), "max_output_tokens": (1, 2**31 - 1)}),
            ("/v1/rerank", {"query": "a", "documents": ["b", "c"]}, {"top_n": (1, None)}),
        ]
        size = len(json.loads(self.status_of("/v1/embeddings", {"input": "a"})[1])["data"][0]["embedding"])
        for path, body, fields in routes:
            for name, (least, greatest) in fields.items():
                if name == "dimensions":
                    greatest = size
                for value in filter(lambda v: v is not None, (least, greatest)):
                    status, content = self.status_of(path, dict(body, **{name: value}))
                    self.assertEqual(status, 200, (path, name, value, content[:300]))
                self.assertIn(self.status_of(path, dict(body, **{name: None}))[0],
                              (400,) if (path, name) == ("/v1/messages", "max_tokens") else (200,), (path, name))
                whole = isinstance(least, int) and isinstance(greatest, (int, type(None))) and name not in (
                    "temperature", "top_p", "min_p", "typical_p", "presence_penalty", "frequency_penalty")
                beyond = [least - 1, '"1"', "1e999", "-1e999", "[]", "{}", "true", "1e400", "-1e300", "99999999999999999999999"]
                beyond += [] if greatest is None else [greatest + 1, "1e300"]
                beyond += ["1.5", "-0.5"] if whole else []
                for value in beyond:
                    text = json.dumps({k: v for k, v in body.items() if k != name})[:-1] + f', "{name}": {value}}}'
                    status, content = self.status_of(path, text)
                    self.assertEqual(status, 400, (path, text, content[:300]))

    def test_bodies_with_anything_in_them(self):
        """Requests with values put out of place: an answer or an error of the client's, never one of the server's."""
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
            "a": {"type": "string"}}}}}
        message = [{"role": "system", "content": "b"}, {"role": "user", "content": [{"type": "text", "text": "a"}]}]
        call = [{"role": "user", "content": "a"},
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "r"}]
        bodies = [
            ("/v1/chat/completions", {"messages": message, "max_tokens": 2, "stop": ["x"], "logit_bias": {"5": 1},
                                      "stream": False, "stream_options": None, "stop_token_ids": [3], "n": 1}),
            ("/v1/chat/completions", {"messages": call, "max_tokens": 2, "chat_template_kwargs": {"a": 1}}),
            ("/v1/chat/completions", {"messages": message, "max_tokens": 2, "tools": [tool], "tool_choice": "auto"}),
            ("/v1/chat/completions", {"messages": message, "max_tokens": 4, "response_format": {
                "type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "properties": {
                    "a": {"type": "string", "maxLength": 3}}}}}}),
            ("/v1/completions", {"prompt": ["a", "b"], "max_tokens": 2, "logprobs": 1, "echo": False}),
            ("/v1/completions", {"prompt": [[1, 2], [3]], "max_tokens": 2, "guided_regex": "[ab]{2}"}),
            ("/v1/embeddings", {"input": ["a", "b"], "encoding_format": "base64", "dimensions": 8}),
            ("/v1/rerank", {"query": "a", "documents": ["b", {"text": "c"}], "top_n": 1}),
            ("/rerank", {"query": "a", "texts": ["b", "c"]}), ("/embed", {"inputs": ["a"], "normalize": True}),
            ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
                              "max_tokens": 2, "system": "s", "stop_sequences": ["x"]}),
            ("/v1/messages/count_tokens", {"messages": [{"role": "user", "content": "a"}]}),
            ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}],
                               "max_output_tokens": 16, "instructions": "b", "text": {"format": {"type": "text"}}}),
            ("/api/chat", {"messages": message[:1], "stream": False, "options": {"num_predict": 2, "stop": ["x"]}}),
            ("/api/generate", {"prompt": "a", "stream": False, "options": {"num_predict": 2}}),
            ("/api/embed", {"input": ["a"]}), ("/api/show", {"model": "llama"}),
            ("/tokenize", {"content": "a", "with_pieces": True}), ("/detokenize", {"tokens": [1, 2]}),
            ("/apply-template", {"messages": message}), ("/models/unload", {"model": "none"}),
        ]
        odd = [None, True, False, 0, -1, 1.5, 2**53, 2**64, -2**63, 1e308, "", "a", "\0", "\ud800", "\U0001f600" * 50,
               "\\u0000", "../../etc/passwd", "<|im_end|>", "%s%n", "a" * 5000, [], {}, [[]], [None], [1, "a"], {"": {}},
               {"type": "text"}, {"type": "image_url", "image_url": {"url": "http://localhost/"}}, {"$ref": "#"}, ["x"] * 300,
               [[1] * 3] * 3, {"a": {"$ref": "#/a"}}]
        rng = random.Random(7)

        def places(value, path=()):
            yield path
            items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, inner in items:
                yield from places(inner, path + (key,))

        for path, body in bodies:
            status, content = self.status_of(path, body)
            # What a tiny model's template does not know is said.
            self.assertIn(status, (200, 400, 404), (path, body, content))
            all_places = [p for p in places(body) if p]
            for _ in range(40):
                changed = json.loads(json.dumps(body))
                for _ in range(rng.choice((1, 1, 2))):
                    at = rng.choice(all_places)
                    holder = changed
                    try:
                        for key in at[:-1]:
                            holder = holder[key]
                        what = rng.random()
                        if what < 0.8:
                            holder[at[-1]] = rng.choice(odd)
                        elif isinstance(holder, dict):
                            del holder[at[-1]]
                            holder[rng.choice(("", "\0", "a" * 300, "n", "prompt"))] = rng.choice(odd)
                    except (TypeError, KeyError, IndexError):
                        continue  # an earlier change took the place away
                status, content = self.status_of(path, changed)
                self.assertIn(status, (200, 400, 404), (path, changed, content[:300]))


class Sameness(Abuse):
    """What else is at work, and what was read before, does not change a bit of an answer."""

    def ask(self, body):
        status, answer = self.server.json("/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        return answer["choices"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_remembered_or_not(self):
        for model in "llama", "qwen3_5":
            told = "Tell me of the river. " * 8
            turns = [{"role": "user", "content": told}, {"role": "assistant", "content": "It is long. " * 6},
                     {"role": "user", "content": "And of the sea?"}]
            forked = turns[:2] + [{"role": "user", "content": "And of the hills, then?"}]
            bodies = [dict(model=model, messages=m, max_tokens=8, temperature=0.8, seed=5, logprobs=True, top_logprobs=5,
                           reasoning_effort="none") for m in (turns[:1], turns, forked)]
            fresh = []
            for body in bodies:  # each by a server that has read nothing
                self.assertEqual(self.server.ask("POST", "/models/unload", {"model": model})[0].status, 200)
                self.until_gone(model)  # a model that is wanted before that stays, and remembers
                self.assertEqual(self.server.ask("POST", "/models/load", {"model": model})[0].status, 200)
                choices, cached = self.until_loaded(body)
                self.assertEqual(cached, 0)
                fresh.append(choices)
            for _ in range(2):
                for body, expected in zip(bodies, fresh):
                    choices, cached = self.ask(body)
                    self.assertEqual(choices, expected)
            self.assertGreater(cached, 0)

    def until_gone(self, model):
        for _ in range(600):
            if self.server.json(f"/v1/models/{model}")[1]["status"]["value"] == "unloaded":
                return
            time.sleep(0.05)
        self.fail("the model does not go")

    def until_loaded(self, body):
        for _ in range(600):
            status, answer = self.server.json("/v1/chat/completions", body)
            if status != 503:
                self.assertEqual(status, 200, answer)
                return answer["choices"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]
            time.sleep(0.05)
        self.fail("the model does not load")

    def test_in_a_crowd_or_alone(self):
        bodies = [chat(f"Question {i}: " + "why? " * (i % 9), max_tokens=6, temperature=1.1, seed=i, logprobs=True,
                       top_logprobs=3, reasoning_effort="none", model=("llama", "qwen3_5")[i % 2]) for i in range(16)]
        alone = [self.ask(body)[0] for body in bodies]
        results = {}

        def run(worker):
            order = list(range(len(bodies)))
            random.Random(worker).shuffle(order)
            results[worker] = [(i, self.ask(bodies[i])[0]) for i in order]
        threads = [threading.Thread(target=run, args=(w,)) for w in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 4)
        for answers in results.values():
            for i, choices in answers:
                self.assertEqual(choices, alone[i])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
