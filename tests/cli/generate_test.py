"""complete and perplexity. See command_line.py for how to run it."""
import json
import struct

from command_line import FIXTURES, CommandLine, main


class GenerateTest(CommandLine):
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
