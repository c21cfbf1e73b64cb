"""Training steps of a small network beside scikit-learn and PyTorch: the same layout, batch and optimiser.

Usage: fann_vs_peers.py --bench build/release/src/fann/fann_training_bench [--threads 1 2] [--rounds 5]

64 -> 256 -> 256 -> 64 -> 10 with ReLU (99,530 parameters), cross-entropy, Adam, batches of 32, an epoch of 3,200 rows.
The programs take turns; medians of the rounds, with the fastest and the slowest in brackets. One thread: processor
time, which other work on the machine changes little; more: wall time. PyTorch's Adam is the fused one, its fastest.
Peers: numpy, scikit-learn, torch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

PEER = """
import sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
which, n_threads = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(1)
x = rng.standard_normal((3200, 64)).astype(np.float32)
y = rng.integers(0, 10, 3200)
if which == "sklearn":
    from sklearn.neural_network import MLPClassifier
    model = MLPClassifier((256, 256, 64), alpha=0, batch_size=32, max_iter=1, warm_start=True)
    epoch = lambda: model.fit(x, y)
else:
    import torch
    torch.set_num_threads(n_threads)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256),
                                torch.nn.ReLU(), torch.nn.Linear(256, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    steps = torch.optim.Adam(model.parameters(), fused=True)
    loss = torch.nn.CrossEntropyLoss()
    tx, ty = torch.tensor(x), torch.tensor(y)
    def epoch():
        order = torch.randperm(3200)
        for i in range(0, 3200, 32):
            rows = order[i:i + 32]
            steps.zero_grad()
            loss(model(tx[rows]), ty[rows]).backward()
            steps.step()
clock = time.process_time if n_threads == 1 else time.perf_counter
epoch()
times = []
for _ in range(5):
    begin = clock()
    epoch()
    times.append(clock() - begin)
print(sorted(times)[2] / 100 * 1e6)
"""


def ours(bench, n_threads):
    out = subprocess.run([bench, f"--benchmark_filter=BM_Epoch/{n_threads}/", "--benchmark_format=json",
                          "--benchmark_repetitions=3", "--benchmark_min_time=0.3"],
                         capture_output=True, text=True, check=True).stdout
    clock = "cpu_time" if n_threads == 1 else "real_time"
    return statistics.median(r[clock] for r in json.loads(out)["benchmarks"] if r["run_type"] == "iteration") * 10


def peer(which, n_threads):
    limits = {f"{lib}_NUM_THREADS": str(n_threads) for lib in ("OMP", "OPENBLAS", "MKL")}
    return float(subprocess.run([sys.executable, "-c", PEER, which, str(n_threads)], capture_output=True, text=True,
                                check=True, env={**os.environ, **limits}).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for n_threads in arguments.threads:
        rounds = {"lattice": [], "sklearn": [], "torch": []}
        for _ in range(arguments.rounds):
            for which, times in rounds.items():
                times.append(ours(arguments.bench, n_threads) if which == "lattice" else peer(which, n_threads))
        for name, times in rounds.items():
            middle = statistics.median(times)
            print(f"{n_threads} threads  {name:8}  {middle:8.1f} us/step [{min(times):.1f}, {max(times):.1f}]  "
                  f"{middle / statistics.median(rounds['lattice']):.2f}x")


if __name__ == "__main__":
    main()
