"""Writes a BERT encoder as an ONNX graph of ONNX Runtime's own fused operators, in f32 and int8.

Usage: onnx_bert.py MODEL_FOLDER OUT_FOLDER

MODEL_FOLDER holds config.json and model.safetensors of a `bert` model. OUT_FOLDER gets f32.onnx (what
the runtime's graph optimiser makes of an exported model: EmbedLayerNormalization, Attention,
SkipLayerNormalization, BiasGelu) and int8.onnx (its dynamic quantisation, one scale an output channel).
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

MS = "com.microsoft"


def build(folder, out):
    with open(f"{folder}/config.json") as f:
        config = json.load(f)
    w = {k.removeprefix("bert."): v for k, v in load_file(f"{folder}/model.safetensors").items()}
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    n_layers, hidden = config["num_hidden_layers"], config["hidden_size"]
    nodes, inits = [], []

    def init(name, array):
        inits.append(numpy_helper.from_array(np.ascontiguousarray(array.astype(np.float32)), name))
        return name

    def node(op, inputs, outputs, **attributes):
        domain = "" if op == "MatMul" else MS
        nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))

    def skip_norm(i, name, x, skip, prefix, out_name):
        node("SkipLayerNormalization",
             [x, skip, init(f"{name}g{i}", w[f"{prefix}.LayerNorm.weight"]),
              init(f"{name}b{i}", w[f"{prefix}.LayerNorm.bias"]),
              init(f"{name}d{i}", w[f"{prefix}.dense.bias"])], [out_name], epsilon=eps)

    e = "embeddings."
    node("EmbedLayerNormalization",
         ["input_ids", "token_type_ids"] +
         [init(n, w[e + n]) for n in ("word_embeddings.weight", "position_embeddings.weight",
                                      "token_type_embeddings.weight", "LayerNorm.weight",
                                      "LayerNorm.bias")], ["x0", "mask_index"], epsilon=eps)
    x = "x0"
    for i in range(n_layers):
        p = f"encoder.layer.{i}."
        a = p + "attention.self."
        parts = ("query", "key", "value")
        qkv = np.concatenate([w[f"{a}{n}.weight"].T for n in parts], 1)
        bias = np.concatenate([w[f"{a}{n}.bias"] for n in parts])
        node("Attention", [x, init(f"qkv{i}", qkv), init(f"qkvb{i}", bias), "attention_mask"],
             [f"context{i}"], num_heads=heads)
        node("MatMul", [f"context{i}", init(f"o{i}", w[p + "attention.output.dense.weight"].T)],
             [f"attended{i}"])
        skip_norm(i, "an", f"attended{i}", x, p + "attention.output", f"mid{i}")
        node("MatMul", [f"mid{i}", init(f"up{i}", w[p + "intermediate.dense.weight"].T)], [f"h{i}"])
        node("BiasGelu", [f"h{i}", init(f"upb{i}", w[p + "intermediate.dense.bias"])], [f"g{i}"])
        node("MatMul", [f"g{i}", init(f"down{i}", w[p + "output.dense.weight"].T)], [f"f{i}"])
        out_name = "last_hidden_state" if i == n_layers - 1 else f"x{i + 1}"
        skip_norm(i, "fn", f"f{i}", f"mid{i}", p + "output", out_name)
        x = out_name

    def tensor(name):
        return helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"])

    graph = helper.make_graph(
        nodes, "bert", [tensor(n) for n in ("input_ids", "token_type_ids", "attention_mask")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT,
                                       ["batch", "length", hidden])], inits)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), out)


def quantise(source, out):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(source, out, weight_type=QuantType.QInt8, per_channel=True,
                     extra_options={"DefaultTensorType": TensorProto.FLOAT})


if __name__ == "__main__":
    model, target = sys.argv[1:3]
    os.makedirs(target, exist_ok=True)
    build(model, f"{target}/f32.onnx")
    quantise(f"{target}/f32.onnx", f"{target}/int8.onnx")
