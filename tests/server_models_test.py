"""Models of `lattice serve` that come and go, rankings, and the routes of other servers. Usage:
server_models_test.py BINARY FIXTURES [TEST...]"""
import json
import math
import os
import sys
import time
import unittest

from server_test import FIXTURES, Server, chat

DOCUMENTS = ["Paris is the capital of France.", "", "A cat sat.", "Lyon is a city."]


class Rankings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--rerank-model", f"{FIXTURES}/bert_reranker", "--embedding-model", f"{FIXTURES}/bert",
                            "--model", f"{FIXTURES}/llama", "--context", "512", "--precision", "f32")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def ranking(self, path="/v1/rerank", **fields):
        status, body = self.server.json(path, dict({"query": "capital of France", "documents": DOCUMENTS}, **fields))
        self.assertEqual(status, 200, body)
        return body

    def test_best_first_and_index_is_the_place_in_the_request(self):
        body = self.ranking()
        self.assertEqual(sorted(r["index"] for r in body["results"]), [0, 1, 2, 3])
        scores = [r["relevance_score"] for r in body["results"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        for result in body["results"]:
            self.assertEqual(result["document"], {"text": DOCUMENTS[result["index"]]})
        self.assertEqual(body["model"], "bert_reranker")
        self.assertEqual(body["usage"]["prompt_tokens"], body["usage"]["total_tokens"])
        top = self.ranking("/rerank", top_n=2, return_documents=False, documents=[{"text": d} for d in DOCUMENTS])
        self.assertEqual(top["results"], [{k: r[k] for k in ("index", "relevance_score")} for r in body["results"][:2]])
        self.assertEqual(len(self.ranking(top_n=1000)["results"]), 4)
        same = self.ranking(documents=["twin", "twin", "twin"])
        self.assertEqual([r["index"] for r in same["results"]], [0, 1, 2])

    def test_cohere_has_its_own_shape(self):
        body = self.ranking("/v2/rerank")
        self.assertEqual(set(body), {"id", "results", "meta"})
        self.assertEqual(set(body["results"][0]), {"index", "relevance_score"})

    def test_texts_ask_in_the_way_of_tei(self):
        jina = self.ranking()["results"]
        status, body = self.server.json("/rerank", {"query": "capital of France", "texts": DOCUMENTS,
                                                    "return_text": True})
        self.assertEqual(status, 200, body)
        self.assertEqual([r["index"] for r in body], [r["index"] for r in jina])
        _, raw = self.server.json("/rerank", {"query": "capital of France", "texts": DOCUMENTS, "raw_scores": True})
        for cooked, logit in zip(body, raw):
            self.assertEqual(set(logit), {"index", "score"})
            self.assertEqual(cooked["text"], DOCUMENTS[cooked["index"]])
            self.assertAlmostEqual(cooked["score"], 1 / (1 + math.exp(-logit["score"])), places=6)
        long = {"query": "q", "texts": ["word " * 5000]}
        self.assertEqual(self.server.json("/rerank", long)[1]["error"]["code"], "context_length_exceeded")
        self.assertEqual(self.server.json("/rerank", dict(long, truncate=True))[0], 200)

    def test_embed_tokenize_and_info_of_tei(self):
        _, openai = self.server.json("/v1/embeddings", {"input": ["one", "two words"]})
        status, vectors = self.server.json("/embed", {"inputs": ["one", "two words"]})
        self.assertEqual(status, 200, vectors)
        for vector, item in zip(vectors, openai["data"]):  # of a model that does not normalise by itself
            length = math.sqrt(sum(x * x for x in item["embedding"]))
            for a, b in zip(vector, item["embedding"]):
                self.assertAlmostEqual(a, b / length, places=6)
        self.assertEqual(self.server.json("/embed", {"inputs": "one"})[1], vectors[:1])
        _, rough = self.server.json("/embed", {"inputs": "one", "normalize": False})
        self.assertNotAlmostEqual(sum(x * x for x in rough[0]), 1, places=3)
        text = "Two  wörds"
        _, (tokens,) = self.server.json("/tokenize", {"inputs": text})
        self.assertTrue(tokens[0]["special"] and tokens[0]["start"] is None)
        spoken = [t for t in tokens if not t["special"]]
        self.assertEqual("".join(text[t["start"]:t["stop"]] for t in spoken), text.replace(" ", ""))
        _, bare = self.server.json("/tokenize", {"inputs": [text, "a"], "add_special_tokens": False})
        self.assertEqual(bare[0], spoken)
        _, info = self.server.json("/info")
        self.assertEqual((info["model_id"], info["max_input_length"]), ("bert", 128))
        self.assertEqual(info["model_type"]["embedding"]["pooling"], "mean")

    def test_utility_routes(self):
        messages = chat("Name a river.")["messages"]
        _, prompt = self.server.json("/apply-template", {"messages": messages})
        self.assertIn("Name a river.", prompt["prompt"])
        _, by_text = self.server.json("/tokenize", {"content": prompt["prompt"]})
        _, by_chat = self.server.json("/tokenize", {"messages": messages, "return_token_strs": True})
        self.assertEqual(by_chat["tokens"], by_text["tokens"])
        self.assertEqual(len(by_chat["token_strs"]), by_chat["count"])
        _, asked = self.server.json("/v1/chat/completions", chat("Name a river."))
        self.assertEqual(asked["usage"]["prompt_tokens"], by_chat["count"])
        _, props = self.server.json("/props")
        self.assertEqual((props["default_generation_settings"]["n_ctx"], props["total_slots"]), (512, 8))
        self.assertIn("messages", props["chat_template"])
        self.assertEqual(set(self.server.json("/version")[1]), {"version"})
        self.assertEqual(self.server.ask("GET", "/ping")[0].status, 200)

    def test_dashboards_find_their_names(self):
        self.server.json("/v1/chat/completions", chat("a"))
        self.ranking()
        for ours, theirs in (("lattice_generated_tokens_total", "vllm:generation_tokens_total"),
                             ("lattice_generated_tokens_total", "llamacpp:tokens_predicted_total"),
                             ("lattice_prompt_tokens_total", "vllm:prompt_tokens_total"),
                             ("lattice_generations_total", "vllm:request_success_total")):
            self.assertGreater(self.server.metric(ours), 0)
            self.assertEqual(self.server.metric(ours), self.server.metric(theirs))
        self.assertGreaterEqual(self.server.metric("lattice_reranked_texts_total"), 4)

    def test_wrong_kinds_are_refused(self):
        for path, body in (("/v1/rerank", {"model": "bert", "query": "q", "documents": ["a"]}),
                           ("/v1/embeddings", {"model": "bert_reranker", "input": "a"})):
            status, error = self.server.json(path, body)
            self.assertEqual((status, error["error"]["code"]), (404, "model_not_found"))


def attempts():
    """Goes on for a minute, with a pause after each."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        yield
        time.sleep(0.02)


class ComingAndGoing(unittest.TestCase):
    def await_ok(self, server, path, body):
        for _ in attempts():
            response, content = server.ask("POST", path, body)
            if response.status == 200:
                return json.loads(content)
            self.assertEqual(response.status, 503, content)
            self.assertEqual(json.loads(content)["error"]["code"], "model_loading")
            self.assertGreaterEqual(int(response.getheader("Retry-After")), 1)
        self.fail("the model does not come")

    def status(self, server, name):
        return server.json(f"/v1/models/{name}")[1]["status"]["value"]

    def await_status(self, server, name, value):
        for _ in attempts():
            if self.status(server, name) == value:
                return
        self.fail(f"{name} is {self.status(server, name)}, not {value}")

    def used(self, server, name):
        """Mappings of the model's files, and threads of the server."""
        pid = server.process.pid
        with open(f"/proc/{pid}/maps") as maps:
            n_maps = sum(f"/{name}/" in line for line in maps)
        with open(f"/proc/{pid}/status") as status:
            return n_maps, int(next(line for line in status if line.startswith("Threads:")).split()[1])

    def test_lazy_models_come_with_their_first_request_and_go_when_asked(self):
        server = Server("--lazy", "--model", f"{FIXTURES}/llama", "--model", f"{FIXTURES}/qwen3_5",
                        "--embedding-model", f"{FIXTURES}/bert", "--context", "256")
        self.addCleanup(server.close)
        self.assertEqual({m["status"]["value"] for m in server.json("/v1/models")[1]["data"]}, {"unloaded"})
        before = self.used(server, "llama")
        self.assertEqual(before[0], 0)
        first = self.await_ok(server, "/v1/chat/completions", chat("a"))
        self.assertEqual(self.status(server, "llama"), "loaded")
        self.assertEqual(self.status(server, "qwen3_5"), "unloaded")
        while_loaded = self.used(server, "llama")
        self.assertGreater(while_loaded[1], before[1])
        generated = server.metric("lattice_generated_tokens_total")
        self.assertEqual(server.json("/models/unload", {"model": "llama"}), (200, {"success": True}))
        self.await_status(server, "llama", "unloaded")
        for _ in attempts():
            if self.used(server, "llama") == before:
                break
        self.assertEqual(self.used(server, "llama"), before)
        self.assertEqual(server.metric("lattice_kv_bytes"), 0)
        self.assertEqual(server.metric("lattice_generated_tokens_total"), generated)
        self.assertEqual(server.json("/models/load", {"model": "llama"})[0], 200)
        self.await_status(server, "llama", "loaded")
        again = server.json("/v1/chat/completions", chat("a"))[1]
        self.assertEqual(again["choices"], first["choices"])
        self.await_ok(server, "/v1/embeddings", {"input": "a"})
        self.assertEqual(server.json("/models/unload", {"model": "none"})[0], 404)
        self.assertEqual(server.json("/models/load", {})[0], 400)
        self.assertEqual(server.end(), 0)

    def test_an_answer_keeps_its_model(self):
        server = Server("--model", f"{FIXTURES}/llama", "--context", "400")
        self.addCleanup(server.close)
        events, done = server.events_while(lambda: server.json("/models/unload", {"model": "llama"}))
        self.assertTrue(done)
        self.assertEqual(events[-1]["choices"][0]["finish_reason"], "length")
        self.await_status(server, "llama", "unloaded")
        self.assertEqual(server.end(), 0)

    def test_unused_models_go_by_themselves(self):
        server = Server("--model", f"{FIXTURES}/llama", "--context", "256", "--keep-alive", "1")
        self.addCleanup(server.close)
        self.await_ok(server, "/v1/chat/completions", chat("a"))  # a second may be over before it comes
        self.await_status(server, "llama", "unloaded")
        self.await_ok(server, "/v1/chat/completions", chat("a"))

    def test_a_failed_load_says_why(self):
        folder = os.path.abspath(FIXTURES)
        server = Server("--lazy", "--model", f"{folder}/nowhere", "--embedding-model", f"{FIXTURES}/bert")
        self.addCleanup(server.close)
        for _ in attempts():
            status, body = server.json("/v1/chat/completions", chat("a"))
            self.assertEqual(status, 503)
            if body["error"]["code"] == "model_load_failed":
                break
        self.assertIn("nowhere", body["error"]["message"])
        self.assertNotIn(folder, body["error"]["message"])
        shown = [m for m in server.json("/v1/models")[1]["data"] if m["kind"] == "text"][0]["status"]
        self.assertTrue(shown["failed"] and "nowhere" in shown["message"])
        self.await_ok(server, "/v1/embeddings", {"input": "a"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
