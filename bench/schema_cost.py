"""What it costs to hold answers to a JSON Schema: tokens a second with one and without, in turn, over HTTP.

Usage: schema_cost.py LATTICE MODEL [--schema bench/people_schema.json] [--streams 1 16] [--tokens 128] [--rounds 5]

So many clients at once ask for answers of a fixed length. "certain tokens" is as people use it: what the form leaves
no choice about is not asked of the model. In "every token asked" logprobs are wanted with and without the schema,
which has the model asked for each token: what is left is the masks' own cost. Medians of the rounds; the first one,
which compiles the schema and makes its masks, is not counted.
"""
import argparse
import concurrent.futures
import http.client
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import time


class Server:
    def __init__(self, lattice, model, parallel):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([lattice, "-q", "serve", "--model", model, "--port", str(self.port), "--parallel",
                                         str(parallel), "--context", "2048"], stdout=subprocess.DEVNULL)
        while True:
            try:
                self.request("GET", "/health")
                return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit("the server did not start")
                time.sleep(0.1)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method, path, body=body and json.dumps(body), headers={"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"{}")


def tokens_per_second(server, pool, n_streams, fields):
    def ask(i):
        status, answer = server.request("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": f"List the people of team {i} as JSON."}], "temperature": 0, **fields})
        if status != 200:
            sys.exit(f"{status} {answer}")
        return answer["usage"]["completion_tokens"]

    begin = time.perf_counter()
    n_tokens = sum(pool.map(ask, range(n_streams)))
    return n_tokens / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lattice")
    parser.add_argument("model")
    parser.add_argument("--schema", type=pathlib.Path, default=pathlib.Path(__file__).with_name("people_schema.json"))
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    schema = {"type": "json_schema", "json_schema": {"name": "people", "schema": json.loads(arguments.schema.read_text())}}
    server = Server(arguments.lattice, arguments.model, max(arguments.streams))
    try:
        with concurrent.futures.ThreadPoolExecutor(max(arguments.streams)) as pool:
            for what, fields in ("certain tokens", {}), ("every token asked", {"logprobs": True}):
                fields = dict(fields, max_tokens=arguments.tokens, ignore_eos=True)
                for n in arguments.streams:
                    rates = [(tokens_per_second(server, pool, n, fields),
                              tokens_per_second(server, pool, n, dict(fields, response_format=schema)))
                             for _ in range(arguments.rounds + 1)][1:]
                    free, held = (statistics.median(column) for column in zip(*rates))
                    ratio = statistics.median(h / f for f, h in rates)
                    print(f"{what}, {n} at once: {free:.1f} tokens/s without, {held:.1f} with, ratio {ratio:.3f}", flush=True)
    finally:
        server.process.terminate()
        server.process.wait()


if __name__ == "__main__":
    main()
