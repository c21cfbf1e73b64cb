"""Pairs in f32 and narrow, and exact top-10, beside NumPy, SimSIMD, NumKong and FAISS, in one run.

Usage: python3 bench/vectors_vs_peer.py build/release/src/vectors [--repetitions N] [--rows N]
The folder is that of the built vectors_top_k_bench and vectors_encoded_vectors_bench. Needs numpy; simsimd, numkong and
faiss are measured when they are installed. The engines take turns, so that a change of the machine's speed meets all of
them; medians, with the fastest and the slowest in brackets.

Pairs: nanoseconds of processor time a pair; 64 of f32 in turn, of narrow ones the same one again. NumPy takes three
einsum calls for the 64. Of SimSIMD and NumKong a loop in C calls the functions that their Python modules export, so
that no call of Python counts (needs `cc`). Ours are called from C++: f32 and cosines of stored vectors through the
public door with its checks, where stored vectors keep their norms; narrow products as the peers' functions are.
Top-10: rows of 384 elements, milliseconds a query, one query at a time and 32 at once, by cosine and by dot product,
with one thread (processor time) and with two (wall time). NumPy, SimSIMD and NumKong compute all scores, then
np.argpartition; FAISS has IndexFlatIP, which knows the dot product alone. `read`: the same rows added up.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

DIMS = (384, 768, 1024)
PAIRS, QUERIES = 64, 32
COLS, K = 384, 10
ENCODINGS = {"1": "f16", "2": "bf16", "3": "int8"}

# A kind of pair: SimSIMD's function, NumKong's, of (a, b, n, result), and what
# NumKong's n counts of an element (SimSIMD counts elements).
PAIRS_OF = {
    "cosine f32": ("simsimd_cos_f32", "nk_angular_f32", 1),
    "dot f32": ("simsimd_dot_f32", "nk_dot_f32", 1),
    "l2sq f32": ("simsimd_l2sq_f32", "nk_sqeuclidean_f32", 1),
    "l2 f32": ("simsimd_l2_f32", "nk_euclidean_f32", 1),
    "dot f16": ("simsimd_dot_f16", "nk_dot_f16", 1),
    "dot bf16": ("simsimd_dot_bf16", "nk_dot_bf16", 1),
    "dot int8": ("simsimd_dot_i8", "nk_dot_i8", 1),
    "cosine f16": ("simsimd_cos_f16", "nk_angular_f16", 1),
    "cosine bf16": ("simsimd_cos_bf16", "nk_angular_bf16", 1),
    "cosine int8": ("simsimd_cos_i8", "nk_angular_i8", 1),
    "bits differ": ("simsimd_hamming_b8", "nk_hamming_u1", 8),
}
LOOP = """
#include <stddef.h>
void run(void (*of_pair)(const void*, const void*, size_t, void*), const char* a, const char* b, size_t n,
         size_t row_bytes, size_t pairs, size_t rounds) {
  double result[2];
  for (size_t r = 0; r < rounds; ++r) {
    for (size_t p = 0; p < pairs; ++p) of_pair(a + p * row_bytes, b + p * row_bytes, n, result);
  }
}
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", help="where vectors_top_k_bench was built")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000, choices=(100_000, 1_000_000))
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)  # of the inner run
    return parser.parse_args()


def benchmarks(program, pattern):
    """[(name, {argument: value}, row)] of one run."""
    output = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.1",
                             f"--benchmark_filter={pattern}"], check=True, capture_output=True, text=True).stdout
    for row in json.loads(output)["benchmarks"]:
        parts = row["name"].split("/")
        yield parts, dict(a.split(":") for a in parts if ":" in a), row


def lattice_times(folder, n_rows):
    """{(kind, size, threads): seconds} of one run of our benchmarks."""
    times, best = {}, {}
    for parts, values, row in benchmarks(f"{folder}/vectors_top_k_bench", f"pairs|rows:{n_rows}/|Read"):
        if parts[1] == "pairs":
            times[parts[0] + " f32", int(values["n"]), 1] = 1 / row["items_per_second"]
            continue
        threads = int(values["threads"])
        seconds = row["cpu_time" if threads == 1 else "real_time"] * 1e-3
        if parts[0] == "BM_Read":
            times["read", COLS, threads] = seconds * n_rows / int(values["rows"])
            continue
        n_queries = int(values["queries"])
        kind = ("top cosine" if values["metric"] == "0" else "top dot") + (f" x{n_queries}" if n_queries > 1 else "")
        times[kind, COLS, threads] = seconds / n_queries
    pattern = "^(int8|f16|bf16|binary)/|BM_Score/encoding:[123]"
    for parts, values, row in benchmarks(f"{folder}/vectors_encoded_vectors_bench", pattern):
        kind = "bits differ" if parts[0] == "binary" else f"dot {parts[0]}"
        if "encoding" in values:
            kind = "cosine " + ENCODINGS[values["encoding"]]
        best.setdefault((kind, int(values["n"]), 1), row["cpu_time"] * 1e-9)  # the fastest row comes first
    return times | best


def seconds_of(call, threads):
    """Seconds of one call: mean over enough calls to fill a tenth of a second."""
    clock = time.process_time if threads == 1 else time.perf_counter
    call()
    n_calls, start = 0, clock()
    while (elapsed := clock() - start) < 0.1:
        call()
        n_calls += 1
    return elapsed / n_calls


def module_file(name):
    return sys.modules.get(f"{name}._{name}", sys.modules[name]).__file__


def aligned(np, x):
    """A copy of x at the border of a cache line, as our vectors are."""
    memory = np.empty(x.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    out = memory[start:start + x.nbytes].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


def best_of(np, distances):
    chosen = np.argpartition(distances, K, axis=1)[:, :K]
    return np.take_along_axis(chosen, np.argsort(np.take_along_axis(distances, chosen, 1), axis=1), 1)


def numpy_functions(np):
    def norms(m):
        return np.sqrt(np.einsum("ij,ij->i", m, m))

    return {
        "cosine f32": lambda a, b: np.einsum("ij,ij->i", a, b) / (norms(a) * norms(b)),
        "top dot": lambda q, m, threads: best_of(np, -(q @ m.T)),
        "top cosine": lambda q, m, threads: best_of(np, -(q @ m.T) / (norms(m) * norms(q)[:, None])),
    }


def narrowed(np, kind, pairs):
    """Pairs of f32 as the elements of `kind`."""
    to = {"f16": lambda x: x.astype(np.float16), "bf16": lambda x: (x.view(np.uint32) >> 16).astype(np.uint16),
          "int8": lambda x: (x * 127).astype(np.int8), "differ": lambda x: np.packbits(x < 0, axis=1),
          "f32": lambda x: x}
    return [to[kind.split()[1]](x) for x in pairs]


def c_loop():
    """LOOP, compiled."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{folder}/loop.so"], check=True,
                       input=LOOP, text=True)
        run = ctypes.CDLL(f"{folder}/loop.so").run
    run.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t] * 4
    return run


def c_pair(run, module, name, of_row):
    """Many rounds over pairs by an exported function; gives seconds a round."""
    function = ctypes.cast(getattr(ctypes.CDLL(module), name), ctypes.c_void_p)

    def timed(a, b):
        rounds = 100_000 // len(a)
        start = time.process_time()
        run(function, a.ctypes.data, b.ctypes.data, a.shape[1] * of_row, a.strides[0], len(a), rounds)
        return (time.process_time() - start) / rounds

    return timed


def simd_functions(np, library, cosine):
    """Of SimSIMD and NumKong, whose functions have one form."""
    def top(q, m, metric, threads):
        scores = np.asarray(library.cdist(q, m, metric=metric, threads=threads)).reshape(len(q), -1)
        return best_of(np, -scores if metric == "dot" else scores)

    return {
        "top dot": lambda q, m, threads: top(q, m, "dot", threads),
        "top cosine": lambda q, m, threads: top(q, m, cosine, threads),
    }


def faiss_functions(faiss, matrix, threads):
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(COLS)
    index.add(matrix)
    return {"top dot": lambda q, m, threads: index.search(q, K)[1]}


def engines_of(np, matrix, threads):
    engines = {"numpy " + np.__version__: numpy_functions(np)}
    for name, cosine in (("simsimd", "cosine"), ("numkong", "angular"), ("faiss", None)):
        try:
            library = __import__(name)
        except ImportError:
            print(name, "is not installed: not measured", file=sys.stderr)
            continue
        engines[f"{name} {library.__version__}"] = (
            simd_functions(np, library, cosine) if cosine else faiss_functions(library, matrix, threads))
    return engines


def peer_times(threads, n_rows):
    """[[engine, kind, size, threads, seconds]] of the peers in this process."""
    import numpy as np
    rng = np.random.default_rng(7)
    matrix = rng.random((n_rows, COLS), dtype=np.float32) * 2 - 1
    queries = rng.random((QUERIES, COLS), dtype=np.float32) * 2 - 1
    rows, found = [], {}
    run = c_loop()
    for engine, functions in engines_of(np, matrix, threads).items():
        peer = ("simsimd", "numkong").index(engine.split()[0]) if engine.split()[0] in ("simsimd", "numkong") else None
        for kind, of_kind in PAIRS_OF.items() if threads == 1 else ():
            for n in DIMS if kind in functions or peer is not None else ():
                n_pairs = PAIRS if kind.endswith("f32") else 1
                a, b = (aligned(np, x) for x in narrowed(np, kind, rng.uniform(-1, 1, (2, n_pairs, n)).astype(np.float32)))
                if peer is not None:
                    of_row = of_kind[2] if peer else 1
                    seconds = c_pair(run, module_file(engine.split()[0]), of_kind[peer], of_row)(a, b)
                else:
                    seconds = seconds_of(lambda: functions[kind](a, b), 1)
                rows.append([engine, kind, n, 1, seconds / n_pairs])
        for kind in ("top cosine", "top dot"):
            for q in (queries[:1], queries) if kind in functions else ():
                chosen = functions[kind](q, matrix, threads).tolist()
                assert found.setdefault((kind, len(q)), chosen) == chosen, f"{engine}: another {kind}"
                seconds = seconds_of(lambda: functions[kind](q, matrix, threads), threads)
                rows.append([engine, kind + (f" x{len(q)}" if len(q) > 1 else ""), COLS, threads, seconds / len(q)])
    return rows


def main():
    arguments = parse_arguments()
    if arguments.threads:
        print(json.dumps(peer_times(arguments.threads, arguments.rows)))
        return
    samples = {}
    for _ in range(arguments.repetitions):
        for (kind, size, threads), seconds in lattice_times(arguments.folder, arguments.rows).items():
            samples.setdefault((kind, size, threads, "lattice"), []).append(seconds)
        for threads in (1, 2):
            limit = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
            inner = [sys.executable, __file__, arguments.folder, "--threads", str(threads), "--rows", str(arguments.rows)]
            output = subprocess.run(inner, check=True, stdout=subprocess.PIPE, text=True, env=limit)
            for engine, kind, size, n_threads, seconds in json.loads(output.stdout):
                samples.setdefault((kind, size, n_threads, engine), []).append(seconds)
    for (kind, size, threads, engine), seconds in sorted(samples.items()):
        factor, unit = (1e9, "ns") if not kind.startswith(("top", "read")) else (1e3, "ms")
        low, middle, high = (factor * f(seconds) for f in (min, statistics.median, max))
        print(f"{kind:14} {size:5} dims {threads} thread(s)  {engine:16} "
              f"{middle:9.2f} {unit} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
