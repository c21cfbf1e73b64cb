"""Accuracy of small networks beside scikit-learn's MLPClassifier: the same rows, layout, optimiser, batch and epochs.

Usage: bench/fann_accuracy_vs_peer.py build/release/bin/lattice [--seeds 10] [--sets xor spirals digits]
Needs numpy and scikit-learn. Mean, least and largest accuracy over the seeds, on rows that were not trained on (of XOR
there are only four). Adam without weight decay; both draw their own orders and first weights.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier


def spirals(first):
    """The two spirals of Lang and Witbrock 1988, 97 points each; first 0.5: between those of first 0."""
    i = np.arange(first, 97 if first == 0 else 96)
    radius, angle = (104 - i) / 104, i * np.pi / 16
    arm = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    return np.concatenate([arm, -arm]), np.repeat([0, 1], len(arm))


def xor():
    return np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float), np.array([0, 1, 1, 0])


def digits():
    x, y = load_digits(return_X_y=True)
    return x / 16, y


# Rows to learn, rows to judge by, hidden layers, activation, epochs, batch, rate.
SETS = {
    "xor": lambda: (xor(), xor(), (8,), "tanh", 500, 4, 0.03),
    "spirals": lambda: (spirals(0), spirals(0.5), (64, 64, 64), "relu", 1000, 32, 0.003),
    "digits": lambda: (tuple(v[:1347] for v in digits()), tuple(v[1347:] for v in digits()), (64,), "relu", 30, 32, 0.001),
}


def peer(learned, judged, layers, activation, epochs, batch, rate, seed):
    model = MLPClassifier(layers, activation=activation, alpha=0, batch_size=batch, max_iter=epochs, tol=0,
                          n_iter_no_change=epochs + 1, learning_rate_init=rate, random_state=seed)
    return model.fit(*learned).score(*judged)


def ours(program, folder, learned, judged, layers, activation, epochs, batch, rate, seed):
    def run(*arguments):
        return subprocess.run([program, "fann", *arguments], check=True, capture_output=True, text=True).stdout

    files = [folder / f"{name}.csv" for name in ("learned", "judged")]
    for file, (x, y) in zip(files, (learned, judged)):
        np.savetxt(file, np.column_stack([x, y]), delimiter=",", fmt="%.9g")
    network = folder / "network.fann"
    run("train", files[0], "-o", network, "--layers", ",".join(map(str, layers)), "--activation", activation, "--epochs",
        str(epochs), "--batch-size", str(batch), "--rate", str(rate), "--seed", str(seed))
    return json.loads(run("eval", network, files[1], "--json"))["accuracy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in arguments.sets:
        problem = SETS[name]()
        with tempfile.TemporaryDirectory() as folder:
            for engine, run in (("lattice", lambda s: ours(arguments.program, pathlib.Path(folder), *problem, s)),
                                ("scikit-learn", lambda s: peer(*problem, s))):
                found = [run(seed) for seed in range(1, arguments.seeds + 1)]
                print(f"{name:8} {engine:12} {statistics.mean(found):.4f}  [{min(found):.4f}, {max(found):.4f}]")


if __name__ == "__main__":
    main()
