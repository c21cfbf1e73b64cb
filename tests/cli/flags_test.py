"""Flags, exit status and what every command does with its output. See command_line.py for how to run it."""
import os
import re
import subprocess

from command_line import BERT, BINARY, CommandLine, lattice, main


class FlagsTest(CommandLine):
    def test_exit_status(self):
        self.assertIn("embed", self.run_ok("--help"))
        self.assertRegex(self.run_ok("--version"), r"^lattice \d+\.\d+\.\d+\n$")
        self.run_bad(2, "subcommand", )
        self.run_bad(2, "--frobnicate", "embed", "--frobnicate", "x")
        self.run_bad(2, "", "embed", "--dimensions", "-3", "x")
        self.run_bad(1, "/nowhere", "embed", "--model", "/nowhere", "x")
        self.run_bad(1, "avx9", "--cpu", "avx9", "embed", "--model", BERT, "x")

    def test_absurd_numbers_are_wrong_usage(self):
        commands = re.findall(r"^  ([a-z]+)  ", self.run_ok("--help").split("Subcommands:")[1], re.M)
        self.assertGreater(len(commands), 15)
        n_flags = 0
        for command in commands:
            text = self.run_ok(command, "--help")
            # Every number is checked: none is left to the library, which has other names for them.
            self.assertNotRegex(text, r"\b(U?INT|FLOAT)\b", command)
            for names, kind in re.findall(r"^  (-\S+) (N|N,\.\.\.|X)\b", text, re.M):
                n_flags += 1
                flag = names.split(",")[-1]
                for value in ("nan", "-1000000") if kind == "X" else ("-1", "99999999999999999999"):
                    self.run_bad(2, flag, command, flag, value)
        self.assertGreater(n_flags, 60)
        for value in "", "1x", "0x10", "2.5", "1e3", "+1", "-0", " 1", "2147483648":
            self.run_bad(2, "--context", "complete", "-p", "x", "--context", value)
        for value in "", "1x", "0x1p3", "inf", "1e999", "0", "1.0000001", " 0.5", "0.5 ", "-0.5":
            self.run_bad(2, "--top-p", "complete", "-p", "x", "--top-p", value)
        self.run_bad(2, "ID", "detokenize", "--model", BERT, "99999999999")
        # Digits are decimal, whatever stands before them.
        self.assertEqual(self.run_ok("detokenize", "--model", BERT, "0042"),
                         self.run_ok("detokenize", "--model", BERT, "42"))

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


if __name__ == "__main__":
    main()
