"""tokenize, detokenize, rerank: texts to ids and to scores. See command_line.py for how to run it."""
import json

from command_line import BERT, FIXTURES, CommandLine, main


class TextsTest(CommandLine):
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

    def test_half_a_character_is_a_replacement(self):
        lines = self.path("t.jsonl", r'"a\ud83d"' "\n" r'{"text": "\ud83d\udc4d"}' "\n" r'"\udc4d b"' "\n")
        plain = self.path("t.txt", "a\ufffd\n\U0001f44d\n\ufffd b\n")
        model = f"{FIXTURES}/llama"
        self.assertEqual(self.run_ok("tokenize", "--model", model, "--json", "-i", lines),
                         self.run_ok("tokenize", "--model", model, "--json", "-i", plain))

    def test_texts_in_brackets_are_texts(self):
        for text in "[SEP]", "[a, b]", "[]", "[[x]]", "[a]\x01", "a\x01":
            both = self.path("t.txt", text + "\nb\n")
            self.assertEqual(self.run_ok("tokenize", "--model", BERT, "--json", text, "b"),
                             self.run_ok("tokenize", "--model", BERT, "--json", "-i", both))
        prompt = self.run_ok("embed", "--model", BERT, "--prompt", "[x] ", "[y]", "-f", "jsonl")
        self.assertEqual(prompt, self.run_ok("embed", "--model", BERT, "[x] [y]", "-f", "jsonl"))

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


if __name__ == "__main__":
    main()
