"""A mixed load on `lattice serve`: answers, streams, calls, formats, vectors, rankings, clients that leave, requests that are
wrong. Every answer must be the one that the same request got at the start; in the end nothing is left at work, and
descriptors, threads and memory are what they were.

    server_soak.py BINARY FIXTURES                a few seconds, without a look at memory (as a test)
    server_soak.py BINARY FIXTURES --seconds 600  by hand, with a release build
"""
import argparse
import json
import pathlib
import random
import socket
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("binary")
parser.add_argument("fixtures")
parser.add_argument("--rounds", type=int, default=6, help="of every request by every worker")
parser.add_argument("--seconds", type=float, help="instead of rounds")
parser.add_argument("--workers", type=int, default=6)
ARGUMENTS = parser.parse_args()
sys.argv[1:] = [ARGUMENTS.binary, ARGUMENTS.fixtures]

import scripted_model
from server_test import FIXTURES, Server, chat

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def requests():
    """(path, body) of requests whose answers are the same each time."""
    told = "A long story of a river. " * 12
    out = []
    for model in "llama", "qwen3_5":
        for i in range(4):
            out.append(("/v1/chat/completions", chat(told * (i % 2) + f"Part {i}?", model=model, max_tokens=24,
                                                     temperature=0.9, seed=i, reasoning_effort="none")))
        out.append(("/v1/chat/completions", chat("Two?", model=model, n=2, seed=1, temperature=1, logprobs=True)))
        out.append(("/v1/chat/completions", chat("How many?", model=model, seed=4, temperature=1, guided_regex="[1-9][0-9]{0,3}",
                                                 reasoning_effort="none")))
        out.append(("/v1/completions", {"model": model, "prompt": ["Once", "There"], "max_tokens": 12, "seed": 2}))
    for word in "weather", "both", "ponder", "broken":
        out.append(("/v1/chat/completions", chat(word, model="hermes", tools=[TOOL], max_tokens=200)))
    out.append(("/v1/messages", {"model": "hermes", "max_tokens": 100, "messages": [{"role": "user", "content": "ponder"}]}))
    out.append(("/v1/responses", {"model": "hermes", "input": "hello", "temperature": 0}))
    out.append(("/api/chat", {"model": "hermes", "stream": False, "messages": [{"role": "user", "content": "hello"}]}))
    for n in 1, 7, 60:
        out.append(("/v1/embeddings", {"input": [f"text {i} of many" for i in range(n)], "encoding_format": "base64"}))
    out.append(("/v1/rerank", {"query": "a river", "documents": ["the sea", "a stream", "hills"]}))
    out.append(("/tokenize", {"content": told, "model": "llama"}))
    out.append(("/v1/chat/completions", {"messages": [], "model": "llama"}))
    out.append(("/v1/chat/completions", chat("a", temperature=9)))
    out.append(("/v1/embeddings", {"input": 5}))
    out.append(("/nowhere", {}))
    return out


def lasting(value):
    """An answer without what each has of its own: ids, times, what had been read before."""
    if isinstance(value, dict):
        own = ("id", "created", "created_at", "usage", "call_id", "request_id")
        return {k: lasting(v) for k, v in value.items() if k not in own and not k.endswith("_duration")
                and k != "prompt_eval_count"}
    return [lasting(v) for v in value] if isinstance(value, list) else value


class Process:
    def __init__(self, pid):
        self.folder = pathlib.Path(f"/proc/{pid}")

    def figures(self):
        status = dict(line.split(":", 1) for line in (self.folder / "status").read_text().splitlines())
        return {"kilobytes": int(status["VmRSS"].split()[0]), "threads": int(status["Threads"]),
                "descriptors": len(list((self.folder / "fd").iterdir()))}


class Soak:
    def __init__(self, server, asked):
        self.server, self.asked, self.failures = server, asked, []
        self.expected = [self.ask(i) for i in range(len(asked))]
        self.n_requests, self.lock = 0, threading.Lock()

    def ask(self, i):
        status, answer = self.server.json(*self.asked[i])
        return status, lasting(answer)

    def leave(self, rng):
        body = json.dumps(chat("Go on. " * rng.randint(1, 60), max_tokens=400, ignore_eos=True, stream=True,
                               n=rng.choice((1, 2)), model=rng.choice(("llama", "qwen3_5")))).encode()
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(body) + body)
            if rng.random() < 0.5:
                s.recv(rng.randint(1, 2000))

    def work(self, seed, until):
        rng = random.Random(seed)
        n_round = 0
        while not until(n_round) and not self.failures:
            order = list(range(len(self.asked)))
            rng.shuffle(order)
            for i in order:
                try:
                    if rng.random() < 0.15:
                        self.leave(rng)
                    got = self.ask(i)
                    # A full queue is no failure: the client comes again.
                    if got[0] != 429 and got != self.expected[i]:
                        self.failures.append((self.asked[i], self.expected[i], got))
                except Exception as error:  # noqa: BLE001: whatever it is, it is a failure of the run
                    self.failures.append((self.asked[i], repr(error)))
                with self.lock:
                    self.n_requests += 1
                if until(n_round):
                    break
            n_round += 1

    def run(self, until):
        threads = [threading.Thread(target=self.work, args=(seed, until)) for seed in range(ARGUMENTS.workers)]
        for thread in threads:
            thread.start()
        return threads

    def await_idle(self):
        for _ in range(1200):
            if sum(self.server.metric(f"lattice_requests_{w}") for w in ("waiting", "reading", "answering")) == 0:
                return True
            time.sleep(0.05)
        return False


def main():
    folder = tempfile.TemporaryDirectory()
    models = [f"--model={path}" for path in scripted_model.write_all(folder.name)]
    server = Server(f"--model={FIXTURES}/llama", f"--model={FIXTURES}/qwen3_5", *models,
                    f"--embedding-model={FIXTURES}/bert", f"--rerank-model={FIXTURES}/bert_reranker", "--parallel", "4",
                    "--context", "1024", "--precision", "f32", "--kv-type", "f32", "--quiet")
    process = Process(server.process.pid)
    soak = Soak(server, requests())
    begin = time.monotonic()
    if ARGUMENTS.seconds:
        threads = soak.run(lambda n_round: time.monotonic() - begin > ARGUMENTS.seconds)
    else:
        threads = soak.run(lambda n_round: n_round >= ARGUMENTS.rounds)
    history = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.5 if not ARGUMENTS.seconds else ARGUMENTS.seconds / 40)
        history.append(dict(process.figures(), seconds=round(time.monotonic() - begin), requests=soak.n_requests))
        if ARGUMENTS.seconds:
            print(json.dumps(history[-1]), flush=True)
    for thread in threads:
        thread.join()
    assert not soak.failures, soak.failures[:3]
    assert soak.await_idle(), "requests are still at work"
    again = [soak.ask(i) for i in range(len(soak.asked))]
    assert again == soak.expected, [pair for pair in zip(again, soak.expected) if pair[0] != pair[1]][:2]
    end = process.figures()
    for _ in range(100):  # until connections that were closed have been seen
        if end["descriptors"] <= min(h["descriptors"] for h in history):
            break
        time.sleep(0.05)
        end = process.figures()
    print(f"{soak.n_requests} requests in {time.monotonic() - begin:.0f} s; at the end {end}")
    assert end["threads"] <= max(h["threads"] for h in history[:2]), (history[0], end)
    assert end["descriptors"] <= max(h["descriptors"] for h in history[:4]), (history[:4], end)
    if ARGUMENTS.seconds:
        warm, last = history[len(history) // 4], history[-1]
        growth = last["kilobytes"] - warm["kilobytes"]
        print(f"memory grew by {growth} kB in the last three quarters")
        assert growth < 0.02 * warm["kilobytes"] + 2048, (warm, last)
    assert server.end() == 0, server.read_log()
    server.close()
    folder.cleanup()


main()
