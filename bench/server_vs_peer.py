#!/usr/bin/env python3
"""`lattice serve` under load beside llama.cpp's llama-server with the same model file, in one run, alternately.

    bench/server_vs_peer.py --lattice build/release/bin/lattice --model FILE.gguf [--peer llama-server]
        [--streams 8 32] [--rounds 3] [--threads N] [--embedding-model NAME] [--history 7000]

For each number of streams: so many clients at once, each with a prompt of its own, answers of a fixed length. Then a
second turn after a long history; requests that need no model; and vectors over HTTP beside `lattice bench`.
"""
import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time

from lattice_server import free_port

WORDS = ("river mountain city forest ocean desert island valley bridge harbour castle garden market station library "
         "museum theatre school tower village").split()


class Server:
    def __init__(self, name, command, environment=None):
        self.name, self.port = name, free_port()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*command, "--port", str(self.port)], stdout=self.log, stderr=self.log,
                                        env=dict(os.environ, **(environment or {})))
        for _ in range(1200):
            try:
                if asyncio.run(self.ask("GET", "/health"))[0] == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.log.seek(0)
        raise SystemExit(f"{name} did not start: {self.log.read().decode()[-2000:]}")

    async def open(self, method, path, body=None):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26)
        data = b"" if body is None else json.dumps(body).encode()
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        await writer.drain()
        return reader, writer

    async def ask(self, method, path, body=None):
        reader, writer = await self.open(method, path, body)
        answer = await reader.read()
        writer.close()
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), content

    async def stream(self, messages, n_tokens):
        """Times of the pieces of an answer since it was asked for, and the number of its tokens."""
        begin = time.perf_counter()
        reader, writer = await self.open("POST", "/v1/chat/completions", {
            "messages": messages, "max_tokens": n_tokens, "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True}})
        times, usage = [], None
        while line := await reader.readline():
            if not line.startswith(b"data: {"):
                continue
            if b'"content":"' in line and b'"content":""' not in line:
                times.append(time.perf_counter() - begin)
            if b'"usage":{' in line or b'"usage": {' in line:
                usage = json.loads(line[6:])["usage"]
        writer.close()
        return times, usage

    def end(self):
        self.process.terminate()
        self.process.wait(60)


def prompt(i, n_words):
    return [{"role": "user", "content": f"Story {i}: " + " ".join(WORDS[(i + 7 * k * k) % len(WORDS)] for k in range(n_words))}]


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


async def load(server, n_streams, n_tokens, salt):
    begin = time.perf_counter()
    answers = await asyncio.gather(*(server.stream(prompt(1000 * salt + i, 40), n_tokens) for i in range(n_streams)))
    wall = time.perf_counter() - begin
    gaps = [b - a for times, _ in answers for a, b in zip(times, times[1:])]
    return {"tokens_per_s": sum(usage["completion_tokens"] for _, usage in answers) / wall,
            "ttft_p50": percentile([t[0] for t, _ in answers], 0.5), "ttft_p99": percentile([t[0] for t, _ in answers], 0.99),
            "gap_p50": percentile(gaps, 0.5), "gap_p99": percentile(gaps, 0.99)}


async def second_turn(server, n_words, salt):
    history = prompt(77_000 + salt, n_words)
    first, usage = await server.stream(history, 8)
    again = [*history, {"role": "assistant", "content": "A fine list of places."}, {"role": "user", "content": "Which is best?"}]
    times, second = await server.stream(again, 8)
    details = second.get("prompt_tokens_details") or {}
    return {"history_tokens": usage["prompt_tokens"], "first_s": first[0], "second_s": times[0],
            "read_again": second["prompt_tokens"] - details.get("cached_tokens", 0)}


def requests_in_a_row(server, n, method, path, body):
    """Microseconds a request on one connection."""
    data = b"" if body is None else json.dumps(body).encode()
    request = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               f"Content-Length: {len(data)}\r\n\r\n").encode() + data
    times = []
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(n):
            begin = time.perf_counter()
            s.sendall(request)
            answer = s.recv(65536)
            while b"\r\n\r\n" not in answer or answer.endswith(b"\r\n\r\n"):
                answer += s.recv(65536)
            times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


async def embed(server, texts, batch, at_once):
    batches = [texts[i:i + batch] for i in range(0, len(texts), batch)]
    waiting = iter(batches)

    async def worker():
        for one in waiting:
            status, content = await server.ask("POST", "/v1/embeddings", {"input": one, "encoding_format": "base64"})
            assert status == 200, content[:300]
    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return len(texts) / (time.perf_counter() - begin)


def median_of(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def show(what, name, figures):
    print(f"{what:24} {name:14} " + "  ".join(f"{k} {v:.4g}" for k, v in figures.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lattice", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer", help="llama-server")
    parser.add_argument("--streams", type=int, nargs="*", default=[8, 32])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--history", type=int, default=7000, help="words of the first turn; 0: no second turn")
    parser.add_argument("--embedding-model")
    arguments = parser.parse_args()

    def lattice(n_streams, context, *more):
        return Server("lattice", [arguments.lattice, "-q", "serve", "--model", arguments.model, "--threads",
                                  str(arguments.threads), "--parallel", str(n_streams), "--context", str(context), *more])

    def peer(n_streams, context):
        return Server("llama-server", [arguments.peer, "-m", arguments.model, "-t", str(arguments.threads), "-np",
                                       str(n_streams), "-c", str(n_streams * context), "--host", "127.0.0.1"])

    makers = [lattice] + ([peer] if arguments.peer else [])
    for n_streams in arguments.streams:
        servers = [make(n_streams, 512) for make in makers]
        runs = {server.name: [] for server in servers}
        for server in servers:
            asyncio.run(load(server, 2, 8, 0))
        for salt in range(1, arguments.rounds + 1):
            for server in servers if salt % 2 else servers[::-1]:
                runs[server.name].append(asyncio.run(load(server, n_streams, arguments.tokens, salt)))
        for server in servers:
            show(f"{n_streams} streams", server.name, median_of(runs[server.name]))
            server.end()
    if arguments.history:
        servers = [make(1, 8192) for make in makers]
        runs = {server.name: [] for server in servers}
        for salt in range(min(arguments.rounds, 3)):
            for server in servers:
                runs[server.name].append(asyncio.run(second_turn(server, arguments.history, salt)))
        for server in servers:
            show("second turn", server.name, median_of(runs[server.name]))
            server.end()
    more = ["--embedding-model", arguments.embedding_model] if arguments.embedding_model else []
    server = lattice(8, 512, *more)
    for what, method, path, body in (("GET /health", "GET", "/health", None), ("GET /v1/models", "GET", "/v1/models", None),
                                     ("POST /tokenize", "POST", "/tokenize", {"content": "a few words to be cut"}),
                                     ("POST, refused", "POST", "/v1/chat/completions", {"messages": []})):
        requests_in_a_row(server, 500, method, path, body)
        show(what, server.name, {"us": requests_in_a_row(server, 5000, method, path, body)})
    if arguments.embedding_model:
        texts = [" ".join(WORDS[(i * 31 + k * (i % 13 + 1)) % len(WORDS)] for k in range(8)) + f" {i}" for i in range(2000)]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(texts) + "\n")
            file.flush()
            for _ in range(arguments.rounds):
                measured = subprocess.run([arguments.lattice, "bench", "--embedding-model", arguments.embedding_model,
                                           "--threads", str(arguments.threads), "-i", file.name, "-r", "3", "--json"],
                                          check=True, capture_output=True).stdout
                show("embed, library", "lattice", {"texts_per_s": json.loads(measured)[0]["texts_per_s"]})
                asyncio.run(embed(server, texts[:200], 100, 2))
                show("embed, HTTP", "lattice", {"texts_per_s": asyncio.run(embed(server, texts, 200, 2))})
    server.end()


main()
