"""What it costs to hold answers to a JSON Schema: tokens a second with one and without, in turn, over HTTP.

Usage: schema_cost.py LATTICE MODEL [--schema bench/people_schema.json] [--streams 1 16] [--tokens 128] [--rounds 5]

So many clients at once ask for answers of a fixed length. "certain tokens" is as people use it: what the form leaves
no choice about is not asked of the model. In "every token asked" logprobs are wanted with and without the schema,
which has the model asked for each token: what is left is the masks' own cost. Medians of the rounds; the first one,
which compiles the schema and makes its masks, is not counted.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import sys
import time

from lattice_server import LatticeServer


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
    server = LatticeServer(arguments.lattice, arguments.model, max(arguments.streams), context=2048)
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
        server.end()


if __name__ == "__main__":
    main()
