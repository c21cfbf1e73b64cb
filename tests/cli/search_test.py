"""search: the nearest rows of a file of vectors. See command_line.py for how to run it."""
import json
import random
import struct

from command_line import BERT, CommandLine, main


def npy(rows):
    header = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))).ljust(117)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + b"\n" + \
        struct.pack(f"<{len(rows) * len(rows[0])}f", *(x for row in rows for x in row))


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class SearchTest(CommandLine):
    def test_the_nearest_rows_of_each_query_are_found(self):
        source = random.Random(3)
        rows = [[source.gauss(0, 1) for _ in range(7)] for _ in range(500)]
        store, queries = self.path("s.npy", npy(rows)), self.path("q.npy", npy(rows[:4]))
        metrics = {"cosine": lambda q, x: -dot(q, x) / (dot(q, q) * dot(x, x)) ** 0.5, "dot": lambda q, x: -dot(q, x),
                   "euclidean": lambda q, x: sum((a - b) ** 2 for a, b in zip(q, x)) ** 0.5}
        for metric, far in metrics.items():
            out = self.run_ok("search", store, "--queries", queries, "--metric", metric, "--top", "5", "--json")
            found = [json.loads(line) for line in out.splitlines()]
            self.assertEqual([f["query"] for f in found], [0, 1, 2, 3])
            for q, answer in zip(rows, found):
                expected = sorted(range(500), key=lambda i: far(q, rows[i]))[:5]
                self.assertEqual([r["index"] for r in answer["results"]], expected)
                for row in answer["results"]:
                    score = far(q, rows[row["index"]]) * (1 if metric == "euclidean" else -1)
                    self.assertAlmostEqual(row["score"], score, places=5)
        lines = self.path("s.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        answers = [self.run_ok("search", s, "--queries", queries, "--threads", t)
                   for s, t in ((store, "1"), (store, "2"), (lines, "2"))]
        self.assertEqual(len(set(answers)), 1)
        self.assertEqual(answers[0].split()[:2], ["1.000000", "0"])
        # More than are searched for at once.
        all_rows = [json.loads(line) for line in
                    self.run_ok("search", store, "--queries", store, "--top", "1", "--json").splitlines()]
        self.assertEqual([(r["query"], r["results"][0]["index"]) for r in all_rows], [(i, i) for i in range(500)])

    def test_texts_are_found_by_texts(self):
        texts = ["the cat sat", "a blue car", "the dog ran"]
        lines = self.path("t.txt", "\n".join(texts))
        vectors = [json.loads(line)["embedding"] for line in
                   self.run_ok("embed", "--model", BERT, "-i", lines, "--format", "jsonl").splitlines()]
        store = self.path("s.jsonl", "".join(json.dumps({"text": t, "embedding": v}) + "\n"
                                             for t, v in zip(texts, vectors)))
        out = self.run_ok("search", store, "a blue car", "--model", BERT, "--role", "none", "--top", "1")
        self.assertEqual(out.split(maxsplit=2), ["1.000000", "1", "a blue car\n"])
        npy_file = self.path("s.npy")
        self.run_ok("embed", "--model", BERT, "-i", lines, "--format", "npy", "--output", npy_file)
        both = json.loads(self.run_ok("search", npy_file, "the dog ran", "--model", BERT, "--role", "none", "--json"))
        self.assertEqual(both["results"][0]["index"], 2)
        self.assertEqual(len(both["results"]), 3)

    def test_what_is_wrong_is_said(self):
        store = self.path("s.npy", npy([[1.0, 2.0]]))
        self.run_bad(1, "texts to search for", "search", store)
        self.run_bad(1, "2 dimensions, but queries of 3", "search", store, "--queries",
                     self.path("q.npy", npy([[1.0, 2.0, 3.0]])))
        for content, fragment in (("", "no vectors"), ("[1, 2]\n[1]\n", "line 2: a vector of 1"), ("[]\n", "line 1"),
                                  ("[1, \"a\"]\n", "line 1"), ("{\"text\": \"a\"}\n", "embedding"), ("[1e39]", "f32"),
                                  ("[1, 2\0]\n", "line 1"), ("{\"text\": 1, \"embedding\": [1]}", "text")):
            self.run_bad(1, fragment, "search", self.path("b.jsonl", content), "--queries", store)
        self.run_bad(1, "not a NumPy file", "search", self.path("b.npy", "no"), "--queries", store)
        self.run_bad(1, "not finite", "search", self.path("n.npy", npy([[float("nan"), 1.0]])), "--queries", store)
        self.run_bad(2, "--metric", "search", store, "--queries", store, "--metric", "cube")


if __name__ == "__main__":
    main()
