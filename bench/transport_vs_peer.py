"""Entropic transport of 2,000 points to 2,000 others in 384 dimensions, beside POT and geomloss, at equal accuracy.

Usage: bench/transport_vs_peer.py build/release/src/transport/transport_sinkhorn_bench [--repetitions N] [--threads N]
Needs numpy and pot; geomloss is measured when it and torch are installed. Squared Euclidean costs, uniform weights, one
thread (processor time, which other work on the machine changes little) or two (wall time). A peer gets the fewest
iterations (POT: of 10, 20, 40, ...; geomloss: the coarsest of its scalings) after which its plan misses the weights by
at most 1e-3 (sum of absolute differences), the condition that ours stops by. Costs are computed within the time. Least
of the repetitions; the engines take turns.
"""
import argparse
import json
import os
import subprocess
import sys
import time

if "--threads" in sys.argv:  # Before the libraries start theirs.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = sys.argv[sys.argv.index("--threads") + 1]
import numpy as np
import ot

N, DIMS, ERROR = 2000, 384, 1e-3


def cloud(seed, offset):
    x = np.random.default_rng(seed).normal(size=(N, DIMS)) + offset
    return np.ascontiguousarray(x / np.sqrt(DIMS))


def clock(threads):
    return time.process_time() if threads == 1 else time.perf_counter()


def ours(program, inverse, threads):
    out = subprocess.run([program, f"--benchmark_filter=n:2000/1/epsilon:{inverse}/threads:{threads}",
                          "--benchmark_format=json", "--benchmark_min_time=0.5"],
                         check=True, capture_output=True, text=True).stdout
    row = json.loads(out)["benchmarks"][0]
    assert row["error"] <= ERROR, row
    return row["cpu_time" if threads == 1 else "real_time"] / 1e3


def pot(x, y, epsilon, threads):
    weights = np.full(N, 1 / N)
    for n_iterations in (10 * 2**k for k in range(9)):
        start = clock(threads)
        plan = ot.sinkhorn(weights, weights, ot.dist(x, y), epsilon, method="sinkhorn_log",
                           numItermax=n_iterations, stopThr=0, warn=False)
        seconds = clock(threads) - start
        error = np.abs(plan.sum(0) - weights).sum() + np.abs(plan.sum(1) - weights).sum()
        if error <= ERROR:
            return seconds, f"{n_iterations} iterations"
    return None, f"error {error:.1e} after {n_iterations} iterations"


def geomloss(x, y, epsilon, threads):
    try:
        import torch
        from geomloss import SamplesLoss
    except ImportError:
        return None, "not installed"
    torch.set_num_threads(threads)
    u, v = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    for scaling in (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995):
        # Its cost is |x - y|^2 / 2 and its epsilon blur^2.
        loss = SamplesLoss("sinkhorn", p=2, blur=(epsilon / 2) ** 0.5, scaling=scaling, debias=False,
                           potentials=True, backend="tensorized")
        start = clock(threads)
        f, g = loss(u, v)
        seconds = clock(threads) - start
        cost = ot.dist(x, y) / 2
        plan = np.exp((f.numpy().reshape(-1, 1) + g.numpy().reshape(1, -1) - cost) / (epsilon / 2)) / N**2
        error = np.abs(plan.sum(0) - 1 / N).sum() + np.abs(plan.sum(1) - 1 / N).sum()
        if error <= ERROR:
            return seconds, f"scaling {scaling}"
    return None, f"error {error:.1e} with scaling {scaling}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, choices=(1, 2))
    arguments = parser.parse_args()
    x, y = cloud(1, 0), cloud(2, 0.5)
    for inverse in (10, 50):
        least = {}
        for _ in range(arguments.repetitions):
            for name, run in (("lattice", lambda: (ours(arguments.program, inverse, arguments.threads), "")),
                              ("POT", lambda: pot(x, y, 1 / inverse, arguments.threads)),
                              ("geomloss", lambda: geomloss(x, y, 1 / inverse, arguments.threads))):
                seconds, note = run()
                if name not in least or (seconds is not None and seconds < least[name][0]):
                    least[name] = (seconds, note)
        for name, (seconds, note) in least.items():
            print(f"epsilon 1/{inverse}  {name:9}", f"{seconds * 1e3:9.1f} ms" if seconds else "        -", note)


if __name__ == "__main__":
    main()
