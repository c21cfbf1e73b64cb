"""Who may ask `lattice serve`, how it begins and ends, and what outlives it. Usage: server_ends_test.py BINARY FIXTURES
[TEST...]"""
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from server_test import BINARY, FIXTURES, Server, chat

KEY = "a-key-of-the-tests"


class KeysAndEnds(unittest.TestCase):
    def test_keys_open_every_route_but_health(self):
        with tempfile.NamedTemporaryFile("w") as keys:
            keys.write(f"# keys\n{KEY}\n")
            keys.flush()
            server = Server("--model", f"{FIXTURES}/llama", "--api-key-file", keys.name, "--allow-origin",
                            "https://app.example", env={"LATTICE_API_KEYS": "second,third"})
        self.addCleanup(server.close)
        for path in ("/v1/models", "/models", "/metrics", "/v1/chat/completions", "/completions", "/tokenize", "/none"):
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"x-api-key": KEY + "x"}):
                status, body = server.json(path, headers=headers)
                self.assertEqual(status, 401, path)
                self.assertEqual(body["error"]["code"], "invalid_api_key")
        for headers in ({"Authorization": f"Bearer {KEY}"}, {"x-api-key": "third"}):
            self.assertEqual(server.json("/v1/models", headers=headers)[0], 200)
        self.assertEqual(server.json("/health")[0], 200)
        response, _ = server.ask("OPTIONS", "/v1/models", headers={"Origin": "https://app.example"})
        self.assertEqual((response.status, response.getheader("Access-Control-Allow-Origin")),
                         (204, "https://app.example"))
        self.assertEqual(server.end(), 0)
        log = server.read_log()
        self.assertIn("route=/models status=200", log)
        for secret in (KEY, "second", "wrong"):
            self.assertNotIn(secret, log)

    def test_errors_look_as_the_route_s_clients_expect(self):
        server = Server("--model", f"{FIXTURES}/llama", env={"LATTICE_API_KEYS": KEY})
        self.addCleanup(server.close)
        for headers, status, kind in (({}, 401, "authentication_error"),
                                      ({"x-api-key": KEY, "Host": "evil.example"}, 403, "permission_error"),
                                      ({"x-api-key": KEY, "Content-Type": "text/plain"}, 415, "invalid_request_error")):
            for path in ("/v1/messages", "/v1/messages/count_tokens"):
                got, body = server.json(path, {}, headers=headers)
                self.assertEqual((got, body["type"], body["error"]["type"]), (status, "error", kind))
            got, body = server.json("/api/chat", {}, headers=headers)
            self.assertEqual((got, type(body["error"])), (status, str))
            got, body = server.json("/v1/chat/completions", {}, headers=headers)
            self.assertEqual((got, set(body["error"])), (status, {"message", "type", "param", "code"}))
        response, content = server.ask("GET", "/v1/messages", headers={"x-api-key": KEY})
        self.assertEqual((response.status, response.getheader("Allow"), json.loads(content)["type"]),
                         (405, "POST, OPTIONS", "error"))
        response, _ = server.ask("OPTIONS", "/v1/responses/none")
        self.assertEqual(response.getheader("Allow"), "GET, DELETE, OPTIONS")

    def test_https(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        cert, key = f"{folder.name}/cert.pem", f"{folder.name}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        server = Server("--model", f"{FIXTURES}/llama", "--context", "400", "--tls-cert", cert, "--tls-key", key,
                        scheme="https")
        self.addCleanup(server.close)
        context = ssl.create_default_context(cafile=cert)

        def connect():
            return http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
        connection = connect()
        for _ in range(3):  # on one connection
            body = json.dumps(chat("a", max_tokens=4))
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.assertEqual((response.status, json.loads(response.read())["object"]), (200, "chat.completion"))
        for origin, status in ((f"https://127.0.0.1:{server.port}", 200), (f"http://127.0.0.1:{server.port}", 403)):
            connection.request("GET", "/health", headers={"Origin": origin})
            response = connection.getresponse()
            response.read()
            self.assertEqual(response.status, status)
            if response.getheader("Connection") == "close":
                connection.close()
        large = connect()  # what is refused before it was read is told all the same
        large.request("POST", "/v1/embeddings", b" " * 1000, {"Content-Type": "application/json",
                                                             "Content-Length": str(1 << 30)})
        self.assertEqual(large.getresponse().status, 413)
        large.close()
        # Plain HTTP and noise end that connection alone; a client that leaves ends its answer.
        self.assertNotIn(b"200", server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        server.raw(b"\x16\x03\x01\x00\x05hello" + b"\0" * 100)
        # Beyond the limit there is an answer, too; then there is room again.
        def health():
            one = connect()
            one.request("GET", "/health")
            response = one.getresponse()
            content = json.loads(response.read())
            one.close()
            return response, content
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(256)]
        response, content = health()
        self.assertEqual((response.status, response.getheader("Retry-After")), (503, "1"))
        self.assertEqual(content["error"]["message"], "too many connections")
        for one in silent:
            one.close()
        while health()[0].status != 200:
            time.sleep(0.05)
        leaving = connect()
        leaving.request("POST", "/v1/chat/completions", json.dumps(chat("Go on.", max_tokens=380, ignore_eos=True, stream=True)),
                        {"Content-Type": "application/json"})
        leaving.getresponse().read(10)
        leaving.close()
        for _ in range(600):
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
            busy = [line for line in text.splitlines() if re.match("lattice_requests_(answering|reading|waiting)", line)]
            if len(busy) >= 3 and all(float(line.rsplit(" ", 1)[1]) == 0 for line in busy):
                break
            time.sleep(0.05)
        else:
            self.fail("a client that left is still answered")
        connection.close()
        self.assertEqual(server.end(), 0)

    def test_running_answers_end_before_the_server(self):
        server = Server("--model", f"{FIXTURES}/llama", "--context", "400")
        self.addCleanup(server.close)
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/health")  # an idle connection must not hold the server
        connection.getresponse().read()
        events, done = server.events_while(lambda: self.assertEqual(server.end(), 0))
        self.assertTrue(done)
        self.assertEqual(events[-1]["choices"][0]["finish_reason"], "length")

    def test_an_answer_ends_with_its_time(self):
        server = Server("--model", f"{FIXTURES}/llama", "--context", "1000", "--parallel", "64", "--time-limit", "1")
        self.addCleanup(server.close)
        ask = chat("a", max_tokens=900, ignore_eos=True)
        status, body = server.json("/v1/chat/completions", dict(ask, n=64))
        self.assertEqual((status, {c["finish_reason"] for c in body["choices"]}), (200, {"length"}), body)
        self.assertLess(body["usage"]["completion_tokens"], 64 * 900)
        # Half of these wait for the others.
        status, body = server.json("/v1/chat/completions", dict(ask, n=128))
        self.assertEqual((status, body["error"]["code"]), (503, "timed_out"))
        events, done = server.events("/v1/chat/completions", dict(ask, n=128))
        self.assertEqual((events[-1]["error"]["code"], done), ("timed_out", False))
        self.assertEqual(server.json("/v1/chat/completions", chat("a"))[0], 200)

    def test_wrong_usage_is_said(self):
        for arguments, text in ((["--model", "/nowhere"], b"/nowhere"),
                                (["--model", f"{FIXTURES}/bert"], b"bert"),
                                (["--embedding-model", f"{FIXTURES}/llama", "--host", "203.0.113.1"], b"203.0.113.1"),
                                (["--model", f"{FIXTURES}/llama", "--api-key-file", "/nowhere"], b"/nowhere"),
                                (["--model", f"{FIXTURES}/llama", "--tls-cert", "/nowhere", "--tls-key", "/nowhere"],
                                 b"/nowhere")):
            done = subprocess.run([BINARY, "serve", "--port", "0", *arguments], capture_output=True, timeout=60,
                                  env=dict(os.environ, LATTICE_OFFLINE="1"))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(text, done.stderr)

    def test_what_was_read_of_prompts_outlives_the_server(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kept = f"{folder.name}/kept"
        text = "Tell me of rivers, " + "and then of more rivers, " * 8
        logs = []

        def answers():
            server = Server("--model", f"{FIXTURES}/llama", "--model", f"{FIXTURES}/qwen3_5", "--context", "512",
                            "--prompt-cache", kept, "--prompt-cache-mib", "64")
            self.addCleanup(server.close)
            told = [server.json("/v1/chat/completions", chat(text, model=model))[1] for model in ("llama", "qwen3_5")]
            self.assertEqual(server.end(), 0)
            logs.append(server.read_log())
            return told

        def cached(answer):
            return answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        first, second = answers(), answers()
        for once, again in zip(first, second):
            self.assertEqual(once["choices"], again["choices"])
            self.assertEqual(cached(once), 0)
            self.assertGreaterEqual(cached(again), again["usage"]["prompt_tokens"] - 1)
        files = os.listdir(kept)
        self.assertEqual((len(files), os.stat(kept).st_mode & 0o777), (2, 0o700))
        for name in files:
            os.truncate(f"{kept}/{name}", os.stat(f"{kept}/{name}").st_size // 2)
        for once, again in zip(first, answers()):
            self.assertEqual((once["choices"], cached(again)), (again["choices"], 0))
        self.assertEqual([log.count("not brought back") for log in logs], [0, 0, 2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
