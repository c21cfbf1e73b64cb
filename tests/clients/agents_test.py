"""Programs that people work with (llm, aider, Continue, opencode, Codex) on `lattice serve`: each is set up as
docs/server.md says, is answered, and does what the model asks for: calls a tool of its own or edits a file. What PATH has
not is skipped. Their prompts are long, so take a release build. Usage: agents_test.py BINARY FIXTURES [TEST...]"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import scripted_model
from scripted_case import ScriptedCase

NOTES = "What the notes say.\n"


def call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"PATH has no {program}")


class Agents(ScriptedCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        cls.home, cls.work = root / "home", root / "work"
        for folder in (cls.home, cls.work):
            folder.mkdir()
        (cls.work / "notes.txt").write_text(NOTES)
        acts = {
            "llm": call("llm_version"),
            "aider": "hello.py\n```python\n<<<<<<< SEARCH\n=======\nprint('good day')\n>>>>>>> REPLACE\n```\n",
            "continue": call("Read", filepath="notes.txt"),
            "opencode": call("read", filePath=str(cls.work / "notes.txt")),
            "codex": call("exec_command", cmd="cat notes.txt > copy.txt"),
        }
        models = [scripted_model.write(root / name, {"hello": f"Hello from {name}.", "act-now": act,
                                                     "after": "That is done, as I see."},
                                       "<tool_call> arguments </think>", context=131072) for name, act in acts.items()]
        cls.serve(models, "--context", "65536", "--lazy")
        for name in acts:  # some programs take a model that is being loaded for one that is out of order
            assert cls.server.ask("POST", "/models/load", {"model": name})[0].status == 200
        cls.url += "/v1"

    def run_program(self, *command):
        """What it says."""
        done = subprocess.run(
            command, cwd=self.work, capture_output=True, timeout=240, stdin=subprocess.DEVNULL,
            env=dict(os.environ, PWD=str(self.work), HOME=str(self.home), LLM_USER_PATH=str(self.home),
                     OPENAI_API_KEY="none", CONTINUE_TELEMETRY_ENABLED="0"))
        text = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, 0, text)
        return text

    @needs("llm")
    def test_llm(self):
        (self.home / "extra-openai-models.yaml").write_text(
            f"- model_id: lattice\n  model_name: llm\n  api_base: {self.url}\n  supports_tools: true\n")
        self.assertIn("Hello from llm.", self.run_program("llm", "-m", "lattice", "Hi"))
        self.assertIn("Hello from llm.", self.run_program("llm", "-m", "lattice", "--no-stream", "Hi"))
        text = self.run_program("llm", "-m", "lattice", "--tool", "llm_version", "--td", "act-now")
        self.assertIn("Tool call: llm_version({})", text)
        self.assertIn("That is done, as I see.", text)

    @needs("aider")
    def test_aider(self):
        text = self.run_program(
            "aider", "--model", "openai/aider", "--openai-api-base", self.url, "--openai-api-key", "none", "--no-git",
            "--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--edit-format", "diff",
            "--message", "act-now")
        self.assertEqual((self.work / "hello.py").read_text(), "print('good day')\n", text)

    @needs("cn")
    def test_continue(self):
        config = self.home / "config.yaml"
        config.write_text(f"""name: local
version: 1.0.0
schema: v1
models:
  - name: local
    provider: openai
    model: continue
    apiBase: {self.url}
    apiKey: none
    capabilities: [tool_use]
""")
        self.assertIn("Hello from continue.", self.run_program("cn", "--config", str(config), "-p", "Hi"))
        requests = self.server.metric("lattice_http_requests_total")
        text = self.run_program("cn", "--config", str(config), "--allow", "Read", "-p", "act-now")
        self.assertIn("That is done, as I see.", text)
        self.assertGreater(self.server.metric("lattice_http_requests_total"), requests + 2)

    @needs("opencode")
    def test_opencode(self):
        (self.work / "opencode.json").write_text(json.dumps({
            "model": "lattice/opencode", "small_model": "lattice/opencode", "autoupdate": False, "share": "disabled",
            "provider": {"lattice": {"npm": "@ai-sdk/openai-compatible", "name": "lattice",
                                     "options": {"baseURL": self.url},
                                     "models": {"opencode": {"name": "opencode", "tool_call": True}}}}}))
        self.assertIn("Hello from opencode.", self.run_program("opencode", "run", "Hi"))
        text = self.run_program("opencode", "run", "act-now")
        self.assertIn("Read notes.txt", text)
        self.assertIn("That is done, as I see.", text)

    @needs("codex")
    def test_codex(self):
        (self.home / ".codex").mkdir()
        (self.home / ".codex" / "config.toml").write_text(f"""model = "codex"
model_provider = "lattice"
web_search = "disabled"
[features]
multi_agent = false
[model_providers.lattice]
name = "lattice"
base_url = "{self.url}"
wire_api = "responses"
""")
        command = ("codex", "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access")
        self.assertIn("Hello from codex.", self.run_program(*command, "Hi"))
        text = self.run_program(*command, "act-now")
        self.assertEqual((self.work / "copy.txt").read_text(), NOTES, text)
        self.assertIn("That is done, as I see.", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
