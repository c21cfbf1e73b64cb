"""Runs the commands that the documentation shows, and compares what they print.

Usage: check_docs.py BIN_FOLDER MODEL_CACHE PAGE...

A fenced block marked `sh` is run by bash, all blocks of a page in one scratch folder, in order. Its
exit status must be 0. A block marked `text` right after it must equal its standard output; a line
`...` stands for any lines. Blocks marked `sh no-run` (they need the network, or change the machine)
are skipped. A port that a block's `--port` names is exchanged for a free one through the whole page.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)[ ]?(no-run)?\n(.*?)^```$", re.M | re.S)


def matches(expected, actual):
    """Whether `actual` is `expected`, a line `...` of which stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.M)]
    return re.fullmatch(r"(?:.*\n)*".join(parts), actual) is not None


def with_free_ports(text):
    """`text` with each port that a command listens on exchanged for one that nobody listens on."""
    named = sorted(set(re.findall(r"--port (\d+)", text)) - {"0"})
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in named]
    free = {port: str(s.getsockname()[1]) for port, s in zip(named, sockets)}
    for s in sockets:
        s.close()
    return re.sub(r"(127\.0\.0\.1:|--port )(\d+)\b", lambda m: m[1] + free.get(m[2], m[2]), text)


def check(page, environment):
    text, n_run, failures = with_free_ports(page.read_text()), 0, []
    blocks = [(m[1], m[2], m[3], m.start(), m.end()) for m in FENCE.finditer(text)]
    with tempfile.TemporaryDirectory() as folder:
        for i, (kind, skip, body, _, end) in enumerate(blocks):
            if kind != "sh" or skip:
                continue
            line = text[:end].count("\n") + 1
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=folder, text=True,
                                  env=environment, capture_output=True, stdin=subprocess.DEVNULL)
            n_run += 1
            follows = i + 1 < len(blocks) and blocks[i + 1][0] == "text" and \
                text[end:blocks[i + 1][3]].strip() == ""
            if done.returncode != 0:
                failures.append(f"{page}:{line}: exit {done.returncode}: {body}{done.stderr}")
            elif follows and not matches(blocks[i + 1][2], done.stdout):
                failures.append(f"{page}:{line}: {body}printed\n{done.stdout}"
                                f"but the page says\n{blocks[i + 1][2]}")
    return n_run, failures


def main(bin_folder, model_cache, *pages):
    environment = dict(os.environ, PATH=f"{os.path.abspath(bin_folder)}:{os.environ['PATH']}",
                       LATTICE_MODEL_CACHE=os.path.abspath(model_cache), LATTICE_OFFLINE="1", LC_ALL="C.UTF-8")
    n_run, failures = 0, []
    for page in pages:
        n, bad = check(pathlib.Path(page), environment)
        n_run, failures = n_run + n, failures + bad
    print("\n".join(failures) or f"{n_run} command blocks of {len(pages)} pages hold")
    return 1 if failures or n_run == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
