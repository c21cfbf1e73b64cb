"""chat: conversations in pipes and at a terminal. See command_line.py for how to run it."""
import json
import os
import pty
import shutil
import subprocess

from command_line import BINARY, FIXTURES, CommandLine, lattice, main


class ChatTest(CommandLine):
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
        try:
            terminal, other = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal: {error}")
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


if __name__ == "__main__":
    main()
