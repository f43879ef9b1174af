"""Compares the bundled files with Hugging Face tokenizers and transformers.

Same ids on held-out documents and odd Unicode; same logits in single precision, to 1e-5
of the largest (rounding differs with the order of sums).
"""
import argparse
import os
import random

import torch
from tokenizers import Tokenizer as ReferenceTokenizer
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import network
import tales
from bpe import END, END_ID, Tokenizer

ODD = ["", " ", "  a", "a  b", "\n\n \n", "\t tab", "Don't we'll I'm", "12 345 ٣٤ ½ Ⅷ ²", "中文English混合 中 文", "々〇〡⺀㐀𠀀",
       "e\u0301 é \u200b\u200d", "👩‍👩‍👧 🀄", "\u3000全角\u3000空格", "a\u00a0b\u2028c\u0085d", "한국어 日本語カナ", "\x00\x01\x7f\x1c\x1f",
       "ß ẞ ǅ ʰ ـ", "a_b __ --- ...", f"one{END}two {END}\n{END}", "   trailing   ", "naïve — “quoted”…", "\ufeffBOM", "\U0010ffff \ue000"]


def random_text(r):
    """A text of code points from everywhere, with spaces, Han and Latin more often."""
    pick = [lambda: chr(r.randrange(0x20, 0x7F)), lambda: chr(r.randrange(0x4E00, 0xA000)), lambda: r.choice(" \n\t\u3000\u00a0"),
            lambda: chr(r.choice([r.randrange(0, 0xD800), r.randrange(0xE000, 0x110000)]))]
    return "".join(r.choice(pick)() for _ in range(r.randrange(1, 60)))


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--model", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled"))
    a = a.parse_args()
    path = os.path.join(a.model, "tokenizer.json")
    own, low = Tokenizer(path), ReferenceTokenizer.from_file(path)
    fast = PreTrainedTokenizerFast.from_pretrained(a.model)
    r = random.Random(5)
    texts = [tales.document(f"held-out-ids-{i}", ("en", "zh")[i % 2]).text for i in range(200)]
    different = []
    for text in texts + ODD + [random_text(r) for _ in range(2000)]:
        ids = own.encode(text)
        if not ids == low.encode(text, add_special_tokens=False).ids == fast(text)["input_ids"]:
            different.append(text)
        assert END in text or own.decode(ids) == text == low.decode(ids, skip_special_tokens=False), repr(text)
    print(len(texts) + len(ODD) + 2000, "texts,", len(different), "with other ids", [repr(x) for x in different[:5]])
    reference = LlamaForCausalLM.from_pretrained(a.model).float().eval()
    mine, worst, largest = network.load(a.model), 0.0, 0.0
    with torch.no_grad():
        for text in texts[:6]:
            ids = torch.tensor([own.encode(text)[:1500]])
            logits = reference(ids).logits
            worst, largest = max(worst, (logits - mine(ids)).abs().max().item()), max(largest, logits.abs().max().item())
        out = reference.generate(torch.tensor([own.encode(texts[0])[:40]]), max_new_tokens=30, do_sample=False, pad_token_id=END_ID)
    print("largest difference of logits", worst, "largest logit", largest)
    print("transformers goes on:", repr(fast.decode(out[0][40:])))
    if different or worst > 1e-5 * largest:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
