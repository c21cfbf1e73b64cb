"""Compares masks of JSON Schemas with llguidance and xgrammar, one thread each, in one run.

Usage: grammar_vs_peers.py PROGRAM TOKENIZER_JSON DATA_FOLDER [--every N] [--seconds S] [--only ENGINE,...] [--timeout S]

PROGRAM is the grammar_masks of a release build; DATA_FOLDER is maskbench/data of the repository
guidance-ai/jsonschemabench: schemas with instances that are valid or not. Every engine gets the same
vocabulary, the same schemas and the same texts (compact JSON) as the same tokens (longest match), and
makes a mask before each token. Prints, for each engine: schemas compiled, those all of whose instances are
judged right, instances wrongly accepted and rejected (and how many of these are taken when their keys stand
in the order in which the schema names them), and the times of compiling (processor time, without and with the first mask) and of the
masks, also of only those schemas that every engine compiled. A schema that takes longer than S seconds has no answer, and the next one goes on.
"""
import argparse
import json
import os
import pathlib
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time


def token_texts(path):
    """The bytes of each id, empty for special ones."""
    tokenizer = json.loads(pathlib.Path(path).read_text())
    added = {t["id"]: t["content"] for t in tokenizer["added_tokens"]}
    vocabulary = tokenizer["model"]["vocab"]
    size = max([*vocabulary.values(), *added]) + 1
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = {chr(b): b for b in visible}
    byte_of.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in set(visible))})
    fallback = bool(tokenizer["model"].get("byte_fallback"))
    texts = [b""] * size
    for token, i in vocabulary.items():
        if i in added:
            continue
        if not fallback:
            texts[i] = bytes(byte_of[c] for c in token)
        elif len(token) == 6 and token.startswith("<0x"):
            texts[i] = bytes([int(token[3:5], 16)])
        else:
            texts[i] = token.replace("\u2581", " ").encode()
    return texts, max(added)


class LongestMatch:
    def __init__(self, texts):
        self.ids = {t: i for i, t in reversed(list(enumerate(texts))) if t}
        self.longest = min(max(map(len, self.ids)), 64)

    def __call__(self, text):
        data, at, out = text.encode(), 0, []
        while at < len(data):
            n = next(n for n in range(min(self.longest, len(data) - at), 0, -1) if data[at:at + n] in self.ids)
            out.append(self.ids[data[at:at + n]])
            at += n
        return out


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def key_order(schema, ranks=None):
    """Keys as a schema names them, with their places."""
    ranks = {} if ranks is None else ranks
    for keyword in ("properties", "required"):
        if isinstance(schema, dict) and isinstance(schema.get(keyword), (dict, list)):
            for name in schema[keyword]:
                if isinstance(name, str):
                    ranks.setdefault(name, len(ranks))
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        key_order(part, ranks)
    return ranks


def reordered(value, order):
    if isinstance(value, list):
        return [reordered(item, order) for item in value]
    if isinstance(value, dict):
        return {key: reordered(value[key], order) for key in sorted(value, key=lambda key: order.get(key, len(order)))}
    return value


class Llguidance:
    def __init__(self, texts, end):
        import llguidance
        self.module = llguidance
        tokens_of = LongestMatch(texts)

        class Tokenizer:
            eos_token_id, bos_token_id = end, None
            tokens = [t or b"\xff<%d>" % i for i, t in enumerate(texts)]
            special_token_ids = [i for i, t in enumerate(texts) if not t]

            def __call__(self, text):
                return tokens_of(text)

        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokenizer()), n_vocab=len(texts))
        self.mask = bytearray((len(texts) + 31) // 32 * 4)
        import ctypes
        self.pointer = ctypes.addressof((ctypes.c_char * len(self.mask)).from_buffer(self.mask))

    def compile(self, schema):
        grammar = self.module.LLMatcher.grammar_from_json_schema(
            schema, defaults={"whitespace_flexible": False})
        matcher = self.module.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, compiled):
        return compiled.deep_copy()

    def fill(self, matcher):
        matcher.unsafe_compute_mask_ptr(self.pointer, len(self.mask))

    def allows(self, token):
        return self.mask[token // 8] >> token % 8 & 1

    def accept(self, matcher, token):
        return matcher.consume_token(token)

    def complete(self, matcher):
        return matcher.is_accepting()


class Xgrammar:
    def __init__(self, texts, end):
        import xgrammar
        self.module = xgrammar
        info = xgrammar.TokenizerInfo(texts, vocab_type=xgrammar.VocabType.RAW, vocab_size=len(texts),
                                      stop_token_ids=[end])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.mask = xgrammar.allocate_token_bitmask(1, len(texts))

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, any_whitespace=False, separators=(",", ":"),
                                                 strict_mode=False)

    def start(self, compiled):
        return self.module.GrammarMatcher(compiled)

    def fill(self, matcher):
        if not matcher.fill_next_token_bitmask(self.mask):
            self.mask[:] = -1

    def allows(self, token):
        return int(self.mask[0, token // 32]) >> token % 32 & 1

    def accept(self, matcher, token):
        return matcher.accept_token(token)

    def complete(self, matcher):
        return matcher.is_completed()


def serve(engine):
    clock = time.perf_counter
    for line in sys.stdin:
        job = json.loads(line)
        try:
            begin = time.process_time()
            compiled = engine.compile(job["schema"])
            answer = {"compile_us": (time.process_time() - begin) * 1e6, "ok": [], "mask_us": []}
            for ids in job["texts"]:
                matcher, fits = engine.start(compiled), True
                for token in ids:
                    begin = clock()
                    engine.fill(matcher)
                    answer["mask_us"].append((clock() - begin) * 1e6)
                    fits = bool(engine.allows(token)) and bool(engine.accept(matcher, token))
                    if not fits:
                        break
                answer["ok"].append(fits and bool(engine.complete(matcher)))
        except Exception as error:
            answer = {"error": str(error)[:200]}
        print(json.dumps(answer), flush=True)


def work(engine_name, tokenizer_json):
    """A peer as a program that answers as grammar_masks does.

    The vocabulary is read once; a forked worker, which says its id first, takes the schemas, so that another
    stands ready at once where one had to be killed."""
    texts, end = token_texts(tokenizer_json)
    engine = {"llguidance": Llguidance, "xgrammar": Xgrammar}[engine_name](texts, end)
    while True:
        worker = os.fork()
        if worker == 0:
            print(json.dumps({"worker": os.getpid()}), flush=True)
            serve(engine)
            os._exit(0)
        if os.waitpid(worker, 0)[1] == 0:
            return


class Engine:
    def __init__(self, name, command):
        self.name, self.command, self.process = name, command, None
        self.times, self.wrong = {}, []  # of compiling, and of each mask, by schema
        self.n = dict.fromkeys(("schemas", "compiled", "right", "wrong accepts", "wrong rejects",
                                "of these taken in the schema's order", "no answer"), 0)

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.worker = self.process.pid if self.name == "lattice" else self.read(600).get("worker")

    def read(self, timeout):
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            return {"error": "no answer"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "no answer"}

    def ask(self, job, timeout):
        if self.process is None:
            self.start()
        self.process.stdin.write(job)
        self.process.stdin.flush()
        answer = self.read(timeout)
        if answer.get("error") == "no answer":
            os.kill(self.worker, signal.SIGKILL)
            answer = self.read(600)
        if "worker" in answer:  # the one that had the schema is no more; this is the next
            self.worker, answer = answer["worker"], {"error": "no answer"}
        elif answer.get("error") == "no answer":
            self.process.wait()
            self.process = None
        return answer

    def take(self, name, schema, texts, in_order, valid, timeout):
        answer = self.ask(json.dumps({"schema": schema, "texts": texts}) + "\n", timeout)
        self.n["schemas"] += 1
        self.n["no answer"] += answer.get("error") == "no answer"
        if "error" in answer:
            return
        self.n["compiled"] += 1
        accepts = sum(o and not v for o, v in zip(answer["ok"], valid))
        rejects = sum(v and not o for o, v in zip(answer["ok"], valid))
        self.n["wrong accepts"] += accepts
        self.n["wrong rejects"] += rejects
        for text, okay, must in zip(in_order, answer["ok"], valid):
            if must and not okay:
                again = self.ask(json.dumps({"schema": schema, "texts": [text]}) + "\n", timeout)
                self.n["of these taken in the schema's order"] += again.get("ok") == [True]
        self.n["right"] += accepts + rejects == 0
        if accepts:
            self.wrong.append("accepts " + name)
        if rejects:
            self.wrong.append("rejects " + name)
        self.times[name] = answer["compile_us"], answer["mask_us"]

    def print_times(self, names):
        times = [self.times[name] for name in names]
        for what, values in (("compile", [compile_us for compile_us, _ in times]),
                             ("compile and first mask", [compile_us + sum(masks[:1]) for compile_us, masks in times]),
                             ("masks", [us for _, masks in times for us in masks[1:]])):
            if values:
                numbers = " ".join(f"{v:9.1f}" for v in percentiles(values))
                print(f"  {what:22} us: avg p50 p90 p99 p99.9 max {numbers}   ({len(values)})")


def percentiles(values):
    values = sorted(values)
    at = [values[min(len(values) - 1, int(len(values) * p))] for p in (0.5, 0.9, 0.99, 0.999)]
    return [sum(values) / len(values), *at, values[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("tokenizer_json")
    parser.add_argument("data_folder")
    parser.add_argument("--every", type=int, default=20, help="only every N-th schema")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long, in a random order")
    parser.add_argument("--only", default="lattice,llguidance,xgrammar")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one schema and its texts")
    parser.add_argument("--names", action="store_true", help="name the schemas of wrong judgements")
    arguments = parser.parse_args()
    texts, end = token_texts(arguments.tokenizer_json)
    tokens_of = LongestMatch(texts)
    with tempfile.NamedTemporaryFile() as vocabulary:
        for text in texts:
            vocabulary.write(struct.pack("<I", len(text)) + text)
        vocabulary.flush()
        engines = [Engine(name, [arguments.program, vocabulary.name] if name == "lattice" else
                          [sys.executable, __file__, "--work", name, arguments.tokenizer_json])
                   for name in arguments.only.split(",")]
        paths = sorted(pathlib.Path(arguments.data_folder).glob("*.json"))[::arguments.every]
        random.Random(1).shuffle(paths)
        for engine in engines:
            engine.start()
        begin = time.perf_counter()
        for path in paths:
            if time.perf_counter() - begin > arguments.seconds:
                break
            case = json.loads(path.read_text())
            schema, order = json.dumps(case["schema"]), key_order(case["schema"])
            try:
                ids = [tokens_of(compact(t["data"])) for t in case["tests"]]
                in_order = [tokens_of(compact(reordered(t["data"], order))) for t in case["tests"]]
            except UnicodeEncodeError:
                continue  # half of a surrogate pair
            valid = [t["valid"] for t in case["tests"]]
            for engine in engines:
                engine.take(path.name, schema, ids, in_order, valid, arguments.timeout)
        print(f"{len(texts)} tokens")
        for engine in engines:
            print(f"{engine.name}: " + ", ".join(f"{n} {what}" for what, n in engine.n.items()))
            engine.print_times(engine.times)
            if len(engines) > 1:
                print("  schemas that every engine compiled:")
                engine.print_times(set.intersection(*(set(e.times) for e in engines)))
            if arguments.names:
                print("  wrong:", *engine.wrong, sep="\n    ")
            if engine.process:
                engine.process.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3])
    else:
        main()
