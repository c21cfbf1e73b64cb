"""Speed, memory and start of GGUF models beside llama.cpp and ik_llama.cpp: every engine once in every round.

Usage: generation_vs_peers.py --lattice BINARY [--llama-bench BINARY] [--ik-llama-bench BINARY] --model FILE.gguf...
                              [--prompt 512 2048] [--generate 128] [--depth 0 8192] [--threads 2] [--rounds 3]
                              [--start-with LLAMA_COMPLETION] [--lattice-args "..."] [--json FILE]

Prints for each model the medians of all rounds with their least and largest value, the ratio to the faster peer, what
share of the machine's read bandwidth our decoding uses, the peak memory of each program, and with --start-with the
time from the start of a warm program to its first token.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import tempfile
import time

LATTICE, LLAMA, IK = "lattice", "llama.cpp", "ik_llama.cpp"


def run(command):
    """Standard output, peak memory in bytes and seconds of a command that must succeed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        out.seek(0)
        if status != 0:
            err.seek(0)
            raise SystemExit(f"{shlex.join(command)}: status {status}\n{err.read().decode(errors='replace')[-2000:]}")
        return out.read().decode(), usage.ru_maxrss * 1024, seconds


def name_of(n_prompt, n_generate, depth):
    return (f"pp{n_prompt}" if n_prompt else f"tg{n_generate}") + (f" @ {depth}" if depth else "")


def ours(a, model, depth):
    numbers = [x for n in (a.prompt if depth == 0 else []) or [0] for x in ("-p", str(n))]
    out, _, _ = run([a.lattice, "bench", "--model", model, *numbers, "-n", str(a.generate), "-d", str(depth),
                          "-t", str(a.threads), "-r", "1", "--json", *shlex.split(a.lattice_args)])
    rows = json.loads(out)
    speed = {(r["test"].split()[0].split("@")[0] + (f" @ {depth}" if depth else "")): r["tokens_per_s"] for r in rows}
    # The process's peak has the buffer of the bandwidth loop in it; this does not.
    return speed, rows[-1]["peak_bytes"], rows[-1]


def theirs(a, name, model, depth):
    command = [a.llama_bench if name == LLAMA else a.ik_llama_bench, "-m", model, "-t", str(a.threads), "-r", "1",
               "-o", "json", "-p", ",".join(map(str, a.prompt)) if depth == 0 else "0"]
    if name == LLAMA:
        command += ["-n", str(a.generate), "-d", str(depth), *shlex.split(a.llama_args)]
    elif depth == 0:
        command += ["-n", str(a.generate), *shlex.split(a.ik_args)]
    else:  # its own way to generate behind a prompt
        command += ["-n", "0", "-gp", f"{depth},{a.generate}", *shlex.split(a.ik_args)]
    out, memory, _ = run(command)
    rows = json.loads(out)
    speed = {}
    for r in rows:
        generates = r["n_gen"] != 0
        speed[name_of(0 if generates else r["n_prompt"], r["n_gen"], depth if generates else 0)] = r["avg_ts"]
    return speed, memory, rows[-1]


def first_token(a, model):
    """Seconds of a whole program that answers with one token: engine, seconds."""
    prompt = "Once upon a time"
    engines = {LATTICE: [a.lattice, "complete", "--model", model, "-t", str(a.threads), "-n", "1", "-p", prompt],
               LLAMA: [a.start_with, "-m", model, "-t", str(a.threads), "-n", "1", "-c", "512", "-no-cnv", "--no-warmup",
                       "-p", prompt]}
    best = {}
    for _ in range(a.rounds + 1):
        for name, command in engines.items():
            best[name] = min(best.get(name, 1e9), run(command)[2])
    return best


def measure(a, model):
    peers = [n for n, path in ((LLAMA, a.llama_bench), (IK, a.ik_llama_bench)) if path]
    rounds, memory, last = [], {}, []
    for _ in range(a.rounds):
        one = {}
        for depth in a.depth:
            for engine in [LATTICE, *peers]:
                speed, peak, row = ours(a, model, depth) if engine == LATTICE else theirs(a, engine, model, depth)
                one.setdefault(engine, {}).update(speed)
                if depth == a.depth[0]:
                    memory[engine] = max(memory.get(engine, 0), peak)
                    if engine == LATTICE:
                        last.append(row)
        rounds.append(one)
    return peers, rounds, memory, last


def report(a, model):
    peers, rounds, memory, last = measure(a, model)
    result = {"model": os.path.basename(model), "bytes": os.path.getsize(model), "threads": a.threads, "tests": {},
              "memory": memory}
    print(f"{os.path.basename(model)}, {os.path.getsize(model) / 1e6:.0f} MB, {a.threads} threads, tokens/s, "
          f"median of {a.rounds} (least to largest)")
    print(f"  {'test':14}" + "".join(f"{e:>32}" for e in [LATTICE, *peers]) + f"{'ratio':>8}")
    for test in rounds[0][LATTICE]:
        line, medians = f"  {test:14}", {}
        for engine in [LATTICE, *peers]:
            values = [r[engine][test] for r in rounds if test in r[engine]]
            if not values:
                line += f"{'-':>32}"
                continue
            medians[engine] = statistics.median(values)
            line += f"{f'{medians[engine]:.2f} ({min(values):.1f} to {max(values):.1f})':>32}"
        best = max((v for e, v in medians.items() if e != LATTICE), default=None)
        print(line + (f"{medians[LATTICE] / best:8.2f}" if best else ""))
        result["tests"][test] = medians
    print("  peak memory   " + "".join(f"{f'{memory[e] / 1e6:.0f} MB':>32}" for e in [LATTICE, *peers]))
    read = [r["weights_bytes_per_s"] for r in last if "weights_bytes_per_s" in r]
    if read:  # a mixture reads the experts that it chooses
        limit = max(r["read_bandwidth_bytes_per_s"] for r in last)
        print(f"  our decoding reads {statistics.median(read) / 1e9:.1f} GB/s of weights; a plain read loop reaches "
              f"{limit / 1e9:.1f} GB/s ({100 * statistics.median(read) / limit:.0f} %)")
    if a.start_with:
        start = first_token(a, model)
        result["first_token_s"] = start
        print("  warm start to first token: " + ", ".join(f"{e} {s:.3f} s" for e, s in start.items()) +
              f" ({start[LATTICE] / start[LLAMA]:.2f})")
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--lattice", required=True)
    p.add_argument("--llama-bench")
    p.add_argument("--ik-llama-bench")
    p.add_argument("--model", required=True, nargs="+")
    p.add_argument("--prompt", type=int, nargs="*", default=[512])
    p.add_argument("--generate", type=int, default=128)
    p.add_argument("--depth", type=int, nargs="*", default=[0])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--start-with", help="llama.cpp's llama-completion")
    p.add_argument("--lattice-args", default="")
    p.add_argument("--llama-args", default="")
    p.add_argument("--ik-args", default="-rtr 1", help="the peer's own packing at load (default: -rtr 1)")
    p.add_argument("--json")
    a = p.parse_args()
    results = [report(a, model) for model in a.model]
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
