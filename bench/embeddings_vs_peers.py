"""Times `lattice` and its peers on the same texts, alternately, in one run; prints medians and ratios.

Usage: embeddings_vs_peers.py --lattice BINARY --model FOLDER [--rounds 5] [--threads 2]
                              [--texts SHORT LONG] [--fasttextembed] [--json FILE]

Peers: ONNX Runtime (f32 and dynamic int8, its own fused graph, texts sorted by length, the best of
several batch sizes, tokens by the `tokenizers` package) and, for a bge-small shaped model,
fasttextembed. bench/README.md says how to install them. `onnxruntime graph only` leaves tokenising and
pooling out of the peer's time (never out of ours).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import onnx_bert  # noqa: E402

WORDS = {"query": 8, "short": 8, "long": 250}  # of a text
BATCHES = {"query": (1,), "short": (16, 32, 64, 128), "long": (4, 8, 16)}


def make_texts(tokenizer, counts):
    """Texts of whole vocabulary words, so that words and tokens agree in number."""
    words = sorted(w for w in tokenizer.get_vocab() if w.isalpha() and w.isascii() and len(w) > 2)
    rng = np.random.default_rng(7)
    return {name: [" ".join(rng.choice(words, WORDS[name])) for _ in range(n_texts)]
            for name, n_texts in counts.items()}


class OnnxRuntime:
    def __init__(self, model_file, tokenizer, pooling, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(model_file, options)
        self.tokenizer, self.pooling = tokenizer, pooling

    def batches(self, texts, size):
        encoded = self.tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        for at in range(0, len(order), size):
            part = order[at:at + size]
            length = max(len(encoded[i].ids) for i in part)
            ids = np.zeros((len(part), length), np.int32)
            mask = np.zeros_like(ids)
            for row, i in enumerate(part):
                n = len(encoded[i].ids)
                ids[row, :n], mask[row, :n] = encoded[i].ids, 1
            yield part, {"input_ids": ids, "attention_mask": mask,
                         "token_type_ids": np.zeros_like(ids)}

    def embed(self, texts, size):
        vectors = np.zeros((len(texts), self.session.get_outputs()[0].shape[2]), np.float32)
        for part, feed in self.batches(texts, size):
            hidden = self.session.run(None, feed)[0]
            if self.pooling == "cls":
                v = hidden[:, 0]
            else:
                mask = feed["attention_mask"][:, :, None]
                v = (hidden * mask).sum(1) / mask.sum(1)
            vectors[part] = v / np.linalg.norm(v, axis=1, keepdims=True)
        return vectors

    def time_all(self, texts, size):
        start = time.perf_counter()
        self.embed(texts, size)
        return time.perf_counter() - start

    def time_graph(self, texts, size):
        feeds = [feed for _, feed in self.batches(texts, size)]
        start = time.perf_counter()
        for feed in feeds:
            self.session.run(None, feed)
        return time.perf_counter() - start


def repeat(timed, texts):
    """Seconds of one pass; a single query is the median of many."""
    n = 60 if len(texts) == 1 else 1
    return float(np.median([timed() for _ in range(n)]))


def time_lattice(args, precision, files):
    command = [args.lattice, "bench", "--embedding-model", args.model, "--precision", precision,
               "--threads", str(args.threads), "-r", "3", "--json"]
    for file in files.values():
        command += ["--input", file]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {row["test"]: row for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lattice", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, nargs=2, default=(1000, 200),
                        help="short and long texts of a round")
    parser.add_argument("--fasttextembed", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()

    tokenizer = Tokenizer.from_file(f"{args.model}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    counts = {"query": 1, "short": args.texts[0], "long": args.texts[1]}
    texts = make_texts(tokenizer, counts)
    pooling = "mean"
    if os.path.exists(f"{args.model}/1_Pooling/config.json"):
        with open(f"{args.model}/1_Pooling/config.json") as f:
            config = json.load(f)
        first = config.get("pooling_mode_cls_token") or config.get("pooling_mode") == "cls"
        pooling = "cls" if first else "mean"

    seconds = {}  # (engine, workload) -> list
    extra = {}

    def note(engine, workload, value):
        seconds.setdefault((engine, workload), []).append(value)

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, onnx_bert.__file__, args.model, folder], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        files = {}
        for name, lines in texts.items():
            files[name] = f"{folder}/{name}.txt"
            with open(files[name], "w") as f:
                f.write("\n".join(lines) + "\n")
        peers = {p: OnnxRuntime(f"{folder}/{p}.onnx", tokenizer, pooling, args.threads)
                 for p in ("f32", "int8")}
        best = {}
        for precision, peer in peers.items():
            for name in WORDS:
                times = {b: min(peer.time_all(texts[name], b) for _ in range(2))
                         for b in BATCHES[name]}
                best[precision, name] = min(times, key=times.get)
        fte = None
        if args.fasttextembed:
            import fasttextembed_model
            fasttextembed_model.main(args.model, folder)
            os.environ["FTE_MODEL_DIR"] = folder
            from fasttextembed import TextEmbedding
            fte = TextEmbedding()
        for _ in range(args.rounds):
            for precision in ("f32", "int8", "bf16"):
                for name, row in time_lattice(args, precision, files).items():
                    note(f"lattice {precision}", name, row["seconds"])
                    extra[f"lattice {precision}"] = row
                if precision == "bf16":
                    continue
                peer = peers[precision]
                for name, lines in texts.items():
                    size = best[precision, name]
                    note(f"onnxruntime {precision}", name,
                         repeat(lambda: peer.time_all(lines, size), lines))
                    note(f"onnxruntime {precision} graph only", name,
                         repeat(lambda: peer.time_graph(lines, size), lines))
            if fte is not None:
                for name, lines in texts.items():
                    def once():
                        start = time.perf_counter()
                        fte.embed(lines, args.threads)
                        return time.perf_counter() - start
                    note("fasttextembed", name, repeat(once, lines))

        check = np.array([json.loads(line)["embedding"] for line in subprocess.run(
            [args.lattice, "embed", "--model", args.model, "--input", files["short"], "--format",
             "jsonl"], check=True, capture_output=True, text=True).stdout.splitlines()])
        exact = peers["f32"].embed(texts["short"], 32)
        print(f"same texts, same vectors: largest difference to onnxruntime f32 "
              f"{abs(check - exact).max():.2e}\n")

    engines = list(dict.fromkeys(engine for engine, _ in seconds))
    print(f"{'median of ' + str(args.rounds):32}" + "".join(f"{n:>24}" for n in WORDS))
    table = []
    for engine in engines:
        line = f"{engine:32}"
        for name, n_texts in counts.items():
            values = seconds[engine, name]
            median = float(np.median(values))
            shown = f"{median * 1e3:.3f} ms" if n_texts == 1 else f"{n_texts / median:.1f} docs/s"
            spread = (max(values) - min(values)) / median * 100
            line += f"{shown + f' ±{spread / 2:.0f}%':>24}"
            table.append({"engine": engine, "workload": name, "median_s": median,
                          "min_s": min(values), "max_s": max(values)})
        print(line)
    print()
    for ours, theirs in (("lattice f32", "onnxruntime f32"),
                         ("lattice f32", "onnxruntime f32 graph only"),
                         ("lattice int8", "onnxruntime int8"),
                         ("lattice int8", "onnxruntime int8 graph only"),
                         ("lattice bf16", "onnxruntime int8"),
                         ("lattice f32", "fasttextembed")):
        if (theirs, "query") in seconds:
            line = f"{ours + ' / ' + theirs:45}"
            for name in WORDS:
                ratio = np.median(seconds[theirs, name]) / np.median(seconds[ours, name])
                line += f"{ratio:>11.2f}x"
            print(line)
    for engine, row in extra.items():
        print(f"{engine}: load {row['load_s'] * 1e3:.0f} ms, peak memory "
              f"{row['peak_bytes'] / 1e6:.0f} MB")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
