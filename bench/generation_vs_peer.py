"""Tokens a second of a GGUF model beside llama.cpp, one after the other in every round.

Usage: generation_vs_peer.py --lattice BINARY --llama-bench BINARY --model FILE.gguf
                             [--prompt 512] [--generate 128] [--threads 2] [--rounds 3]

Prints the medians of all rounds, their spread, and what share of the machine's read bandwidth our decoding uses.
"""
import argparse
import json
import statistics
import subprocess


def ours(a):
    out = subprocess.run([a.lattice, "bench", "--model", a.model, "-p", str(a.prompt), "-n", str(a.generate),
                          "-t", str(a.threads), "-r", "1", "--json"], check=True, capture_output=True)
    rows = json.loads(out.stdout)
    return {row["test"]: row["tokens_per_s"] for row in rows}, rows[-1]


def theirs(a):
    out = subprocess.run([a.llama_bench, "-m", a.model, "-p", str(a.prompt), "-n", str(a.generate),
                          "-t", str(a.threads), "-r", "1", "-o", "json"], check=True, capture_output=True)
    rows = json.loads(out.stdout)
    return {(f"pp{r['n_prompt']}" if r["n_prompt"] else f"tg{r['n_gen']}"): r["avg_ts"] for r in rows}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--lattice", required=True)
    p.add_argument("--llama-bench", required=True)
    p.add_argument("--model", required=True)
    for name, value in ("prompt", 512), ("generate", 128), ("threads", 2), ("rounds", 3):
        p.add_argument(f"--{name}", type=int, default=value)
    a = p.parse_args()
    rounds = []
    for _ in range(a.rounds):
        mine, last = ours(a)
        rounds.append((mine, theirs(a), last))
    print(f"{'test':8} {'lattice':>10} {'(min max)':>18} {'llama.cpp':>10} {'(min max)':>18} {'ratio':>6}")
    for test in rounds[0][0]:
        columns = []
        for k in 0, 1:
            values = [r[k][test] for r in rounds]
            columns.append((statistics.median(values), min(values), max(values)))
        (m, ml, mh), (t, tl, th) = columns
        print(f"{test:8} {m:10.2f} {f'{ml:.1f} {mh:.1f}':>18} {t:10.2f} {f'{tl:.1f} {th:.1f}':>18} {m / t:6.2f}")
    if "weights_bytes_per_s" not in rounds[0][2]:  # a mixture reads the experts that it chooses
        return
    read = statistics.median(r[2]["weights_bytes_per_s"] for r in rounds)
    limit = max(r[2]["read_bandwidth_bytes_per_s"] for r in rounds)
    print(f"decoding reads {read / 1e9:.1f} GB/s of weights; a plain read loop {limit / 1e9:.1f} GB/s "
          f"({100 * read / limit:.0f} %)")


if __name__ == "__main__":
    main()
