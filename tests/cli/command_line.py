"""What the tests of the command line share: the program as scripts see it, on the tiny models.

Usage of each: GROUP_test.py BINARY FIXTURES [TEST...]
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

BINARY, FIXTURES = sys.argv[1:3]
BERT = f"{FIXTURES}/bert"


def lattice(*arguments, stdin="", env=None):
    environment = dict(os.environ, LATTICE_OFFLINE="1", **(env or {}))
    return subprocess.run([BINARY, *arguments], input=stdin.encode(), capture_output=True,
                          env=environment, timeout=120)


def read_safetensors(path):
    """{name: (shape, values)} of a file of f32 and i32 tensors."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            kind = {"F32": "f", "I32": "i"}[entry["dtype"]]
            out[name] = (entry["shape"], struct.unpack(f"<{(end - begin) // 4}{kind}", data[begin:end]))
    return out


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content.encode() if isinstance(content, str) else content)
        return path

    def run_ok(self, *arguments, **kwargs):
        done = lattice(*arguments, **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def run_bad(self, status, fragment, *arguments, **kwargs):
        done = lattice(*arguments, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertIn(fragment, done.stderr.decode() + done.stdout.decode())


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
