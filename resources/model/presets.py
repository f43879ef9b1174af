"""Checks the prompt presets against the trained model and writes bundled/presets.json.

    python3 presets.py [--model DIR]

A preset is written only if the greedy continuation begins with what is expected
and does not fall into a loop; of several wordings the first that passes is taken.
"""
import argparse
import json
import os
import re

import measure
import network
import tales
from bpe import Tokenizer
from preset_texts import PRESETS

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL_WINDOW = 2048


def loops(ids, run=20, times=3):
    """Does a run of this many tokens come this often?"""
    return measure.most_repeated(ids, run) >= times


def names_collide(text):
    """Is one person there twice in one sentence, as in "Ben gave it to Ben"?"""
    for sentence in re.split(r"[.?!\n\"。？！“”]", text):
        if any(sentence.count(n) > 1 for w in tales.WORLDS.values() for n in w.NAMES):
            return True
    return False


def check(model, tok, text, expect, count):
    """Greedy continuation as text, and why it fails, if it does."""
    prompt = tok.encode(text)
    ids = measure.Decoder(model).run(prompt, min(count, MODEL_WINDOW - len(prompt)), stop=True)
    told = tok.decode(ids)
    if not told.startswith(expect):
        return told, f"begins with {told[:40]!r}"
    if loops(ids):
        return told, "loops"
    if names_collide(told):
        return told, "one name twice in a sentence"
    if len(ids) < count:
        return told, f"ends after {len(ids)} tokens"
    return told, None


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--model", default=os.path.join(HERE, "bundled"))
    a.add_argument("--out", default=os.path.join(HERE, "bundled", "presets.json"))
    a.add_argument("--show", action="store_true", help="print the continuations")
    a = a.parse_args()
    model, tok = network.load(a.model), Tokenizer(os.path.join(HERE, "bundled", "tokenizer.json"))
    chosen, failed = [], []
    for p in PRESETS:
        for text in p["texts"]:
            told, why = check(model, tok, text, p["expect"], p["count"])
            print("ok  " if why is None else "FAIL", p["id"], len(tok.encode(text)), "tokens;", why or told[:50].replace("\n", "\\n"), flush=True)
            if a.show:
                print(told, "\n")
            if why is None:
                chosen.append({k: p[k] for k in ("id", "lang", "title")} | {"text": text, "what": p["what"]})
                break
        else:
            failed.append(p["id"])
    if failed:
        raise SystemExit("no wording passes: " + ", ".join(failed))
    network.write_file(a.out, json.dumps(chosen, ensure_ascii=False, indent=2) + "\n")
    print(len(chosen), "presets written")


if __name__ == "__main__":
    main()
