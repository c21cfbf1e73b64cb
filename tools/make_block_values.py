"""Writes tests/fixtures/gguf_blocks.safetensors: random blocks of each GGUF format with their values, and random
values with their blocks, by the format's own Python package. Usage: make_block_values.py OUT (needs gguf, numpy)

NAME.raw U8 -> NAME.f32; values F32 [64, 32] -> NAME.quantised U8. Made with gguf 0.19.0.
"""
import json
import sys

import gguf
import numpy as np

F16_FIELDS = {  # byte offsets of the f16 fields in a block
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [],
}
N_BLOCKS = 4


def finite_f16(rng, n):
    bits = rng.integers(0, 1 << 16, n, dtype=np.uint16)
    return np.where((bits & 0x7C00) == 0x7C00, bits & 0xBFFF, bits).astype("<u2").view(np.uint8).reshape(n, 2)


rng = np.random.default_rng(7)
tensors = {}
for name, fields in F16_FIELDS.items():
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (N_BLOCKS, size), dtype=np.uint8)
    for at in fields:
        raw[:, at:at + 2] = finite_f16(rng, N_BLOCKS)
    if name == "MXFP4":
        raw[:, 0] = [0, 1, 127, 200]
    tensors[name + ".raw"] = raw
    tensors[name + ".f32"] = gguf.quants.dequantize(raw, kind).astype(np.float32).reshape(N_BLOCKS, elements)
scales = np.exp(rng.normal(0, 3, (64, 1)))
values = (rng.normal(0, 1, (64, 32)) * scales).astype(np.float32)
values[0] = 0
values[1] = 1.25
values[2, ::2] = -values[2, 1::2]
tensors["values"] = values
for name in ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]:
    kind = gguf.GGMLQuantizationType[name]
    tensors[name + ".quantised"] = gguf.quants.quantize(values, kind).reshape(64, -1)

header, data = {}, b""
for name, array in sorted(tensors.items(), key=lambda t: t[1].dtype.itemsize, reverse=True):
    dtype = {np.dtype("u1"): "U8", np.dtype("f4"): "F32"}[array.dtype]
    piece = np.ascontiguousarray(array).tobytes()
    header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(piece)]}
    data += piece
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as out:
    out.write(len(text).to_bytes(8, "little") + text + data)
print(f"{sys.argv[1]}: {len(tensors)} tensors, {len(data)} bytes")
