"""Cosine of pairs and exact top-10, beside NumPy and SimSIMD, in one run.

Usage: python3 bench/vectors_vs_peer.py build/release/src/vectors/vectors_top_k_bench [--repetitions N]
Needs numpy; simsimd is measured when it is installed. The engines take turns, so that a change of the
machine's speed meets all of them; medians, with the fastest and the slowest in brackets.

Pairs: 64 pairs a call, nanoseconds of processor time a pair (SimSIMD: one Python call for the 64,
NumPy: three einsum calls). Top-10: 100,000 rows of 384 elements, milliseconds a query, by cosine and
by dot product, with one thread (processor time) and with two (wall time). NumPy and SimSIMD compute
all scores, then np.argpartition.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

DIMS = (384, 768, 1024)
PAIRS = 64
ROWS, COLS, K = 100_000, 384, 10


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", help="the built vectors_top_k_bench")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)  # of the inner run
    return parser.parse_args()


def lattice_times(program):
    """{(kind, size, threads): seconds} of one run of our benchmark."""
    output = subprocess.run(
        [program, "--benchmark_format=json", "--benchmark_min_time=0.1"],
        check=True, capture_output=True, text=True).stdout
    times = {}
    for row in json.loads(output)["benchmarks"]:
        name, *arguments = row["name"].split("/")
        values = dict(a.split(":") for a in arguments if ":" in a)
        if name == "BM_CosinePairs":
            times["pair", int(values["n"]), 1] = 1 / row["items_per_second"]
        else:
            kind = "top cosine" if values["metric"] == "0" else "top dot"
            threads = int(values["threads"])
            times[kind, COLS, threads] = row["cpu_time" if threads == 1 else "real_time"] * 1e-3
    return times


def seconds_of(call, threads):
    """Seconds of one call: mean over enough calls to fill a tenth of a second."""
    clock = time.process_time if threads == 1 else time.perf_counter
    call()
    n_calls, start = 0, clock()
    while (elapsed := clock() - start) < 0.1:
        call()
        n_calls += 1
    return elapsed / n_calls


def numpy_functions(np):
    def norms(m):
        return np.sqrt(np.einsum("ij,ij->i", m, m))

    def pairs(a, b):
        return np.einsum("ij,ij->i", a, b) / (norms(a) * norms(b))

    def top(scores):
        chosen = np.argpartition(-scores, K)[:K]
        return chosen[np.argsort(-scores[chosen])]

    return {
        "pair": pairs,
        "top dot": lambda q, m, threads: top(m @ q),
        "top cosine": lambda q, m, threads: top(m @ q / (norms(m) * np.sqrt(q @ q))),
    }


def simsimd_functions(np, simsimd):
    def top(q, m, metric, threads):
        scores = np.asarray(simsimd.cdist(q[None], m, metric=metric, threads=threads))[0]
        if metric == "dot":
            scores = -scores
        chosen = np.argpartition(scores, K)[:K]
        return chosen[np.argsort(scores[chosen])]

    return {
        "pair": lambda a, b: simsimd.cosine(a, b),
        "top dot": lambda q, m, threads: top(q, m, "dot", threads),
        "top cosine": lambda q, m, threads: top(q, m, "cosine", threads),
    }


def peer_times(threads):
    """[[engine, kind, size, threads, seconds]] of NumPy and SimSIMD in this process."""
    import numpy as np
    engines = {"numpy " + np.__version__: numpy_functions(np)}
    try:
        import simsimd
        engines["simsimd " + simsimd.__version__] = simsimd_functions(np, simsimd)
    except ImportError:
        print("simsimd is not installed: not measured", file=sys.stderr)
    rng = np.random.default_rng(7)
    matrix = rng.uniform(-1, 1, (ROWS, COLS)).astype(np.float32)
    query = rng.uniform(-1, 1, COLS).astype(np.float32)
    rows, found = [], {}
    for engine, functions in engines.items():
        for n in DIMS if threads == 1 else ():
            a, b = rng.uniform(-1, 1, (2, PAIRS, n)).astype(np.float32)
            rows.append([engine, "pair", n, 1, seconds_of(lambda: functions["pair"](a, b), 1) / PAIRS])
        for kind in ("top cosine", "top dot"):
            call = functions[kind]
            chosen = call(query, matrix, threads).tolist()
            assert found.setdefault(kind, chosen) == chosen, f"{engine}: another {kind}"
            rows.append([engine, kind, COLS, threads,
                         seconds_of(lambda: call(query, matrix, threads), threads)])
    return rows


def main():
    arguments = parse_arguments()
    if arguments.threads:
        print(json.dumps(peer_times(arguments.threads)))
        return
    samples = {}
    for _ in range(arguments.repetitions):
        for (kind, size, threads), seconds in lattice_times(arguments.program).items():
            samples.setdefault((kind, size, threads, "lattice"), []).append(seconds)
        for threads in (1, 2):
            limit = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
            inner = [sys.executable, __file__, arguments.program, "--threads", str(threads)]
            output = subprocess.run(inner, check=True, stdout=subprocess.PIPE, text=True, env=limit)
            for engine, kind, size, n_threads, seconds in json.loads(output.stdout):
                samples.setdefault((kind, size, n_threads, engine), []).append(seconds)
    for (kind, size, threads, engine), seconds in sorted(samples.items()):
        factor, unit = (1e9, "ns") if kind == "pair" else (1e3, "ms")
        low, middle, high = (factor * f(seconds) for f in (min, statistics.median, max))
        print(f"{kind:10} {size:5} dims {threads} thread(s)  {engine:16} "
              f"{middle:9.2f} {unit} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
