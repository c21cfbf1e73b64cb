"""The command line as scripts see it, on the tiny models. Usage: cli_test.py BINARY FIXTURES [TEST...]"""
import array
import json
import os
import pty
import random
import shutil
import signal
import socket
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
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = (entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
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

    def test_exit_status(self):
        self.assertIn("embed", self.run_ok("--help"))
        self.assertRegex(self.run_ok("--version"), r"^lattice \d+\.\d+\.\d+\n$")
        self.run_bad(2, "subcommand", )
        self.run_bad(2, "--frobnicate", "embed", "--frobnicate", "x")
        self.run_bad(2, "", "embed", "--dimensions", "-3", "x")
        self.run_bad(1, "/nowhere", "embed", "--model", "/nowhere", "x")
        self.run_bad(1, "avx9", "--cpu", "avx9", "embed", "--model", BERT, "x")

    def test_a_reader_that_leaves_is_no_failure_and_a_full_disk_is(self):
        arguments = [BINARY, "tokenize", "--model", BERT, "a b"]
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)

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

    def test_tokenize_round_trip(self):
        with open(f"{BERT}/tokenizer_golden.json") as f:
            rows = json.load(f)
        source = self.path("t.jsonl", "".join(json.dumps({"text": r["text"]}) + "\n" for r in rows))
        lines = self.run_ok("tokenize", "--model", BERT, "-i", source, "--json").splitlines()
        self.assertEqual([json.loads(x)["ids"] for x in lines], [r["ids"] for r in rows])
        for row in rows:
            out = self.run_ok("detokenize", "--model", BERT, "--json", *map(str, row["ids"]))
            self.assertEqual(json.loads(out)["text"], row["decoded"])
        self.run_bad(1, "999999", "detokenize", "--model", BERT, "999999")

    def test_template_prints_the_prompt(self):
        template = self.path("t.jinja", "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n"
                             "{% endfor %}{% if tools %}{{ tools|tojson }}{% endif %}{{ strftime_now('%d %B') }}"
                             "{% if add_generation_prompt %}<{{ who }}>{% endif %}"
                             "{% if messages|length > 2 %}{{ raise_exception('Too much, ' ~ who) }}{% endif %}")
        case = {"messages": [{"role": "user", "content": "Grüße <b>"}], "special_tokens": {"bos_token": "<s>"},
                "kwargs": {"add_generation_prompt": True, "who": "bot", "tools": [{"é": 1}]},
                "now": "2026-01-15T12:34:56"}
        text = '<s><user>Grüße <b>\n[{"é": 1}]15 January<bot>'
        path = self.path("case.json", json.dumps(case))
        self.assertEqual(self.run_ok("template", "--template", template, "--input", path), text)
        out = json.loads(self.run_ok("template", "--template", template, "-i", path, "--json"))
        self.assertEqual(out["text"], text)
        data = text.encode()
        self.assertEqual([data[b:e].decode() for b, e in out["user_ranges"]],
                         ["user", "Grüße <b>", "é", "bot"])
        case["messages"] *= 3
        refused = self.path("three.json", json.dumps(case))
        self.run_bad(1, "lattice: Too much, bot\n", "template", "--template", template, "-i", refused)
        model = self.path("model")
        os.mkdir(model)
        self.assertIn("<|im_start|>user\nGrüße", self.run_ok("template", "-m", model, "-i", path))
        with open(f"{model}/tokenizer_config.json", "w") as f:
            json.dump({"chat_template": "{{ bos_token }}|{{ eos_token }}", "bos_token": "B",
                       "eos_token": {"content": "E"}}, f)
        self.assertEqual(self.run_ok("template", "-m", model, "-i", path), "<s>|E")
        with open(f"{model}/tokenizer_config.json", "w") as f:
            json.dump({"chat_template": [{"name": "default", "template": "D{{ messages|length }}"},
                                         {"name": "tool_use", "template": "T"},
                                         {"name": "rag", "template": "R"}]}, f)
        without = self.path("without.json", json.dumps({"messages": case["messages"], "kwargs": {}}))
        self.assertEqual(self.run_ok("template", "-m", model, "-i", path), "T")
        self.assertEqual(self.run_ok("template", "-m", model, "-i", without), "D3")
        self.assertEqual(self.run_ok("template", "-m", model, "-i", path, "--template-name", "rag"), "R")
        self.run_bad(1, "default, tool_use, rag", "template", "-m", model, "-i", path,
                     "--template-name", "other")
        self.run_bad(2, "excludes", "template", "--template", template, "-i", path,
                     "--template-name", "rag")
        broken = self.path("broken.jinja", "\n{{ a b }}")
        self.run_bad(1, "line 2", "template", "--template", broken, "-i", path)
        self.run_bad(2, "", "template", "-i", path)
        self.run_bad(1, "messages", "template", "--template", template, "-i", self.path("e.json", "{}"))

    def test_rerank_sorts_and_cuts(self):
        model = f"{FIXTURES}/bert_reranker"
        texts = ["first text", "second one", "and a third", "first text"]
        out = json.loads(self.run_ok("rerank", "--model", model, "--query", "what?", "--json", *texts))
        scores = [r["score"] for r in out["results"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        same = [r["index"] for r in out["results"] if r["index"] in (0, 3)]
        self.assertEqual(same, [0, 3])  # equal texts keep their order
        top = json.loads(self.run_ok("rerank", "--model", model, "--query", "what?", "--json", "--top",
                                     "2", *texts))
        self.assertEqual(top["results"], out["results"][:2])
        self.run_bad(1, "", "rerank", "--model", BERT, "--query", "what?", "x")
        self.run_bad(2, "--query", "rerank", "--model", model, "x")

    def test_forward_writes_reference_values(self):
        golden = read_safetensors(f"{BERT}/golden.safetensors")
        with open(f"{BERT}/golden.safetensors", "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            data = f.read()
        begin, end = header["input_ids"]["data_offsets"]
        ids = struct.unpack(f"<{(end - begin) // 4}i", data[begin:end])[:96]
        begin, end = header["attention_mask"]["data_offsets"]
        n = sum(struct.unpack(f"<{(end - begin) // 4}i", data[begin:end])[:96])
        target = self.path("o.safetensors")
        self.run_ok("forward", "--model", BERT, "--ids", " ".join(map(str, ids[:n])), "--hidden",
                    "--output", target)
        shape, values = read_safetensors(target)["hidden.3"]
        self.assertEqual(shape, [n, 48])
        want = golden["last_hidden_state"][1]
        self.assertLess(max(abs(a - b) for a, b in zip(values, want)), 2e-5)
        self.run_bad(1, "--hidden", "forward", "--model", BERT, "--ids", "1 2", "--output", target)
        self.run_bad(1, "vocabulary", "forward", "--model", BERT, "--ids", "1 800", "--hidden",
                     "--output", target)
        self.run_bad(1, "number", "forward", "--model", BERT, "--ids", "1 x", "--hidden", "--output",
                     target)

    def test_forward_of_generators_writes_reference_values(self):
        target = self.path("o.safetensors")
        for name, layers in ("llama", 3), ("gemma4", 6), ("qwen3_5_moe", 4):
            folder = f"{FIXTURES}/{name}"
            golden = read_safetensors(f"{folder}/golden.safetensors")
            with open(f"{folder}/golden.safetensors", "rb") as f:
                header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
                data = f.read()
            begin, end = header["input_ids"]["data_offsets"]
            ids = struct.unpack(f"<{(end - begin) // 4}i", data[begin:end])
            self.run_ok("forward", "--model", folder, "--ids", " ".join(map(str, ids)), "--hidden",
                        "--output", target)
            written = read_safetensors(target)
            for tensor in "logits", "hidden.0", f"hidden.{layers}":
                shape, values = written[tensor]
                want_shape, want = golden[tensor]
                self.assertEqual(shape, want_shape)
                self.assertLess(max(abs(a - b) / (1 + abs(b)) for a, b in zip(values, want)), 1e-3)

    def test_weights_that_are_not_numbers_give_an_error(self):
        folder = self.path("llama")
        shutil.copytree(f"{FIXTURES}/llama", folder)
        with open(f"{folder}/model.safetensors", "rb") as f:
            size = struct.unpack("<Q", f.read(8))[0]
            begin = json.loads(f.read(size))["model.layers.1.mlp.down_proj.weight"]["data_offsets"][0]
        os.chmod(f"{folder}/model.safetensors", 0o644)
        with open(f"{folder}/model.safetensors", "r+b") as f:
            f.seek(8 + size + begin)
            f.write(struct.pack("<f", float("nan")))
        target = self.path("o.safetensors")
        forward = ["forward", "--model", folder, "--ids", "1 2 3", "--output", target]
        self.run_bad(1, "logits that are not finite", *forward)
        self.run_bad(1, "hidden.2 that are not finite", *forward, "--hidden")
        self.assertFalse(os.path.exists(target))
        for temperature in "0", "1":
            self.run_bad(1, "not a number", "complete", "--model", folder, "--ids", "1 2 3",
                         "--temperature", temperature, "--max-tokens", "2")

    def test_complete_gives_the_references_tokens(self):
        for name in "llama", "qwen3_5":
            folder = f"{FIXTURES}/{name}"
            with open(f"{folder}/golden.safetensors", "rb") as f:
                header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
                data = f.read()
            read = lambda key: list(struct.unpack(
                f"<{(header[key]['data_offsets'][1] - header[key]['data_offsets'][0]) // 4}i",
                data[slice(*header[key]["data_offsets"])]))
            done = json.loads(self.run_ok(
                "complete", "--model", folder, "--ids", " ".join(map(str, read("input_ids")[:37])),
                "--temperature", "0", "--max-tokens", "24", "--ignore-eos", "--precision", "f32",
                "--logprobs", "2", "--json"))
            self.assertEqual(done["ids"], read("greedy_cached_from_37"))
            self.assertEqual(done["finish_reason"], "length")
            self.assertEqual(done["usage"]["prompt_tokens"], 37)
            self.assertEqual(len(done["logprobs"]), 24)
        self.run_bad(1, "prompt", "complete", "--model", folder)
        self.run_bad(1, "outside the vocabulary", "complete", "--model", folder, "--ids", "999999")
        self.run_bad(1, "at most 4096", "complete", "--model", folder, "--ids", "1", "-c", "100000000")

    def test_the_same_seed_gives_the_same_text(self):
        texts = {self.run_ok("complete", "--model", f"{FIXTURES}/llama", "-p", "the cat", "--seed", "7",
                             "--temperature", "1", "-n", "20", "-t", str(t)) for t in (1, 2)}
        self.assertEqual(len(texts), 1)

    def test_chat_remembers_undoes_and_goes_on(self):
        saved = self.path("conversation.json")
        lines = f"hello\nand then?\n/save {saved}\n/undo\n/undo\n/load {saved}\ngo on\n/stats\n"
        done = lattice("chat", "--model", f"{FIXTURES}/llama", "--temperature", "0", "-n", "6", "--json",
                       stdin=lines)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        events = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual(events[0]["event"], "ready")
        ends = [e for e in events if e["event"] == "done"]
        self.assertEqual(len(ends), 3)
        self.assertEqual(ends[0]["usage"]["cached_tokens"], 0)
        # A later turn reads what is new, and little more.
        self.assertGreater(ends[1]["usage"]["cached_tokens"], ends[0]["usage"]["prompt_tokens"] - 2)
        shown = [e.get("text", "") for e in events if e["event"] == "token"]
        self.assertEqual("".join(shown), "".join(e["text"] for e in ends))
        with open(saved) as f:
            roles = [m["role"] for m in json.load(f)["messages"]]
        self.assertEqual(roles, ["user", "assistant", "user", "assistant"])
        self.run_bad(1, "no command", "chat", "--model", f"{FIXTURES}/llama", stdin="/nonsense\n")

    def test_chat_goes_on_with_another_model(self):
        def chat(model, lines):
            done = lattice("chat", "--model", f"{FIXTURES}/{model}", "--temperature", "0", "-n", "6",
                           "--json", stdin=lines)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            return [json.loads(line) for line in done.stdout.decode().splitlines()], done.stderr.decode()

        saved = self.path("conversation.json")
        events, _ = chat("llama", f"hello\n/set max-tokens 4\n/save {saved}\n/model {FIXTURES}/qwen3\n"
                                  "and then?\n/model\n/set\n")
        ready = [e for e in events if e["event"] == "ready"]
        self.assertEqual([e["model"] for e in ready], ["llama", "qwen3"])
        self.assertEqual([e["event"] for e in events if e["event"] != "token"],
                         ["ready", "done", "ready", "done"])
        ends = [e for e in events if e["event"] == "done"]
        self.assertEqual(ends[1]["usage"]["cached_tokens"], 0)
        self.assertEqual(ends[1]["usage"]["completion_tokens"], 4)  # as /set said
        self.assertEqual(ends[1]["seed"], ends[0]["seed"])
        # The other model answers as if it had had this conversation from the beginning.
        with open(saved) as f:
            messages = json.load(f)["messages"]
        plain = self.path("plain.json", json.dumps({"messages": messages}))
        alone, said = chat("qwen3", f"/load {plain}\n/set max-tokens 4\nand then?\n/model\n")
        self.assertEqual([e["text"] for e in alone if e["event"] == "done"], [ends[1]["text"]])
        self.assertIn("qwen3\n", said)

    def test_chat_keeps_its_model_when_another_fails(self):
        # At a terminal an error is no end: the line editor wants a real one.
        stern = self.path("stern")
        shutil.copytree(f"{FIXTURES}/qwen3", stern)
        with open(f"{stern}/chat_template.jinja", "w") as f:
            f.write("{% if messages|length > 1 %}{{ raise_exception('One question only') }}{% endif %}"
                    "{{ messages[0].content }}")
        terminal, other = pty.openpty()
        # libedit keeps two small strings of its own to the end.
        environment = dict(os.environ, LATTICE_OFFLINE="1", HOME=self.folder.name, TERM="dumb",
                           ASAN_OPTIONS="detect_leaks=0")
        with subprocess.Popen([BINARY, "chat", "--model", f"{FIXTURES}/llama", "--temperature", "0",
                               "-n", "4"], stdin=other, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment) as program:
            self.addCleanup(program.kill)
            os.close(other)
            os.write(terminal, f"hello\n/model /nowhere\n/model {stern}\n/model\n/exit\n".encode())
            _, said = program.communicate(timeout=120)
        os.close(terminal)
        said = said.decode()
        self.assertEqual(program.returncode, 0, said)
        self.assertIn("llama, a context of", said)
        self.assertIn("/nowhere", said)
        self.assertIn("One question only\n", said)
        self.assertTrue(said.rstrip().endswith("llama"), said)

    def test_perplexity_is_the_references(self):
        folder = f"{FIXTURES}/llama"
        text = self.path("text.txt", "the cat sat on the mat and looked at the moon. " * 12)
        report = json.loads(self.run_ok("perplexity", "--model", folder, "--file", text, "--window", "64",
                                        "--stride", "32", "--against", folder, "--json"))
        self.assertGreater(report["tokens"], 64)
        self.assertEqual(report["against"]["same_best"], 1)
        self.assertLess(abs(report["against"]["mean_kl"]), 1e-9)
        self.run_bad(1, "stride", "perplexity", "--model", folder, "--file", text, "--stride", "600")

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
        self.assertFalse([f for f in os.listdir(self.folder.name) if f.startswith("x.gguf")])

    def test_bench_and_doctor_of_a_generator(self):
        folder = f"{FIXTURES}/qwen3_5"
        rows = json.loads(self.run_ok("bench", "--model", folder, "-p", "40", "-n", "4", "-d", "0,70",
                                      "-r", "1", "--json"))
        self.assertEqual([r["test"] for r in rows], ["pp40", "tg4", "pp40@d70", "tg4@d70"])
        plan = json.loads(self.run_ok("doctor", "--model", folder, "-c", "64", "--json"))["model"]
        self.assertTrue(plan["fits"])
        self.assertEqual(plan["total_bytes"], sum(plan[k] for k in (
            "weights_bytes", "kv_bytes", "state_bytes", "scratch_bytes")))

    def test_packed_weights_are_kept_looked_at_and_removed(self):
        cache = self.path("cache")
        env = {"LATTICE_MODEL_CACHE": cache}
        folder = os.path.join(cache, "packed")

        def kept():
            return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

        def answer(*flags, **kwargs):
            done = self.run_ok("complete", "--model", f"{FIXTURES}/qwen3_5", "-p", "the cat", "--temperature",
                               "0", "-n", "12", "--json", *flags, env={**env, **kwargs})
            return json.loads(done)["ids"]

        def doctor():
            report = self.run_ok("doctor", "--model", f"{FIXTURES}/qwen3_5", "--weights", "q8_0", "--json",
                                 env=env)
            return json.loads(report)["model"]["packed_weights"]

        answer()
        self.assertEqual(kept(), [])  # float weights
        ids = answer("--weights", "q8_0", "--weight-cache", "off")
        self.assertEqual(answer("--weights", "q8_0", LATTICE_WEIGHT_CACHE="off"), ids)
        self.assertEqual(kept(), [])
        self.assertEqual(doctor()["state"], "made by the next start")
        self.assertEqual(answer("--weights", "q8_0"), ids)
        self.assertEqual(kept(), [doctor()["file"]])
        self.assertEqual(doctor()["state"], "whole")
        self.assertEqual(answer("--weights", "q8_0"), ids)
        file = os.path.join(folder, kept()[0])
        with open(file, "r+b") as f:
            f.seek(5000)
            byte = f.read(1)
            f.seek(5000)
            f.write(bytes([byte[0] ^ 1]))
        self.assertIn("damaged", doctor()["state"])
        with open(file, "r+b") as f:
            f.truncate(9000)
        self.assertEqual(answer("--weights", "q8_0"), ids)
        self.assertEqual(doctor()["state"], "whole")
        freed = json.loads(self.run_ok("rm", "--packed", "--json", env=env))["freed_bytes"]
        self.assertGreater(freed, 10000)
        self.assertEqual(kept(), [])
        self.run_bad(2, "LATTICE_WEIGHT_CACHE", "models", env={**env, "LATTICE_WEIGHT_CACHE": "maybe"})
        self.run_bad(2, "--weights", "complete", "--model", FIXTURES, "-p", "x", "--weights", "q9")
        self.run_bad(2, "required", "rm")

    def test_bench_and_doctor_print_json(self):
        texts = self.path("few.txt", "one\ntwo words\n")
        rows = json.loads(self.run_ok("bench", "--embedding-model", BERT, "-i", texts, "-r", "2",
                                      "--json"))
        self.assertEqual([(r["test"], r["texts"]) for r in rows], [("few", 2)])
        report = json.loads(self.run_ok("doctor", "--model", BERT, "--json"))
        self.assertEqual(report["model"]["architecture"], "bert")

    def test_the_first_interrupt_ends_a_download(self):
        with socket.create_server(("127.0.0.1", 0)) as hub:  # takes the request and never answers
            hub.settimeout(60)
            environment = dict(os.environ, LATTICE_OFFLINE="0", no_proxy="127.0.0.1",
                               HF_ENDPOINT=f"http://127.0.0.1:{hub.getsockname()[1]}",
                               LATTICE_MODEL_CACHE=self.path("cache"))
            with subprocess.Popen([BINARY, "embed", "--model", "someone/model", "x"], env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
                self.addCleanup(program.kill)
                connection, _ = hub.accept()
                with connection:
                    self.assertTrue(connection.recv(1))
                    program.send_signal(signal.SIGINT)
                    _, complaint = program.communicate(timeout=20)  # the transfer's own limit: 30 s
        self.assertEqual(program.returncode, 1)
        self.assertIn(b"cancelled", complaint)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
