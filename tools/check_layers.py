"""Fails when a file includes a room that its own room may not see. Usage: check_layers.py SRC_DIR"""
import pathlib
import re
import sys

ALLOWED = {  # room: rooms it may include besides itself. A room may only name rooms above it.
    "base": "",
    "numeric": "base",
    "vectors": "base numeric",
    "fann": "base numeric vectors",
    "transport": "base numeric vectors",
    "tokenizers": "base numeric",
    "grammar": "base numeric",
    "weights": "base numeric",
    "hub": "base numeric",
    "kernels/api": "base numeric",
    "kernels/cpu": "base numeric kernels/api",
    "models": "base numeric weights kernels/api",
    "decoding": "base numeric tokenizers grammar weights",
    "engine": "base numeric tokenizers grammar weights kernels/api models decoding",
    "embed": "base numeric vectors tokenizers weights hub kernels/api models",
    "chat": "base numeric tokenizers grammar",
    "server": "base numeric vectors tokenizers grammar weights hub kernels/api models decoding engine embed "
              "chat",
    "api": "base numeric vectors tokenizers weights hub kernels/api kernels/cpu models embed",
    "apps": "base numeric vectors fann transport tokenizers grammar weights hub kernels/api kernels/cpu models "
            "decoding engine embed chat server api",
}
# Lanes of f32 over each instruction set and functions on them: for the files of kernels anywhere.
LANES = "kernels/cpu/simd"
TESTS_ALSO = "kernels/cpu"  # A test or benchmark above the kernels needs some backend to run on.

seen = []
for room, uses in ALLOWED.items():
    assert set(uses.split()) <= set(seen), f"{room} names a room that is not above it"
    seen.append(room)


def room_of(parts):
    return "/".join(parts[:2]) if parts[0] == "kernels" else parts[0]


src, bad = pathlib.Path(sys.argv[1]), []
files = sorted(p for p in src.rglob("*") if p.suffix in {".h", ".cc", ".inl"})
assert files, f"no sources under {src}"
for path in files:
    room = room_of(path.relative_to(src).parts)
    allowed = {room, *ALLOWED[room].split()}
    if re.search(r"_(test|bench)\.cc$", path.name) or path.name.startswith("test_"):
        allowed.add(TESTS_ALSO)
    for line, text in enumerate(path.read_text().splitlines(), 1):
        if m := re.match(r'#include "([\w/]+)/\w+\.(?:h|inl)"', text):
            if m[1] not in ("lattice", LANES) and room_of(m[1].split("/")) not in allowed:
                bad.append(f"{path}:{line}: {room} may not include {room_of(m[1].split('/'))}")
print("\n".join(bad) or f"layers ok: {len(files)} files")
sys.exit(bool(bad))
