"""drift: two sets compared. See command_line.py for how to run it."""
import json
import os
import random
import struct

from command_line import BERT, FIXTURES, CommandLine, main


def npy(rows):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    header = header.ljust(117) + "\n"
    flat = [x for row in rows for x in row]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + \
        struct.pack(f"<{len(flat)}f", *flat)


def cloud(n, seed, offset=0.0):
    source = random.Random(seed)
    return [[source.gauss(offset if i == 0 else 1, 1) for i in range(6)] for _ in range(n)]


class DriftTest(CommandLine):
    def test_the_same_cloud_has_not_drifted_and_another_has(self):
        a, same, other = (self.path(name, npy(rows)) for name, rows in (
            ("a.npy", cloud(80, 1)), ("same.npy", cloud(90, 2)), ("other.npy", cloud(80, 3, 5.0))))
        quiet = json.loads(self.run_ok("drift", a, same, "--json"))
        moved = json.loads(self.run_ok("drift", a, other, "--json"))
        self.assertTrue(quiet["converged"] and moved["converged"])
        self.assertGreater(quiet["p_value"], 0.05)
        self.assertAlmostEqual(moved["p_value"], 0.01)
        self.assertGreater(moved["divergence"], 2 * quiet["divergence"])
        self.assertLessEqual(moved["low"], moved["divergence"])
        self.assertEqual([moved["source"][key] for key in ("n", "n_used", "dims")], [80, 80, 6])
        self.assertEqual([r["index"] for r in moved["target"]["records"]], list(range(80)))
        self.assertEqual(len(moved["matches"]), 10)
        again = self.run_ok("drift", a, other, "--json", "--threads", "1")
        self.assertEqual(json.loads(again), moved)

    def test_texts_and_vectors(self):
        a = self.path("a.txt", "one\ntwo\nthree\n")
        b = self.path("b.jsonl", '{"text": "three"}\n{"text": "one"}\n{"text": "two"}\n')
        out = json.loads(self.run_ok("drift", "--model", BERT, a, b, "--json"))
        self.assertAlmostEqual(out["divergence"], 0, places=3)
        self.assertIn("divergence", self.run_ok("drift", "--model", BERT, a, b))

    def test_a_stream_is_watched_and_the_watch_goes_on_later(self):
        reference, state = self.path("r.npy", npy(cloud(200, 1))), self.path("state")
        lines = [json.dumps(row) for row in cloud(40, 4)]
        lines += [json.dumps({"embedding": row}) for row in cloud(60, 5, 4.0)]
        watch = ["--watch", "--window", "20", "--json"]
        out = self.run_ok("drift", reference, *watch, stdin="\n".join(lines) + "\n")
        readings = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([r["first"] for r in readings], [0, 20, 40, 60, 80])
        self.assertEqual([r["drifted"] for r in readings], [False, False, True, True, True])
        cut = [self.run_ok("drift", *source, *watch, "--state", state, stdin="\n".join(part))
               for source, part in (([reference], lines[:50]), ([], lines[50:]))]
        self.assertEqual("".join(cut), out)
        self.run_bad(1, "a reference", "drift", "--watch")
        self.run_bad(1, "line 1", "drift", reference, "--watch", "--window", "20", stdin="[1, true]")
        for nul in ("[1, 2\0, 3]\n", "[1, 2]\0garbage\n", "\0\n"):
            self.run_bad(1, "line 2", "drift", reference, "--watch", "--window", "20", stdin="\n" + nul)
        self.run_bad(1, "2 dimensions", "drift", reference, "--watch", "--window", "20", stdin="[1, 2]")
        self.run_bad(1, "four windows", "drift", reference, "--watch")
        self.run_bad(1, "saved drift detector", "drift", "--watch", "--state", reference)

    def test_what_is_wrong_is_said(self):
        a = self.path("a.npy", npy(cloud(5, 1)))
        narrow = self.path("n.npy", npy([[1.0, 2.0]]))
        self.run_bad(1, "two sets are wanted", "drift", a)
        self.run_bad(1, "6 and 2 dimensions", "drift", a, narrow)
        cut = self.path("cut.npy", npy(cloud(5, 1))[:-1])
        self.run_bad(1, "length", "drift", a, cut)
        double = self.path("d.npy", npy(cloud(5, 1)).replace(b"<f4", b"<f8"))
        self.run_bad(1, "f32", "drift", a, double)
        self.run_bad(1, "not a NumPy file", "drift", a, self.path("x.npy", "not numpy at all"))
        self.run_bad(1, "not finite", "drift", a, self.path("i.npy", npy([[float("nan")] * 6])))


if __name__ == "__main__":
    main()
