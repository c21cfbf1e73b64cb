"""forward: values to compare with references. See command_line.py for how to run it."""
import json
import os
import shutil
import struct

from command_line import BERT, FIXTURES, CommandLine, main, read_safetensors


class ForwardTest(CommandLine):
    def test_forward_writes_reference_values(self):
        golden = read_safetensors(f"{BERT}/golden.safetensors")
        ids, n = golden["input_ids"][1], sum(golden["attention_mask"][1][:96])
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
        for ids in "1 x", "-1", "99999999999":
            self.run_bad(2, "--ids", "forward", "--model", BERT, "--ids", ids, "--hidden", "--output", target)

    def test_forward_of_generators_writes_reference_values(self):
        target = self.path("o.safetensors")
        for name, layers in ("llama", 3), ("gemma4", 6), ("qwen3_5_moe", 4):
            folder = f"{FIXTURES}/{name}"
            golden = read_safetensors(f"{folder}/golden.safetensors")
            ids = " ".join(map(str, golden["input_ids"][1]))
            self.run_ok("forward", "--model", folder, "--ids", ids, "--hidden", "--output", target)
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


if __name__ == "__main__":
    main()
