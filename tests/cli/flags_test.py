"""Flags, exit status and what every command does with its output. See command_line.py for how to run it."""
import os
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
