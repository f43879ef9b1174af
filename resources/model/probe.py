"""What each attention head looks at, measured on the trained model.

previous   weight on the token just before, in held-out text
first      weight on the first token of the text
induction  weight on the token that followed the earlier occurrence of the
           current token, in blocks of random tokens said twice
"""
import random

import torch

import tales
from measure import HELD_OUT
from network import attention_weights

CLEAR = 0.3                                           # a role is named from this weight on
ROLES = ("previous", "induction", "first")


@torch.no_grad()
def all_weights(model, ids):
    """Attention probabilities of every layer, list of [H, T, T]."""
    cos, sin = (t[:len(ids)] for t in model.tables)
    x, out = model.embed(torch.tensor([ids])), []
    for block in model.blocks:
        q, k, v = block.project(x, cos, sin)
        w = attention_weights(q, block.spread(k))
        out.append(w[0])
        x = block.finish(x, w @ block.spread(v))
    return out


def text_scores(model, tok, texts, size, skip=16):
    """Weights 1, 2 and 3 tokens back and on the first token, [layers, heads, 4]."""
    total = 0
    for i in range(texts):
        lang = list(tales.WORLDS)[i % 2]
        ids = tok.encode(tales.document(f"{HELD_OUT}-probe-{i}", lang, size, "story").text)[:size]
        rows = []
        for w in all_weights(model, ids):
            back = [w.diagonal(-o, 1, 2)[:, skip:].mean(1) for o in (1, 2, 3)]
            rows.append(torch.stack(back + [w[:, skip:, 0].mean(1)], 1))
        total = total + torch.stack(rows)
    return total / texts


def induction_scores(model, vocabulary, repeats, block=64):
    """Weight on the token after the earlier occurrence, [layers, heads]."""
    r, total = random.Random(f"{HELD_OUT}-induction"), 0
    for _ in range(repeats):
        ids = [r.randrange(1, vocabulary) for _ in range(block)] * 2
        # Token t of the second block was seen at t - block; what followed it is at t - block + 1.
        total = total + torch.stack([w.diagonal(1 - block, 1, 2)[:, 1:].mean(1) for w in all_weights(model, ids)])
    return total / repeats


def probe(model, tok, texts=24, size=512, repeats=24):
    """One entry per head, as in heads.json."""
    text = text_scores(model, tok, texts, size)
    found = induction_scores(model, len(tok), repeats)
    out = []
    for layer in range(text.shape[0]):
        for head in range(text.shape[1]):
            scores = {"previous": text[layer, head, 0].item(), "first": text[layer, head, 3].item(),
                      "induction": found[layer, head].item()}
            role = max(ROLES, key=scores.get)
            entry = {"layer": layer, "head": head, "role": role if scores[role] >= CLEAR else "none"}
            entry.update({k: round(v, 3) for k, v in scores.items()})
            entry["two_back"], entry["three_back"] = (round(text[layer, head, i].item(), 3) for i in (1, 2))
            out.append(entry)
    return out


if __name__ == "__main__":
    import os
    import sys
    import network
    from bpe import Tokenizer
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled", "tokenizer.json")
    for line in probe(network.load(folder), Tokenizer(here), 8, 300, 8):
        print(line)
