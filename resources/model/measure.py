"""Measurements on held-out seeds: recall by distance, copying, repetition, samples."""

import torch
import torch.nn.functional as F

import tales
from bpe import END_ID
from network import attention_weights

HELD_OUT = "held-out"                                 # training seeds start with "train-"
DISTANCES = (50, 100, 200, 400)
RECALL_KINDS = ("in", "home", "food", "pet", "job", "name")


class Decoder:
    """Greedy or sampled decoding with a KV cache."""

    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def run_many(self, rows, count, temperature=0.0, seed=0, stop=False):
        """`count` tokens after each of the rows, which have one length; with stop, until the first row ends."""
        m, g = self.model, torch.Generator().manual_seed(seed)
        cache, out, feed, at = [None] * len(m.blocks), [[] for _ in rows], torch.tensor(rows), 0
        for _ in range(count):
            cos, sin = (t[at:at + feed.shape[1]] for t in m.tables)
            x = m.embed(feed)                                                # [B, T, C]
            for i, block in enumerate(m.blocks):
                q, k, v = block.project(x, cos, sin)                         # [B, H or Hkv, T, D]
                if cache[i] is not None:
                    k, v = (torch.cat(pair, 2) for pair in zip(cache[i], (k, v)))
                cache[i] = (k, v)
                x = block.finish(x, attention_weights(q, block.spread(k)) @ block.spread(v))
            at += feed.shape[1]
            logits = F.linear(m.norm(x[:, -1]), m.embed.weight)              # [B, V]
            if temperature == 0:
                feed = logits.argmax(-1, keepdim=True)
            else:
                feed = torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=g)
            tokens = feed[:, 0].tolist()
            if stop and END_ID in tokens:
                break
            for row, token in zip(out, tokens):
                row.append(token)
        return out

    def run(self, ids, count, temperature=0.0, seed=0, stop=False):
        """The same for one row."""
        return self.run_many([list(ids)], count, temperature, seed, stop)[0]


# ---- cases ---------------------------------------------------------------------
def filler(teller, tok, size):
    """Scenes of about `size` tokens, cut after a sentence."""
    start = len(teller.parts)
    while len(tok.encode("".join(teller.parts[start:]))) < size + 25:
        if teller.r.random() < 0.15:
            teller.newline()
            teller.say(teller.draw("morning", teller.w.MORNING).format(day=teller.r.choice(teller.w.DAYS), **teller.slots()))
        teller.scene(teller.r.choice(teller.w.TIMES))
    while len(tok.encode("".join(teller.parts[start:]))) > size:
        teller.length -= len(teller.parts.pop())


def recall_case(tok, lang, distance, number):
    """A story with three to five facts; one is asked for `distance` tokens later."""
    t = tales.Teller(f"{HELD_OUT}-recall-{distance}-{number}", lang)
    t.title("quiz" if number % 2 else "story")
    if number % 2 == 0:
        t.intro()
    kind = RECALL_KINDS[number % len(RECALL_KINDS)]
    for _ in range(t.r.choice([0, 1, 2])):
        t.new_fact("in" if kind == "in" else None)
    while not any(k[0] == kind for k in t.facts):
        t.new_fact(kind)
    key = [k for k in t.facts if k[0] == kind][-1]
    for _ in range(2):
        t.new_fact(t.r.choice([kind, None]) if kind != "name" else None)
    fixed = len(tok.encode("".join(t.parts)[t.facts[key][1]:])) + 16          # later facts and the question
    filler(t, tok, max(0, distance - fixed))
    t.ask(key)
    return cut_case(tok, "".join(t.parts), t.probes[-1])


def copy_case(tok, lang, distance, number):
    """A list or a strange name said again `distance` tokens later."""
    t = tales.Teller(f"{HELD_OUT}-copy-{distance}-{number}", lang)
    t.title("copy")
    if number % 2:
        t.new_fact("name")
    else:
        t.open_list()
    filler(t, tok, distance - 8)
    t.newline()
    if number % 2:
        t.ask(("name", ""))
    else:
        t.close_list()
    return cut_case(tok, "".join(t.parts), t.probes[-1])


def cut_case(tok, text, probe):
    """Ids up to the answer and one token more, the answer's token range, and the real distance."""
    ids, spans = tok.encode_spans(text, [probe[:2], (probe[2] - 1, probe[2])])
    (first, end), (_, fact) = spans
    return {"ids": ids[:end + 1], "first": first, "end": min(end + 1, len(ids)), "distance": first - fact, "kind": probe[3],
            "prompt": text[:probe[0]], "answer": text[probe[0]:probe[1]]}


@torch.no_grad()
def right(model, cases, rows=10):
    """Per case: is every token of the answer, and the mark after it, the arg max?"""
    out = []
    for at in range(0, len(cases), rows):
        part = cases[at:at + rows]
        longest = max(len(c["ids"]) for c in part)
        ids = torch.tensor([c["ids"] + [END_ID] * (longest - len(c["ids"])) for c in part])
        best = model(ids).argmax(-1).tolist()
        for row, c in zip(best, part):
            out.append(row[c["first"] - 1:c["end"] - 1] == c["ids"][c["first"]:c["end"]])
    return out


def recall_table(model, tok, count, distances=DISTANCES):
    """{(lang, distance): (share right, mean real distance, {kind: (right, all)})}"""
    table = {}
    for lang in tales.WORLDS:
        for d in distances:
            cases = [recall_case(tok, lang, d, i) for i in range(count)]
            hits = right(model, cases)
            kinds = {}
            for c, hit in zip(cases, hits):
                r, n = kinds.get(c["kind"], (0, 0))
                kinds[c["kind"]] = (r + hit, n + 1)
            table[lang, d] = (sum(hits) / count, sum(c["distance"] for c in cases) / count, kinds)
    return table


def copy_table(model, tok, count, distances=(100,)):
    """{(lang, distance): (share exact, mean real distance)}"""
    table = {}
    for lang in tales.WORLDS:
        for d in distances:
            cases = [copy_case(tok, lang, d, i) for i in range(count)]
            table[lang, d] = (sum(right(model, cases)) / count, sum(c["distance"] for c in cases) / count)
    return table


@torch.no_grad()
def held_out_loss(model, tok, count, size=900):
    """Mean loss per token of held-out stories, by language."""
    out = {}
    for lang in tales.WORLDS:
        total = n = 0
        for i in range(count):
            ids = tok.encode(tales.document(f"{HELD_OUT}-loss-{i}", lang, size, "story").text)[:2048]
            loss = F.cross_entropy(model(torch.tensor([ids[:-1]]))[0], torch.tensor(ids[1:]))
            total, n = total + loss.item() * (len(ids) - 1), n + len(ids) - 1
        out[lang] = total / n
    return out


# ---- repetition and samples -------------------------------------------------------
def most_repeated(ids, n=24):
    """How often the most frequent run of n tokens occurs (overlapping occurrences count)."""
    runs = {}
    for i in range(len(ids) - n + 1):
        run = tuple(ids[i:i + n])
        runs[run] = runs.get(run, 0) + 1
    return max(runs.values(), default=0)


def opening(lang, number):
    """Title and first sentences of a held-out story."""
    t = tales.Teller(f"{HELD_OUT}-opening-{number}", lang)
    t.title("story")
    t.intro()
    t.new_fact()
    t.newline()
    t.say(t.draw("morning", t.w.MORNING).format(day=t.w.DAYS[0], **t.slots()))
    return "".join(t.parts)


def sample(model, tok, lang, number, count, temperature):
    """(opening, ids of the continuation)"""
    text = opening(lang, number)
    return text, Decoder(model).run(tok.encode(text), count, temperature, seed=number)


def long_texts(model, tok, seeds, count, temperature):
    """{(lang, number): ids} of `count` tokens after the first tokens of held-out openings."""
    keys = [(lang, n) for lang in tales.WORLDS for n in range(seeds)]
    prompts = [tok.encode(opening(lang, n)) for lang, n in keys]
    shortest = min(len(p) for p in prompts)
    rows = Decoder(model).run_many([p[:shortest] for p in prompts], count, temperature, seed=1)
    return dict(zip(keys, rows))


if __name__ == "__main__":
    import argparse
    import os
    import network
    from bpe import Tokenizer
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--model", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled"))
    a.add_argument("--tokenizer", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled", "tokenizer.json"))
    a.add_argument("--cases", type=int, default=40)
    a.add_argument("--samples", type=int, default=1)
    a.add_argument("--threads", type=int, default=1)
    a = a.parse_args()
    torch.set_num_threads(a.threads)
    network_, tok_ = network.load(a.model), Tokenizer(a.tokenizer)
    print("loss", held_out_loss(network_, tok_, 6))
    for (lang_, d_), (share, mean, by_kind) in recall_table(network_, tok_, a.cases).items():
        print("recall", lang_, d_, f"{share:.3f} at {mean:.0f}", by_kind, flush=True)
    print("copy", copy_table(network_, tok_, a.cases, (100, 300)), flush=True)
    for lang_ in tales.WORLDS:
        for n_ in range(a.samples):
            for heat in (0.0, 0.8):
                text_, ids_ = sample(network_, tok_, lang_, n_, 400, heat)
                print(f"--- {lang_} {heat}, most repeated {most_repeated(ids_)}\n{text_}|{tok_.decode(ids_)}")
