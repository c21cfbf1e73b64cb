"""Compares masks of JSON Schemas with llguidance and xgrammar, one thread each, in one run.

Usage: grammar_vs_peers.py PROGRAM TOKENIZER_JSON DATA_FOLDER [--every N] [--only ENGINE,...] [--timeout S]

PROGRAM is the grammar_masks of a release build; DATA_FOLDER is maskbench/data of the repository
guidance-ai/jsonschemabench: schemas with instances that are valid or not. Every engine gets the same
vocabulary, the same schemas and the same texts (compact JSON) as the same tokens (longest match), and
makes a mask before each token. Prints, for each engine: schemas compiled, those all of whose instances are
judged right, instances wrongly accepted and rejected, and the times of compiling (processor time, with the
first mask) and of the masks.
"""
import argparse
import json
import pathlib
import select
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


def work(engine_name, tokenizer_json):
    """A peer as a program that answers as grammar_masks does."""
    texts, end = token_texts(tokenizer_json)
    engine = {"llguidance": Llguidance, "xgrammar": Xgrammar}[engine_name](texts, end)
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


class Engine:
    def __init__(self, name, command):
        self.name, self.command, self.process = name, command, None
        self.compile, self.masks = [], []
        self.n = dict.fromkeys(("schemas", "compiled", "right", "wrong accepts", "wrong rejects", "too slow"), 0)
        self.accepted_wrongly = []

    def ask(self, job, timeout):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
            timeout += 600  # reads the vocabulary first
        try:
            self.process.stdin.write(job)
            self.process.stdin.flush()
            if select.select([self.process.stdout], [], [], timeout)[0]:
                if line := self.process.stdout.readline():
                    return json.loads(line)
        except BrokenPipeError:
            pass
        self.process.kill()
        self.process.wait()
        self.process = None
        return {"error": "no answer"}

    def take(self, name, job, valid, timeout):
        answer = self.ask(job, timeout)
        self.n["schemas"] += 1
        self.n["too slow"] += answer.get("error") == "no answer"
        if "error" in answer:
            return
        self.n["compiled"] += 1
        accepts = sum(o and not v for o, v in zip(answer["ok"], valid))
        rejects = sum(v and not o for o, v in zip(answer["ok"], valid))
        self.n["wrong accepts"] += accepts
        self.n["wrong rejects"] += rejects
        self.n["right"] += accepts + rejects == 0
        if accepts:
            self.accepted_wrongly.append(name)
        first = answer["mask_us"][0] if answer["mask_us"] else 0
        self.compile.append(answer["compile_us"] + first)
        self.masks += answer["mask_us"][1:]


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
    parser.add_argument("--only", default="lattice,llguidance,xgrammar")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one schema and its texts")
    parser.add_argument("--names", action="store_true", help="name the schemas with wrong accepts of ours")
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
        for path in sorted(pathlib.Path(arguments.data_folder).glob("*.json"))[::arguments.every]:
            case = json.loads(path.read_text())
            instances = [json.dumps(t["data"], ensure_ascii=False, separators=(",", ":")) for t in case["tests"]]
            try:
                ids = [tokens_of(text) for text in instances]
            except UnicodeEncodeError:
                continue  # half of a surrogate pair
            job = json.dumps({"schema": json.dumps(case["schema"]), "texts": ids}) + "\n"
            valid = [t["valid"] for t in case["tests"]]
            for engine in engines:
                engine.take(path.name, job, valid, arguments.timeout)
        print(f"{len(texts)} tokens")
        for engine in engines:
            print(f"{engine.name}: " + ", ".join(f"{n} {what}" for what, n in engine.n.items()))
            for what, values in ("compile and first mask", engine.compile), ("masks", engine.masks):
                if values:
                    numbers = " ".join(f"{v:9.1f}" for v in percentiles(values))
                    print(f"  {what:22} us: avg p50 p90 p99 p99.9 max {numbers}   ({len(values)})")
            if arguments.names and engine.name == "lattice":
                print("  wrong accepts:", *engine.accepted_wrongly)
            if engine.process:
                engine.process.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3])
    else:
        main()
