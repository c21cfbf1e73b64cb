"""Compares encoding speed with the Python package `tokenizers` on one thread.

Usage: tokenizers_vs_peer.py PROGRAM TOKENIZER_JSON [TEXT_FILE] [--rounds N]

PROGRAM is the tokenizers_vs_peer of a release build. Without TEXT_FILE the text is the first
megabyte of the docstrings of Python's standard library.
Both sides encode the same text alternately, whole and line by line (the peer by encode_batch_fast), and
must give the same number of tokens. Prints medians, their ratio and the load times.
"""

import argparse
import ast
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, __version__  # noqa: E402


def docstrings(n_bytes):
    """English prose: docstrings of the standard library, in order of file name."""
    parts, size = [], 0
    for path in sorted(pathlib.Path(ast.__file__).parent.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    parts.append(text)
                    size += len(text) + 1
        if size > n_bytes:
            break
    return "\n".join(parts)[:n_bytes]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("tokenizer_json")
    parser.add_argument("text_file", nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    if arguments.text_file:
        text = pathlib.Path(arguments.text_file).read_text()
    else:
        text = docstrings(1_000_000)
    lines = text.split("\n")

    begin = time.perf_counter()
    peer = Tokenizer.from_file(arguments.tokenizer_json)
    peer_load = time.perf_counter() - begin
    peer.no_truncation()
    peer.no_padding()

    with tempfile.NamedTemporaryFile("w", suffix=".txt", newline="") as file:
        file.write(text)
        file.flush()
        ours = subprocess.Popen([arguments.program, arguments.tokenizer_json, file.name],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        load = float(ours.stdout.readline())
        print(f"tokenizers {__version__}, {len(text.encode()) / 1e6:.2f} MB, one thread")
        print(f"load   ours {load * 1e3:8.1f} ms  peer {peer_load * 1e3:8.1f} ms")
        for mode in ("whole", "lines"):
            times = {"ours": [], "peer": []}
            for _ in range(arguments.rounds):
                ours.stdin.write(mode + "\n")
                ours.stdin.flush()
                seconds, n_tokens = ours.stdout.readline().split()
                times["ours"].append(float(seconds))
                begin = time.perf_counter()
                # The peer's fastest door: like ours here, it leaves out the offsets.
                texts = [text] if mode == "whole" else lines
                n_peer = sum(len(e.ids) for e in peer.encode_batch_fast(texts))
                times["peer"].append(time.perf_counter() - begin)
                if n_peer != int(n_tokens):
                    sys.exit(f"{mode}: {n_tokens} tokens, the peer has {n_peer}")
            a, b = (statistics.median(times[k]) for k in ("ours", "peer"))
            print(f"{mode}  ours {a * 1e3:8.1f} ms  peer {b * 1e3:8.1f} ms  {b / a:5.1f} times"
                  f"  (best {min(times['ours']) * 1e3:.1f} and {min(times['peer']) * 1e3:.1f})")
        ours.stdin.close()


if __name__ == "__main__":
    main()
