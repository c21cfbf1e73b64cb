"""embed: texts in, vectors out. See command_line.py for how to run it."""
import json
import os
import shutil
import struct

from command_line import BERT, CommandLine, lattice, main


class EmbedTest(CommandLine):
    def test_json_is_all_of_stdout(self):
        out = json.loads(self.run_ok("embed", "--model", BERT, "one", "two", "--json"))
        self.assertEqual(out["dimensions"], 48)
        self.assertEqual([len(v) for v in out["embeddings"]], [48, 48])
        self.assertEqual([u["truncated"] for u in out["usage"]], [False, False])

    def test_every_input_gives_the_same_vectors(self):
        texts = ["Hello, world!", "", "emoji \U0001f468‍\U0001f469‍\U0001f467", "a\tb"]
        lines = self.path("t.txt", "\n".join(texts) + "\n")
        jsonl = self.path("t.jsonl", "".join(json.dumps({"text": t, "id": 1}) + "\n" for t in texts))
        strings = self.path("s.jsonl", "\n".join(json.dumps(t) for t in texts))
        want = json.loads(self.run_ok("embed", "--model", BERT, "--json", "--", *texts))["embeddings"]
        for arguments, stdin in ((("-i", lines), ""), (("-i", jsonl), ""), (("-i", strings), ""),
                                 (("-i", "-"), "\r\n".join(texts)), ((), "\n".join(texts))):
            got = self.run_ok("embed", "--model", BERT, *arguments, "-f", "jsonl", stdin=stdin)
            self.assertEqual([json.loads(x)["embedding"] for x in got.splitlines()], want)

    def test_npy_file_and_standard_output(self):
        for extra in ((), ("--output", self.path("v.npy"))):
            done = lattice("embed", "--model", BERT, "-f", "npy", "a", "b", "c", *extra)
            self.assertEqual(done.returncode, 0, done.stderr)
            data = done.stdout
            if extra:
                with open(extra[1], "rb") as f:
                    data = f.read()
            self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
            self.assertIn(b"'shape': (3, 48)", data[:128])
            self.assertEqual(len(data), 128 + 3 * 48 * 4)
            want = json.loads(self.run_ok("embed", "--model", BERT, "b", "--json"))["embeddings"][0]
            got = struct.unpack("<48f", data[128 + 192:128 + 384])
            self.assertEqual([struct.pack("<f", x) for x in want], [struct.pack("<f", x) for x in got])

    def test_a_failed_run_leaves_no_output_file(self):
        bad = self.path("bad.jsonl", '{"text": "fine"}\n{"txt": 1}\n')
        target = self.path("out.npy")
        self.run_bad(1, "line 2", "embed", "--model", BERT, "-i", bad, "-f", "npy", "-o", target)
        self.assertEqual(os.listdir(self.folder.name), ["bad.jsonl"])

    def test_threads_and_instruction_sets_keep_the_bits(self):
        want = self.run_ok("embed", "--model", BERT, "some text", "-f", "jsonl")
        self.assertEqual(want, self.run_ok("embed", "--model", BERT, "some text", "-f", "jsonl",
                                           "--threads", "3"))
        self.assertEqual(want, self.run_ok("--cpu", "scalar", "embed", "--model", BERT, "some text",
                                           "-f", "jsonl"))

    def test_dimensions(self):
        full = json.loads(self.run_ok("embed", "--model", BERT, "x", "--no-normalize", "--json"))
        cut = json.loads(self.run_ok("embed", "--model", BERT, "x", "--no-normalize", "--dimensions",
                                     "8", "--json"))
        self.assertEqual(cut["embeddings"][0], full["embeddings"][0][:8])
        self.run_bad(1, "49", "embed", "--model", BERT, "x", "--dimensions", "49")

    def test_no_texts_still_need_a_right_request(self):
        out = json.loads(self.run_ok("embed", "--model", BERT, "--json", "--dimensions", "8"))
        self.assertEqual((out["dimensions"], out["embeddings"]), (8, []))
        self.run_bad(1, "49", "embed", "--model", BERT, "--dimensions", "49")

    def test_another_pooling_states_its_own_width(self):
        model = self.path("two")
        shutil.copytree(BERT, model)
        os.makedirs(f"{model}/1_Pooling", exist_ok=True)
        with open(f"{model}/1_Pooling/config.json", "w") as f:
            json.dump({"word_embedding_dimension": 48, "pooling_mode_cls_token": True,
                       "pooling_mode_mean_tokens": True}, f)
        with open(f"{model}/modules.json", "w") as f:
            json.dump([{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                       for i, (kind, path) in enumerate((("Transformer", ""), ("Pooling", "1_Pooling")))], f)
        for pooling, width in (((), 96), (("--pooling", "cls"), 48)):
            data = lattice("embed", "--model", model, "-f", "npy", "a", "b", *pooling).stdout
            self.assertIn(f"'shape': (2, {width})".encode(), data[:128])
            self.assertEqual(len(data), 128 + 2 * width * 4)

    def test_what_is_no_file_is_not_replaced(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        self.run_bad(1, "regular file", "embed", "--model", BERT, "x", "-o", pipe)
        self.assertEqual(os.listdir(self.folder.name), ["pipe"])

    def test_truncation_is_reported(self):
        done = lattice("embed", "--model", BERT, "word " * 1000, "--json")
        usage = json.loads(done.stdout)["usage"][0]
        self.assertTrue(usage["truncated"])
        self.assertEqual(usage["n_tokens"], 128)
        self.assertGreater(usage["n_tokens_untruncated"], 1000)
        self.assertIn("1 of 1 texts", done.stderr.decode())


if __name__ == "__main__":
    main()
