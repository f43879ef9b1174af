#!/usr/bin/env python3
"""Decodescope beside llama.cpp on the same file, by turns in one run. Needs `pip install llama-cpp-python`.

    ninja -C build/release serve_benchmark
    python3 tests/benchmarks/llama_compare.py --server build/release/benchmarks/serve_benchmark
    python3 tests/benchmarks/llama_compare.py --server ... --model FILE.gguf [--weights TYPE] [--tokens N] [-p TEXT ...]

Without --model: a file with the shape of GPT-2 small and random weights for each of --types; one token after 0, 256,
1024 and 2048 others, and passes over 256, 1024 and 2048 tokens. With --model: greedy decoding of a real file, the
time per token and the tokens of both. Medians; llama.cpp with and without flash attention, the faster of the two at
each length. README.md beside this file says how it is measured.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import llama_cpp
import numpy as np

import gpt2_gguf

WEIGHTS = {"f32": "f32", "f16": "f16", "q8_0": "int8"}  # --weights of Decodescope for a type of the file
# Goals as a share of llama.cpp's time: (what a sketch with random weights reached, at most, aim) at each length.
DECODE_GOALS = {
    "f16": {0: (.65, .75, .60), 256: (.56, .65, .50), 1024: (.53, .60, .45), 2048: (.56, .60, .45)},
    "q8_0": {0: (.51, .60, .45), 256: (.46, .55, .42), 1024: (.41, .50, .38), 2048: (.43, .50, .38)},
    "f32": {0: (.77, .85, .72), 256: (.72, .80, .70), 1024: (.70, .80, .68), 2048: (.71, .80, .68)},
}
FORWARD_GOALS = {
    "f16": {256: (.96, 1.0, .80), 1024: (.83, .90, .70), 2048: (.73, .80, .60)},
    "f32": {256: (.66, .80, .60), 1024: (.65, .75, .58), 2048: (.55, .70, .50)},
}
SETTLE_SECONDS = 0.03  # threads that wait for more work of the engine before spin for that long


class Decodescope:
    """A child process that measures when it is asked to."""

    def __init__(self, server, model, weights, threads):
        self.process = subprocess.Popen([server, model, weights, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.about = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("serve_benchmark ended; its message is above.")
        return json.loads(line)

    def ask(self, *words):
        time.sleep(SETTLE_SECONDS)
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.read()

    def decode(self, length, count):
        return self.ask("decode", length, count)["micros"]

    def forward(self, length, count):
        return self.ask("forward", length, count)["micros"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Llama:
    """One context of llama.cpp through its own functions: no sampling, no text."""

    def __init__(self, model, context, threads, flash):
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = context
        params.n_batch = context
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = 1 if flash else 0
        params.offload_kqv = False
        self.context = llama_cpp.llama_init_from_model(model, params)
        if not self.context:
            sys.exit("llama.cpp could not make a context.")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        self.length = 0

    def feed(self, tokens):
        """One pass; the logits of its last token, as floats of the library."""
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        if llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(array, len(tokens))) != 0:
            sys.exit("llama_decode failed.")
        self.length += len(tokens)
        return llama_cpp.llama_get_logits_ith(self.context, -1)

    def cut(self, length):
        llama_cpp.llama_memory_seq_rm(self.memory, -1, length, -1)
        self.length = length

    def timed(self, tokens):
        start = time.perf_counter()
        self.feed(tokens)
        return (time.perf_counter() - start) * 1e6

    def decode(self, length, count):
        time.sleep(SETTLE_SECONDS)
        if self.length > length:
            self.cut(length)
        if self.length < length:
            self.feed(some_tokens(self.length, length))
        micros = []
        for _ in range(count):
            micros.append(self.timed([5]))
            self.cut(length)
        return micros

    def forward(self, length, count):
        time.sleep(SETTLE_SECONDS)
        micros = []
        for _ in range(count):
            self.cut(0)
            micros.append(self.timed(some_tokens(0, length)))
        return micros

    def generate(self, count, prompt):
        """Greedy tokens, and the time of each but the first."""
        self.cut(0)
        logits = self.feed(prompt)
        tokens, micros = [], []
        while True:
            tokens.append(int(np.ctypeslib.as_array(logits, shape=(self.vocabulary,)).argmax()))
            if len(tokens) == count:
                return {"tokens": tokens, "micros": micros}
            start = time.perf_counter()
            logits = self.feed(tokens[-1:])
            micros.append((time.perf_counter() - start) * 1e6)


def some_tokens(first, last):
    return [(i * 7919 + 13) % 50257 for i in range(first, last)]


def open_llama(path, context, threads):
    """The model, and a context without and one with flash attention."""
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    if not model:
        sys.exit(f"llama.cpp could not open {path}.")
    return model, {"llama": Llama(model, context, threads, False), "llama_flash": Llama(model, context, threads, True)}


def by_turns(engines, method, length, rounds, count, dropped):
    """Median micros of each engine. Each round asks every one for `count` samples and drops the first of them."""
    samples = {name: [] for name in engines}
    names = list(engines)
    for round_ in range(rounds):
        for name in names if round_ % 2 == 0 else reversed(names):
            samples[name] += getattr(engines[name], method)(length, count)[dropped:]
    return {name: statistics.median(values) for name, values in samples.items()}


def row_of(kind, what, length, medians, goals):
    best = min(("llama", "llama_flash"), key=lambda name: medians[name])
    sketch, most, aim = goals.get(length, (None, None, None))
    share = medians["decodescope"] / medians[best]
    return {"type": kind, "what": what, "length": length, "decodescope_ms": round(medians["decodescope"] / 1e3, 3),
            "llama_ms": round(medians["llama"] / 1e3, 3), "llama_flash_ms": round(medians["llama_flash"] / 1e3, 3),
            "share": round(share, 3), "sketch": sketch, "at_most": most, "aim": aim,
            "met": None if most is None else share <= most}


def print_row(row):
    goals = "" if row["at_most"] is None else (
        f"{row['sketch']:.2f} / {row['at_most']:.2f} / {row['aim']:.2f}  "
        f"{'reaches the aim' if row['share'] <= row['aim'] else 'met' if row['met'] else 'MISSED'}")
    print(f"{row['type']:5} {row['what']:8} {row['length']:5}  {row['decodescope_ms']:10.3f} {row['llama_ms']:10.3f} "
          f"{row['llama_flash_ms']:10.3f}  {row['share']:5.2f}  {goals}", flush=True)


def compare_shapes(options, folder):
    rows, about = [], {}
    print("type  what     length Decodescope  llama.cpp      flash  share  sketch / at most / aim (ms; medians)")
    for kind in options.types:
        path = os.path.join(folder, f"gpt2-shape-{kind}.gguf")
        if not os.path.exists(path):
            gpt2_gguf.write_gpt2(path, kind)
        ours = Decodescope(options.server, path, WEIGHTS[kind], options.threads)
        about = ours.about
        model, llamas = open_llama(path, gpt2_gguf.CONTEXT, options.threads)
        engines = {"decodescope": ours, **llamas}
        for length in options.lengths if "decode" in options.what else []:
            for engine in engines.values():
                engine.decode(length, 1)  # fills the caches
            medians = by_turns(engines, "decode", length, options.rounds, 5, 1)
            rows.append(row_of(kind, "decode", length, medians, DECODE_GOALS[kind]))
            print_row(rows[-1])
        for length in [n for n in options.lengths if n > 0] if "forward" in options.what else []:
            medians = by_turns(engines, "forward", length, options.forward_rounds, 1, 0)
            rows.append(row_of(kind, "forward", length, medians, FORWARD_GOALS.get(kind, {})))
            print_row(rows[-1])
        for llama in llamas.values():
            llama_cpp.llama_free(llama.context)
        llama_cpp.llama_model_free(model)
        ours.close()
    return {"about": about, "rows": rows}


def compare_model(options):
    """Greedy tokens of both engines for each prompt, and the time per token, prompt by prompt in turn."""
    ours = Decodescope(options.server, options.model, options.weights, options.threads)
    _, llamas = open_llama(options.model, options.context, options.threads)
    micros, texts = {name: [] for name in ("decodescope", *llamas)}, []
    for number in range(options.rounds):
        for prompt in options.prompt:
            ids = ours.ask("encode", prompt)["tokens"]
            answers = {"decodescope": ours.ask("generate", options.tokens, ",".join(map(str, ids)))}
            for name, llama in llamas.items():
                time.sleep(SETTLE_SECONDS)
                answers[name] = llama.generate(options.tokens, ids)
            for name, answer in answers.items():
                micros[name] += answer["micros"][1:]
            if number == 0:
                texts.append({"prompt": prompt, "prompt_tokens": ids,
                              **{name: answer["tokens"] for name, answer in answers.items()}})
    row = row_of(options.weights, "decode", options.tokens, {n: statistics.median(v) for n, v in micros.items()}, {})
    print("type  what     tokens Decodescope  llama.cpp      flash  share  (ms per token; medians)")
    print_row(row)
    for text in texts:
        pairs = zip(text["decodescope"], text["llama"])
        equal = next((i for i, (a, b) in enumerate(pairs) if a != b), options.tokens)
        print(f"{equal} of {options.tokens} greedy tokens are llama.cpp's: {text['prompt']!r}")
    ours.close()
    return {"about": ours.about, "rows": [row], "prompts": texts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="the program serve_benchmark")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--types", nargs="+", choices=list(WEIGHTS), default=["f16", "q8_0", "f32"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[0, 256, 1024, 2048])
    parser.add_argument("--what", nargs="+", choices=["decode", "forward"], default=["decode", "forward"])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--forward-rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the files are written and kept; without it they are deleted at the end")
    parser.add_argument("--json", help="a file for the result")
    parser.add_argument("--model", help="a GGUF file")
    parser.add_argument("--weights", default="as-in-file", help="of Decodescope, with --model")
    parser.add_argument("--tokens", type=int, default=64, help="with --model")
    parser.add_argument("--context", type=int, default=2048, help="with --model")
    parser.add_argument("-p", "--prompt", action="append", help="with --model; may be repeated")
    options = parser.parse_args()
    options.prompt = options.prompt or ["Why is the sky blue?"]
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    if options.model:
        result = compare_model(options)
    elif options.folder:
        os.makedirs(options.folder, exist_ok=True)
        result = compare_shapes(options, options.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = compare_shapes(options, folder)
    result["llama_cpp_python"] = llama_cpp.__version__
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
