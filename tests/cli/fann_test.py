"""fann: small networks trained on tables. See command_line.py for how to run it."""
import json
import math
import os
import random
import signal
import struct
import subprocess
import time

from command_line import BINARY, FIXTURES, CommandLine, main


def npy(rows, kind="f4", code="f"):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }" %
              (("<" if kind != "u1" else "|") + kind, len(rows), len(rows[0]))).ljust(117) + "\n"
    flat = [x for row in rows for x in row]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + \
        struct.pack(f"<{len(flat)}{code}", *flat)


def blobs(n, seed):
    """Three clouds of points and which of them each is of."""
    source = random.Random(seed)
    return [[source.gauss(math.cos(2.1 * c), 0.2), source.gauss(math.sin(2.1 * c), 0.2), c]
            for c in (source.randrange(3) for _ in range(n))]


def csv(rows, header=""):
    return header + "".join(",".join(f"{x:.7g}" for x in row) + "\n" for row in rows)


class FannTest(CommandLine):
    def test_classes_are_learned_and_predicted(self):
        table, held = self.path("t.csv", csv(blobs(200, 1), "x,y,class\n")), self.path("h.npy", npy(blobs(90, 2)))
        network = self.path("n.fann")
        trained = json.loads(self.run_ok("fann", "train", table, "-o", network, "--layers", "8", "--rate", "0.01",
                                         "--epochs", "30", "--validation", "0.2", "--json"))
        self.assertEqual(trained["network"], "2 -> relu 8 -> softmax 3")
        self.assertEqual([e["epoch"] for e in trained["epochs"]], list(range(1, 31)))
        self.assertGreater(trained["epochs"][-1]["validation_accuracy"], 0.95)
        judged = json.loads(self.run_ok("fann", "eval", network, held, "--json"))
        self.assertEqual(judged["rows"], 90)
        self.assertGreater(judged["accuracy"], 0.95)
        self.assertIn("accuracy", self.run_ok("fann", "eval", network, held))
        points = self.path("p.csv", csv([row[:2] for row in blobs(90, 2)]))
        rows = [json.loads(line) for line in self.run_ok("fann", "predict", network, points, "--json").splitlines()]
        self.assertTrue(all(abs(sum(row["outputs"]) - 1) < 1e-5 for row in rows))
        right = sum(row["class"] == truth[2] for row, truth in zip(rows, blobs(90, 2)))
        self.assertAlmostEqual(right / 90, judged["accuracy"], places=6)
        plain = self.run_ok("fann", "predict", network, points, "--threads", "1").splitlines()
        self.assertEqual([float(x) for x in plain[0].split(",")], rows[0]["outputs"])
        info = json.loads(self.run_ok("fann", "info", network, "--json"))
        self.assertEqual((info["input_names"], info["parameters"]), (["x", "y"], 51))
        self.assertEqual([layer["activation"] for layer in info["layers"]], ["relu", "softmax"])
        self.assertIn("x  y", self.run_ok("fann", "info", network))

    def test_numbers_are_learned(self):
        source = random.Random(1)
        rows = [[x, y, x * y, x - y] for x, y in ((source.uniform(-1, 1), source.uniform(-1, 1)) for _ in range(300))]
        table, network = self.path("t.csv", csv(rows, "x,y,product,difference\n")), self.path("n.fann")
        out = self.run_ok("fann", "train", table, "-o", network, "--regression", "--targets", "2", "--layers", "24,24",
                          "--activation", "tanh", "--epochs", "80", "--schedule", "one-cycle", "--rate", "0.02")
        self.assertIn("2 -> tanh 24 -> tanh 24 -> linear 2", out)
        self.assertLess(json.loads(self.run_ok("fann", "eval", network, table, "--json"))["loss"], 1e-3)
        info = json.loads(self.run_ok("fann", "info", network, "--json"))
        self.assertEqual(info["output_names"], ["product", "difference"])
        first = self.path("1.fann")
        self.run_ok("fann", "train", table, "-o", first, "--regression", "--file-version", "1", "--epochs", "1")
        with open(first, "rb") as f:
            self.assertEqual(f.read(8), b"FANN\x01\0\0\0")

    def test_bytes_of_numpy_are_numbers_too(self):
        rows = [[0, 0, 0], [0, 9, 1], [9, 0, 1], [9, 9, 0]]
        table, text = self.path("t.npy", npy(rows, "u1", "B")), self.path("t.csv", csv(rows))
        networks = [self.path("a"), self.path("b")]
        for source, network in zip((table, text), networks):
            self.run_ok("fann", "train", source, "-o", network, "--epochs", "3")
        self.assertEqual(*(open(n, "rb").read() for n in networks))

    def test_a_checkpoint_goes_on_to_the_same_bits(self):
        table, part = self.path("t.csv", csv(blobs(200, 1))), self.path("part")
        flags = ["--layers", "16", "--dropout", "0.1"]
        whole, resumed = self.path("whole.fann"), self.path("resumed.fann")
        self.run_ok("fann", "train", table, "-o", whole, *flags, "--epochs", "12")
        for epochs in "5", "12":
            out = self.run_ok("fann", "train", table, "-o", resumed, *flags, "--epochs", epochs, "--checkpoint", part,
                              "--threads", "1", "--json")
        self.assertEqual(len(json.loads(out)["epochs"]), 12)
        self.assertEqual(open(whole, "rb").read(), open(resumed, "rb").read())
        self.run_bad(1, part, "fann", "train", table, "-o", resumed, *flags, "--rate", "0.5", "--checkpoint", part)
        self.run_bad(1, table, "fann", "train", table, "-o", resumed, *flags, "--checkpoint", table)

    def test_an_interrupt_leaves_a_checkpoint(self):
        table, part, network = self.path("t.csv", csv(blobs(200, 1))), self.path("part"), self.path("n.fann")
        command = [BINARY, "fann", "train", table, "-o", network, "--layers", "16", "--epochs", "1000000",
                   "--checkpoint", part, "--checkpoint-every", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            deadline = time.monotonic() + 60
            while not os.path.exists(part) and time.monotonic() < deadline:
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            _, complaint = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 1)
        self.assertIn("goes on from " + part, complaint.decode())
        self.assertFalse(os.path.exists(network))
        self.run_ok("fann", "train", table, "-o", network, "--layers", "16", "--epochs", "1", "--checkpoint", part)

    def test_what_is_wrong_is_said(self):
        table, network = self.path("t.csv", csv(blobs(20, 1))), self.path("n.fann")
        train = ["fann", "train", table, "-o", network]
        self.run_ok(*train, "--epochs", "1")
        for content, fragment in (("1,2\n3\n", "line 2: 1 columns"), ("1,2\n1,x\n", "line 2: column 2"), ("", "no rows"),
                                  ("1,0.5\n", "row 1: the last column must be a class"), ("1,-1\n", "row 1"),
                                  ("1,65536\n", "row 1"), ("1\n", "1 columns")):
            bad = self.path("bad.csv", content)
            self.run_bad(1, fragment, "fann", "train", bad, "-o", network)
            self.run_bad(1, bad, "fann", "train", bad, "-o", network)
        self.run_bad(1, "not a finite number", "fann", "eval", network, self.path("i.npy", npy([[1.0, 2.0, float("inf")]])))
        self.run_bad(1, "3 columns, but the network has 2 inputs", "fann", "predict", network, table)
        self.run_bad(1, table, "fann", "info", table)
        self.run_bad(1, "No such file", "fann", "train", self.path("none.csv"), "-o", network)
        self.run_bad(1, "version 1", *train, "--layers", "4", "--layer-norm", "--file-version", "1")
        self.run_bad(1, "not finite", *train, "--layers", "8", "--activation", "linear", "--optimiser", "sgd",
                     "--rate", "100", "--regression")
        self.run_bad(2, "subcommand", "fann")
        for flags in (["--rate", "0"], ["--layers", "0"], ["--dropout", "1"], ["--activation", "cube"],
                      ["--targets", "2"], ["--checkpoint-every", "2"], ["--file-version", "3"]):
            self.run_bad(2, flags[0], *train, *flags)


if __name__ == "__main__":
    main()
