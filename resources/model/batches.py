"""Training windows: documents written on the fly, and drills of repeated random tokens."""
import random

import torch

import tales
from bpe import END_ID

PLAIN, RECALL, COPY, DRILL, NOISE = range(5)
KINDS = ("plain", "recall", "copy", "drill", "noise")
COPIED = ("list", "name")


def document_tokens(tok, doc):
    """Ids of a document with its end token, and the kind of every id."""
    ids, spans = tok.encode_spans(doc.text, [p[:2] for p in doc.probes])
    kinds = [PLAIN] * len(ids)
    for (first, end), probe in zip(spans, doc.probes):
        kinds[first:end] = [COPY if probe[3] in COPIED else RECALL] * (end - first)
    return ids + [END_ID], kinds + [PLAIN]


def text_window(tok, r, length, copy_share):
    """Documents one after the other. The first starts at the window, so no fact is cut off."""
    ids, kinds = [], []
    while len(ids) <= length:
        room = length - len(ids)
        size = max(60, room * r.choice([0.35, 0.6, 0.85, 0.85]))
        style = "copy" if r.random() < copy_share else r.choice(["story", "story", "quiz"])
        doc = tales.document(f"train-{r.getrandbits(60)}", r.choice(["en", "zh"]), size, style)
        new_ids, new_kinds = document_tokens(tok, doc)
        ids += new_ids
        kinds += new_kinds
    return ids[:length + 1], kinds[:length + 1]


def drill_window(size, r, length):
    """Blocks of random tokens, each said again after a gap; only the copies can be learnt."""
    ids, kinds = [], []
    while len(ids) <= length:
        n = r.randint(4, max(5, min(60, length // 4)))
        block = [r.randrange(1, size) for _ in range(n)]
        gap = [r.randrange(1, size) for _ in range(r.choice([0, 0, n // 2, length // 4]))]
        ids += block + gap + block
        # The first two tokens of the copy only tell that a copy begins.
        kinds += [NOISE] * (n + len(gap) + 2) + [DRILL] * (n - 2)
    return ids[:length + 1], kinds[:length + 1]


def batch(tok, seed, step, tokens, stage):
    """Inputs, targets and target kinds, all [rows, window]; a function of seed and step."""
    r = random.Random(f"{seed}-{step}")
    length = stage["window"]
    rows = []
    for _ in range(max(1, tokens // length)):
        if r.random() < stage["drill"]:
            rows.append(drill_window(len(tok), r, length))
        else:
            rows.append(text_window(tok, r, length, stage["copy"]))
    ids = torch.tensor([x for x, _ in rows])
    kinds = torch.tensor([k for _, k in rows])
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), kinds[:, 1:].contiguous()
