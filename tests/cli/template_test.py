"""template: the prompt that a chat template makes. See command_line.py for how to run it."""
import json
import os

from command_line import CommandLine, main


class TemplateTest(CommandLine):
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


if __name__ == "__main__":
    main()
