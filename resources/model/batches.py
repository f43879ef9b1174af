"""Training windows: documents written on the fly, and drills of repeated random tokens."""
import random

import torch

import tales
from bpe import END_ID

PLAIN, RECALL, COPY, DRILL, NOISE, AGAIN = range(6)
KINDS = ("plain", "recall", "copy", "drill", "noise", "again")
COPIED = ("list", "name")


def document_tokens(tok, doc):
    """Ids of a document with its end token, and the kind of every id."""
    ids, spans = tok.encode_spans(doc.text, [p[:2] for p in doc.probes])
    kinds = [PLAIN] * len(ids)
    for (first, end), probe in zip(spans, doc.probes):
        kinds[first:end] = [COPY if probe[3] in COPIED else AGAIN if probe[3] == "again" else RECALL] * (end - first)
    return ids + [END_ID], kinds + [PLAIN]


def text_window(tok, r, length, copy_share, facts_share):
    """Documents one after the other. The first starts at the window, so no fact is cut off."""
    ids, kinds = [], []
    while len(ids) <= length:
        room = length - len(ids)
        size = max(60, room * r.choice([0.35, 0.6, 0.85, 0.85]))
        style = "copy" if r.random() < copy_share else r.choice(["story", "story", "quiz"])
        if facts_share and style != "copy" and r.random() < facts_share:
            style = "facts_only"
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


def binding_window(size, r, length):
    """Random pairs that share what stands between: k x y v. Asked again, k alone tells v."""
    ids, kinds = [], []
    while len(ids) <= length:
        between = [r.randrange(1, size) for _ in range(r.randint(0, 3))]
        pairs = [([r.randrange(1, size)], [r.randrange(1, size) for _ in range(r.choice([1, 1, 2]))]) for _ in range(r.randint(3, 9))]
        for key, value in pairs:
            ids += key + between + value
            kinds += [NOISE] * (1 + len(between) + len(value))
        for key, value in r.sample(pairs, len(pairs)):
            ids += key + between + value
            kinds += [NOISE] * (1 + len(between)) + [DRILL] * len(value)
    return ids[:length + 1], kinds[:length + 1]


def batch(tok, seed, step, tokens, stage):
    """Inputs, targets and target kinds, all [rows, window]; a function of seed and step."""
    r = random.Random(f"{seed}-{step}")
    length = stage["window"]
    rows = []
    for _ in range(max(1, tokens // length)):
        if r.random() < stage["drill"]:
            binding = stage.get("binding", 0)
            make = binding_window if binding and r.random() < binding else drill_window
            rows.append(make(len(tok), r, length))
        else:
            rows.append(text_window(tok, r, length, stage["copy"], stage.get("facts", 0)))
    ids = torch.tensor([x for x, _ in rows])
    kinds = torch.tensor([k for _, k in rows])
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), kinds[:, 1:].contiguous()
