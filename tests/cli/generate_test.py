"""complete and perplexity. See command_line.py for how to run it."""
import json
import tempfile

from command_line import FIXTURES, CommandLine, lattice, main, read_safetensors


class GenerateTest(CommandLine):
    def test_complete_gives_the_references_tokens(self):
        for name in "llama", "qwen3_5":
            folder = f"{FIXTURES}/{name}"
            golden = read_safetensors(f"{folder}/golden.safetensors")
            ids = " ".join(map(str, golden["input_ids"][1][:37]))
            done = json.loads(self.run_ok(
                "complete", "--model", folder, "--ids", ids, "--temperature", "0", "--max-tokens", "24",
                "--ignore-eos", "--precision", "f32", "--logprobs", "2", "--json"))
            self.assertEqual(done["ids"], list(golden["greedy_cached_from_37"][1]))
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

    def test_every_knob_of_sampling_has_a_flag(self):
        model = ["complete", "--model", f"{FIXTURES}/llama", "-p", "the cat", "-n", "6", "--json"]

        def ids(*flags):
            return json.loads(self.run_ok(*model, "--seed", "1", *flags))["ids"]

        self.assertEqual(ids("--temperature", "0", "--logit-bias", "400=100"), [400] * 6)
        self.assertEqual(ids("--logit-bias", "400=100", "--logit-bias", "401=-100"), [400] * 6)
        plain = ids("--temperature", "1", "--top-k", "3", "--top-p", "1", "--min-p", "0")
        self.assertNotEqual(plain, ids("--temperature", "1", "--top-k", "3", "--sampling-order", "temperature"))
        self.assertEqual(plain, ids("--temperature", "1", "--top-k", "3", "--sampling-order", "top_k,temperature"))
        # A penalty that sees its window forbids what a bias wants.
        bias = ["--temperature", "0", "--logit-bias", "400=20", "--presence-penalty", "100", "--ignore-eos"]
        self.assertEqual(ids(*bias).count(400), 1)
        self.assertEqual(ids(*bias, "--penalty-window", "0"), [400] * 6)
        ids("--mirostat", "3", "--mirostat-eta", "0.2")
        ids("--dry-multiplier", "0.8", "--dry-base", "1.5", "--dry-allowed-length", "3", "--dry-window", "64")
        ids("--xtc-probability", "0.5", "--xtc-threshold", "0.05")
        for bad in "69", "69=", "=1", "-1=1", "69=101", "x=1":
            self.run_bad(2, "--logit-bias", *model, "--logit-bias", bad)
        self.run_bad(1, "vocabulary", *model, "--logit-bias", "999999=1")
        self.run_bad(2, "--sampling-order", *model, "--sampling-order", "top_k,bottom_k")
        self.run_bad(1, "twice", *model, "--sampling-order", "top_k,top_k")

    def test_answers_are_held_to_a_structure(self):
        pattern = r'\{"n": [0-9]{1,3}, "of": "(cats|dogs)"\}'
        for name in "llama", "qwen3_5":
            for seed in range(5):
                flags = ["--model", f"{FIXTURES}/{name}", "-p", "x", "--temperature", "1.5", "--seed", str(seed)]
                done = json.loads(self.run_ok("complete", *flags, "--regex", pattern, "--json"))
                self.assertEqual(done["finish_reason"], "stop")
                self.assertRegex(done["text"], f"^{pattern}$")
                chat = self.run_ok("chat", *flags, "--regex", pattern, "--no-think")
                self.assertRegex(chat.strip(), f"^{pattern}$")
        with tempfile.TemporaryDirectory() as folder:
            grammar = f"{folder}/list.gbnf"
            with open(grammar, "w") as f:
                f.write('root ::= "[" item ("," item){2} "]"\nitem ::= [0-9] | root\n')
            text = self.run_ok("complete", "--model", f"{FIXTURES}/llama", "-p", "x", "--grammar", grammar,
                               "-n", "500", "--temperature", "1", "--seed", "4")
            json.loads(text)
            with open(grammar, "w") as f:
                f.write("root ::= a\n")
            self.run_bad(1, "line 1, column 10", "complete", "--model", "x", "-p", "x", "--grammar", grammar)
            self.run_bad(2, "excludes", "complete", "-p", "x", "--regex", "a", "--grammar", grammar)
        self.run_bad(1, "--regex: pattern, character 2", "complete", "--model", "x", "-p", "x", "--regex", "(?=a)")

    def test_random_bytes_are_json_and_text(self):
        broken = 0
        for seed in range(6):
            flags = ["--model", f"{FIXTURES}/llama", "--temperature", "100", "--seed", str(seed), "-n", "40"]
            done = json.loads(self.run_ok("complete", *flags, "-p", "x", "--json"))
            broken += "\ufffd" in done["text"]
            self.assertEqual(self.run_ok("complete", *flags, "-p", "x"), done["text"] + "\n")
            events = [json.loads(line) for line in
                      self.run_ok("chat", *flags, "-p", "x", "--json").splitlines()]
            self.assertEqual("".join(e.get("text", "") for e in events if e["event"] == "token"),
                             events[-1]["text"])
        self.assertGreater(broken, 0)

    def test_perplexity_is_the_references(self):
        folder = f"{FIXTURES}/llama"
        text = self.path("text.txt", "the cat sat on the mat and looked at the moon. " * 12)
        report = json.loads(self.run_ok("perplexity", "--model", folder, "--file", text, "--window", "64",
                                        "--stride", "32", "--against", folder, "--json"))
        self.assertGreater(report["tokens"], 64)
        self.assertEqual(report["against"]["same_best"], 1)
        self.assertLess(abs(report["against"]["mean_kl"]), 1e-9)
        self.run_bad(1, "stride", "perplexity", "--model", folder, "--file", text, "--stride", "600")


if __name__ == "__main__":
    main()
