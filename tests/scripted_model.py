"""A model that says what it is told to, for tests of what a server makes of an answer.

Its layers add nothing to what the embedding says, which is one axis for each token, and its head maps each token to
the one that follows it in a script. A prompt chooses its script by the last token: the template writes <|play:NAME|>
for the first NAME that the last message speaks of, and <|play:after|> after a tool's result.
"""
import json
import pathlib
import re
import struct

END = "<|im_end|>"
FIM = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
CONTROL = ["<|endoftext|>", "<|im_start|>", END, "<think>", "</think>"]
PIECE = 3  # characters of a token, at least

TEMPLATE = """{#- %(marks)s -#}
{%%- if tools -%%}<|im_start|>system
{%%- for tool in tools -%%}{{ tool | tojson }}{%%- endfor -%%}<|im_end|>
{%% endif -%%}
{%%- for message in messages -%%}
<|im_start|>{{ message.role }}
{{ message.content }}
{%%- for call in message.tool_calls or [] -%%}<call {{ call.id }}>{{ call.function | tojson }}{%%- endfor -%%}
{%%- if message.tool_call_id -%%}<of {{ message.tool_call_id }}>{%%- endif -%%}
<|im_end|>
{%% endfor -%%}
{%%- if add_generation_prompt -%%}
<|im_start|>assistant
{%% set last = messages[-1] -%%}
{%%- if last.role == 'tool' -%%}<|play:after|>
%(cases)s
{%%- else -%%}<|play:hello|>{%%- endif -%%}
{%%- endif -%%}"""


def byte_letters():
    """The characters that stand for bytes in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {}, 0
    for byte in range(256):
        letters[byte] = chr(byte) if byte in plain else chr(256 + extra)
        extra += byte not in plain
    return [letters[b] for b in range(256)]


def pieces_of(text, taken):
    """The text in pieces that no other script has, so that each has one successor."""
    pieces = []
    for part in re.split("(</?think>)", text):
        while part:
            size = len(part) if part in ("<think>", "</think>") else PIECE
            while size < len(part) and (part[:size] in taken or len(part) - size < PIECE):
                size += 1
            assert part[:size] not in taken, f"two scripts have the piece {part!r}"
            taken.add(part[:size])
            pieces.append(part[:size])
            part = part[size:]
    return pieces


def write(folder, scripts, marks, context=8192):
    """scripts: texts by name, with "hello" and "after" among them. marks: what the template mentions, so that a server
    knows how calls look."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    letters = byte_letters()
    taken, follow = set(letters) | {t for t in CONTROL if "think" not in t}, {}
    names = [f"<|play:{name}|>" for name in scripts]
    chains = {name: pieces_of(text, taken) for name, text in scripts.items()}
    tokens = CONTROL + (FIM if "middle" in scripts else [])
    tokens += letters
    tokens += names
    tokens += [p for chain in chains.values() for p in chain if p not in CONTROL]
    ids = {token: i for i, token in enumerate(tokens)}
    for name, chain in chains.items():
        for here, there in zip([f"<|play:{name}|>", *chain], [*chain, END]):
            follow[ids[here]] = ids[there]
    if "middle" in scripts:
        follow[ids[FIM[2]]] = follow[ids["<|play:middle|>"]]
    size = -(-len(tokens) // 64) * 64
    ranks = {token: ids[token] for token in letters}
    added = [{"id": ids[t], "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": t in names or t in CONTROL[:3] + FIM} for t in tokens if t not in ranks]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                            "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {**{t: i for t, i in ids.items()}}, "merges": []}}))
    cases = "\n".join(f"{{%- elif '{name}' in last.content -%}}<|play:{name}|>" for name in scripts
                      if name not in ("hello", "after"))
    (folder / "chat_template.jinja").write_text(TEMPLATE % {"marks": marks, "cases": cases})
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": END, "tokenizer_class": "PreTrainedTokenizerFast"}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ids[END]}))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False, "mlp_bias": False,
        "bos_token_id": 0, "eos_token_id": ids[END], "head_dim": 64, "hidden_act": "silu", "hidden_size": size,
        "intermediate_size": 64, "max_position_embeddings": context, "num_attention_heads": 1, "num_hidden_layers": 1,
        "num_key_value_heads": 1, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False,
        "torch_dtype": "float32", "vocab_size": size}))

    def rows(n, places):
        data = bytearray(4 * n * size)
        for row, column, value in places:
            struct.pack_into("<f", data, 4 * (row * size + column), value)
        return bytes(data)
    ones = struct.pack(f"<{size}f", *[1.0] * size)
    zeros = bytes(4 * 64 * size)
    layer = "model.layers.0."
    tensors = {
        "model.embed_tokens.weight": ([size, size], rows(size, [(i, i, 1.0) for i in range(size)])),
        "lm_head.weight": ([size, size], rows(size, [(follow.get(i, ids[END]), i, 10.0) for i in range(size)])),
        "model.norm.weight": ([size], ones), layer + "input_layernorm.weight": ([size], ones),
        layer + "post_attention_layernorm.weight": ([size], ones),
        **{layer + f"self_attn.{m}_proj.weight": ([64, size], zeros) for m in "qkv"},
        layer + "self_attn.o_proj.weight": ([size, 64], zeros),
        **{layer + f"mlp.{m}_proj.weight": ([64, size], zeros) for m in ("gate", "up")},
        layer + "mlp.down_proj.weight": ([size, 64], zeros)}
    header, offset = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            file.write(data)
    return folder


HERMES = {
    "hello": "Hello there, friend.",
    "after": "It is sunny, as the tool says.",
    "weather": 'Let me see.\n\n<tool_call>\n{"name": "weather", "arguments": {"city": "Paris", "days": 2.50}}\n'
               '</tool_call>',
    "both": '<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>\n'
            '<tool_call>{"arguments":{},"name":"now"}</tool_call> Wait, please.',
    "ponder": "<think>\nOne and two make three.\n</think>\n\nThree, I guess.",
    "middle": "a, b): return a + b",
    "broken": '<tool_call>{"name": "weather", "arguments": {"city": </tool_call> oops',
}
XML = {
    "hello": "Good day to you.",
    "after": "Rain, the tool says.",
    "weather": "<think>\nA tool knows.\n</think>\n\n<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n"
               "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
}
LLAMA = {
    "hello": "Greetings, all of you.",
    "after": "Snow, so I hear.",
    "weather": '{"name": "weather", "parameters": {"city": "Bern"}}',
    "json": '{"answer": 42}',
}


def write_all(folder):
    folder = pathlib.Path(folder)
    return [write(folder / "hermes", HERMES, "<tool_call> arguments </think>"),
            write(folder / "xml", XML, "<tool_call><function= </think>"),
            write(folder / "llama_calls", LLAMA, '{"parameters": ipython')]
