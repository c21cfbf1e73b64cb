"""quantize: models with fewer bits. See command_line.py for how to run it."""
import array
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess

from command_line import BERT, BINARY, FIXTURES, CommandLine, lattice, main, read_safetensors


class QuantizeTest(CommandLine):
    def tiny_llama(self, name, change=None):
        """A folder with a Llama whose rows are whole blocks of 256."""
        rng, tensors = random.Random(7), {}

        def matrix(key, rows, cols):
            spread = 1.5 / cols ** 0.5
            tensors[key] = ([rows, cols], array.array("f", (rng.gauss(0, spread) for _ in range(rows * cols))))

        matrix("model.embed_tokens.weight", 768, 256)
        for i in range(2):
            at = f"model.layers.{i}."
            for part, rows in {"q": 256, "k": 128, "v": 128, "o": 256}.items():
                matrix(f"{at}self_attn.{part}_proj.weight", rows, 256)
            for part in "gate", "up", "down":
                matrix(f"{at}mlp.{part}_proj.weight", 256, 256)
            for part in "input", "post_attention":
                tensors[f"{at}{part}_layernorm.weight"] = ([256], array.array("f", [1.0] * 256))
        tensors["model.norm.weight"] = ([256], array.array("f", [1.0] * 256))
        if change:
            change(tensors)
        header, data = {}, b""
        for key, (shape, values) in tensors.items():
            header[key] = {"dtype": "F32", "shape": shape,
                           "data_offsets": [len(data), len(data) + 4 * len(values)]}
            data += values.tobytes()
        folder = self.path(name)
        os.mkdir(folder)
        text = json.dumps(header).encode()
        self.path(f"{name}/model.safetensors", struct.pack("<Q", len(text)) + text + data)
        self.path(f"{name}/config.json", json.dumps({
            "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 768, "hidden_size": 256,
            "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "rms_norm_eps": 1e-6, "hidden_act": "silu", "max_position_embeddings": 512, "rope_theta": 10000.0,
            "tie_word_embeddings": True}))
        for file in "tokenizer.json", "tokenizer_config.json":
            shutil.copy(f"{FIXTURES}/llama/{file}", folder)
        return folder

    def logits(self, model, *flags):
        output = self.path("logits.safetensors")
        ids = " ".join(str(i * 37 % 768) for i in range(24))
        self.run_ok("forward", "--model", model, "--ids", ids, "--output", output, *flags)
        return read_safetensors(output)["logits"][1]

    def test_quantize_keeps_what_the_model_says(self):
        source = self.tiny_llama("source")
        want = self.logits(source)
        size = sum(v * v for v in want)
        # Relative errors of the logits: this model makes about six times those of its weights; a third more is let by.
        bounds = {"f32": 1e-5, "f16": 0.002, "bf16": 0.016, "q8_0": 0.055, "q6_k": 0.16, "q5_k": 0.28, "q5_0": 0.32,
                  "q5_1": 0.28, "q4_k": 0.5, "q4_1": 0.53, "q4_0": 0.55}
        errors = {}
        for kind, bound in bounds.items():
            file = self.path(f"{kind}.gguf")
            made = json.loads(self.run_ok("quantize", source, file, "--type", kind, "--json"))
            self.assertTrue(made["written"])
            self.assertEqual(made["requantised"], 0)
            self.assertLess(0, os.path.getsize(file) - made["bytes"])
            types = {t["name"]: t["to"] for t in made["tensors"]}
            self.assertEqual(types["output_norm.weight"], "f32")
            self.assertEqual(types["blk.1.attn_q.weight"], kind)
            got = self.logits(file)
            errors[kind] = (sum((a - b) ** 2 for a, b in zip(got, want)) / size) ** 0.5
            self.assertLess(errors[kind], bound, errors)
        self.assertGreater(errors["q4_0"], errors["q4_k"])
        self.assertGreater(errors["q4_k"], errors["q6_k"])
        self.assertGreater(errors["q6_k"], errors["q8_0"])
        text = ["--ids", "5 6 7", "--temperature", "0", "--max-tokens", "8", "--json", "--ignore-eos"]
        answers = [json.loads(self.run_ok("complete", "--model", m, *text))["ids"]
                   for m in (source, self.path("f32.gguf"))]
        self.assertEqual(*answers)
        self.assertEqual(len(answers[0]), 8)
        words = "the quick brown fox"
        self.assertEqual(*(self.run_ok("tokenize", "--model", m, words) for m in (source, self.path("q4_0.gguf"))))

    def test_named_templates_go_along_and_are_chosen_in_the_file(self):
        source, file = self.tiny_llama("source"), self.path("out.gguf")
        with open(f"{source}/tokenizer_config.json", "r+") as f:
            config = json.load(f)
            config["chat_template"] = [{"name": n, "template": n[0] + "{{ messages[0].content }}"}
                                       for n in ("default", "tool_use", "rag")]
            f.seek(0)
            json.dump(config, f)
            f.truncate()
        self.run_ok("quantize", source, file, "--type", "q8_0")
        plain = {"messages": [{"role": "user", "content": "!"}]}
        tools = {**plain, "kwargs": {"tools": [{"name": "clock"}]}}
        for case, flags, want in ((plain, (), "d!"), (tools, (), "t!"), (tools, ("--template-name", "rag"), "r!"),
                                  (tools, ("--template-name", "default"), "d!")):
            path = self.path("case.json", json.dumps(case))
            for model in source, file:
                self.assertEqual(self.run_ok("template", "--model", model, "--input", path, *flags), want)
        self.run_bad(1, "there are: ", "template", "--model", file, "--input", path, "--template-name", "none")

    def test_quantize_of_gguf_files(self):
        full, small = self.path("full.gguf"), self.path("small.gguf")
        source = self.tiny_llama("source")
        self.run_ok("quantize", source, full, "--type", "f32")
        self.run_ok("quantize", full, small, "--type", "q4_k")
        direct = self.path("direct.gguf")
        self.run_ok("quantize", source, direct, "--type", "q4_k", "--threads", "1")
        for other in "2", "5":
            again = self.path("again.gguf")
            self.run_ok("quantize", source, again, "--type", "q4_k", "--threads", other, "--force")
            with open(direct, "rb") as a, open(again, "rb") as b:
                self.assertEqual(a.read(), b.read())
        self.assertEqual(self.logits(small), self.logits(direct))
        shown = json.loads(self.run_ok("show", small, "--json"))["config"]
        self.assertEqual((shown["architecture"], shown["layers"], shown["vocabulary"]), ("llama", 2, 768))
        self.assertGreater(shown["tensors"]["q4_k"], 8)
        self.run_bad(1, "GGUF", "show", self.path("noise.gguf", b"noise" * 100))
        done = lattice("quantize", small, again, "--type", "q8_0", "--force")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"quantised already", done.stderr)
        plan = self.run_ok("quantize", full, self.path("no.gguf"), "--type", "q4_k", "--pure", "--dry-run")
        self.assertIn("blk.0.ffn_down.weight", plan)
        self.assertNotIn("q6_k", plan)
        plan = self.run_ok("quantize", full, self.path("no.gguf"), "--type", "q4_0", "--embedding-type", "bf16",
                           "--dry-run")
        self.assertRegex(plan, r"token_embd\.weight +768 x 256 +f32 .*-> +bf16")
        self.assertFalse(os.path.exists(self.path("no.gguf")))

    def test_quantize_refuses_and_leaves_nothing(self):
        source, file = self.tiny_llama("source"), self.path("out.gguf")
        self.run_bad(2, "--type", "quantize", source, file, "--type", "q3_x")
        self.run_bad(1, ".gguf", "quantize", source, self.path("out.bin"), "--type", "q8_0")
        self.run_bad(1, "bert", "quantize", BERT, file, "--type", "q8_0")
        self.run_bad(1, "No such file", "quantize", source, self.path("none/out.gguf"), "--type", "q8_0")
        self.run_ok("quantize", source, file, "--type", "q8_0")
        self.run_bad(1, "--force", "quantize", source, file, "--type", "q4_0")
        self.run_bad(1, "own source", "quantize", file, file, "--type", "q4_0", "--force")
        with open(file, "rb") as f:
            whole = f.read()
        broken = self.path("broken.gguf", whole[:-100])
        self.run_bad(1, "broken.gguf", "quantize", broken, self.path("x.gguf"), "--type", "q4_0")

        def poison(tensors):
            tensors["model.layers.1.mlp.up_proj.weight"][1][300] = float("nan")
        bad = self.tiny_llama("bad", poison)
        self.run_bad(1, "tensor 'blk.1.ffn_up.weight': element 300 is nan", "quantize", bad, self.path("x.gguf"),
                     "--type", "q4_k")

        def cut(tensors):
            del tensors["model.layers.1.mlp.up_proj.weight"]
        self.run_bad(1, "blk.1.ffn_up.weight", "quantize", self.tiny_llama("cut", cut), self.path("x.gguf"),
                     "--type", "q4_k")

        # A file that may not grow fails as one on a full disk does.
        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        done = subprocess.run([BINARY, "quantize", source, self.path("x.gguf"), "--type", "q8_0"], preexec_fn=no_room,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"File too large", done.stderr)
        self.assertIn(b"x.gguf", done.stderr)
        self.assertFalse([f for f in os.listdir(self.folder.name) if f.startswith("x.gguf")])


if __name__ == "__main__":
    main()
