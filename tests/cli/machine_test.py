"""bench, doctor, and weights that are kept packed. See command_line.py for how to run it."""
import json
import os
import shutil

from command_line import BERT, FIXTURES, CommandLine, lattice, main


class MachineTest(CommandLine):
    def test_bench_and_doctor_of_a_generator(self):
        folder = f"{FIXTURES}/qwen3_5"
        rows = json.loads(self.run_ok("bench", "--model", folder, "-p", "40", "-n", "4", "-d", "0,70",
                                      "-r", "1", "--json"))
        self.assertEqual([r["test"] for r in rows], ["pp40", "tg4", "pp40@d70", "tg4@d70"])
        plan = json.loads(self.run_ok("doctor", "--model", folder, "-c", "64", "--json"))["model"]
        self.assertTrue(plan["fits"])
        self.assertEqual(plan["total_bytes"], sum(plan[k] for k in (
            "weights_bytes", "kv_bytes", "state_bytes", "scratch_bytes")))

    def test_a_vision_part_is_named_and_not_used(self):
        folder = self.path("seeing")
        shutil.copytree(f"{FIXTURES}/qwen3_5", folder)
        with open(f"{folder}/config.json") as f:
            text = json.load(f)
        with open(self.path("seeing/config.json"), "w") as f:
            json.dump({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"],
                       "text_config": text, "vision_config": {"depth": 2}}, f)
        done = lattice("complete", "--model", folder, "-p", "x", "-n", "2", "--temperature", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.decode().count("vision"), 1)
        self.assertEqual(lattice("-q", "complete", "--model", folder, "-p", "x", "-n", "2").stderr, b"")
        for flag in (), ("--json",):
            self.assertIn("vision", self.run_ok("doctor", "--model", folder, *flag))
            self.assertIn("vision", self.run_ok("show", folder, *flag))
            self.assertNotIn("vision", self.run_ok("show", f"{FIXTURES}/qwen3_5", *flag))

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

        disk = shutil.disk_usage(os.path.dirname(cache))
        if disk.free < min(disk.total // 10, 10_000_000_000) + (16 << 20):
            self.skipTest(f"weights are not kept where only {disk.free} bytes of the disk are free")
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


if __name__ == "__main__":
    main()
