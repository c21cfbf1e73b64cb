"""Writes model.fte and vocab.tsv for the fasttextembed package from a bge-small shaped folder.

Usage: fasttextembed_model.py MODEL_FOLDER OUT_FOLDER

The package fetches its model from a hub at first use; this makes one from any weights of the exact
shape (384 wide, 12 layers, 12 heads, 30,522 tokens), so that its speed can be measured offline:
FTE_MODEL_DIR=OUT_FOLDER. The layout was read from the package's public sources: a header, a table of
named tensors, 64-byte aligned data; matrices [inputs, outputs] in f16, vectors in f32.
"""
import json
import os
import struct
import sys

import numpy as np
from safetensors.numpy import load_file

HEADER = struct.Struct("<QQ11I")
ENTRY = struct.Struct("<QQ64s6i")


def aligned(n):
    return (n + 63) // 64 * 64


def tensors(folder):
    w = {k.removeprefix("bert."): v for k, v in load_file(f"{folder}/model.safetensors").items()}
    out = {k: v for k, v in w.items() if k.startswith("embeddings.") and v.dtype.kind == "f"}
    for i in range(12):
        p = f"encoder.layer.{i}."
        parts = [f"{p}attention.self.{n}" for n in ("query", "key", "value")]
        out[f"Attention_{i}_qkv_weight"] = np.concatenate([w[n + ".weight"].T for n in parts], 1)
        out[f"Attention_{i}_qkv_bias"] = np.concatenate([w[n + ".bias"] for n in parts])
        # The names that the exporter gave to the layer's three plain products.
        for j, name in enumerate(("attention.output", "intermediate", "output")):
            out[f"onnx::MatMul_{1536 + 13 * i + j}"] = w[f"{p}{name}.dense.weight"].T
            out[f"{p}{name}.dense.bias"] = w[f"{p}{name}.dense.bias"]
        for name in ("attention.output", "output"):
            for part in ("weight", "bias"):
                key = f"{p}{name}.LayerNorm.{part}"
                out[key] = w[key]
    return out


def main(folder, target):
    os.makedirs(target, exist_ok=True)
    data = {k: np.ascontiguousarray(v.astype(np.float16 if v.ndim == 2 else np.float32))
            for k, v in sorted(tensors(folder).items())}
    table = aligned(HEADER.size)
    blob = aligned(table + ENTRY.size * len(data))
    offset, entries = blob, []
    for name, a in data.items():
        shape = (list(a.shape) + [0, 0, 0, 0])[:4]
        entries.append(ENTRY.pack(offset, a.nbytes, name.encode(), a.ndim, *shape,
                                  int(a.dtype == np.float16)))
        offset = aligned(offset + a.nbytes)
    with open(f"{target}/model.fte", "wb") as f:
        f.write(HEADER.pack(table, blob, 0x31455446, 2, 384, 12, 12, 1536, 30522, 512, 2,
                            len(data), 0).ljust(table, b"\0"))
        f.write(b"".join(entries).ljust(blob - table, b"\0"))
        for a in data.values():
            f.write(a.tobytes().ljust(aligned(a.nbytes), b"\0"))
    with open(f"{folder}/tokenizer.json", encoding="utf-8") as f:
        vocab = json.load(f)["model"]["vocab"]
    with open(f"{target}/vocab.tsv", "w", encoding="utf-8") as f:
        for token, i in sorted(vocab.items(), key=lambda item: item[1]):
            f.write(f"{token}\t{i}\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
