"""Recomputes the figures of the bundled model and writes the model card.

    python3 card.py [--cases 200]

Reads bundled/ and loss-log.tsv; writes MODEL_CARD.md, bundled/heads.json and
bundled/SHA256SUMS. The parts of the card that are prose are in card_text.py.
"""
import argparse
import hashlib
import json
import os
from datetime import date

import torch

import card_text
import measure
import network
import probe
import tales
from bpe import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLED = os.path.join(HERE, "bundled")
SUMMED = ("model.safetensors", "tokenizer.json", "config.json", "generation_config.json", "tokenizer_config.json",
          "heads.json", "presets.json")
LANGUAGE = {"en": "English", "zh": "Chinese"}


def percent(x):
    return f"{100 * x:.1f} %"


def table(head, rows):
    lines = ["| " + " | ".join(map(str, r)) + " |" for r in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def heads_section(entries, layers, heads):
    """Writes heads.json; the table and a summary by role."""
    roles = [{k: e[k] for k in ("layer", "head", "role", "previous", "first", "induction")} for e in entries]
    data = {"layers": layers, "heads": heads, "threshold": probe.CLEAR, "roles": roles}
    network.write_file(os.path.join(BUNDLED, "heads.json"), json.dumps(data, indent=1) + "\n")
    named = []
    for role, what in card_text.ROLE_TEXT.items():
        found = [f"layer {e['layer']} head {e['head']} ({percent(e[role])})" for e in entries if e["role"] == role]
        named.append(f"- {what}: " + (", ".join(found) or "none above the threshold") + ".")
    rows = [[e["layer"], e["head"], e["role"]] + [percent(e[k]) for k in ("previous", "two_back", "three_back", "first", "induction")]
            for e in entries]
    return "\n".join(named) + "\n\n" + table(
        ["layer", "head", "role", "previous", "two back", "three back", "first token", "induction"], rows)


def recall_section(model, tok, cases):
    by = measure.recall_table(model, tok, cases)
    rows, kinds = [], {}
    for (lang, d), (share, mean, per_kind) in by.items():
        rows.append([LANGUAGE[lang], d, f"{mean:.0f}", percent(share), "reached" if share >= 0.9 else "not reached"])
        for k, (r, n) in per_kind.items():
            old = kinds.get((lang, k), (0, 0))
            kinds[lang, k] = (old[0] + r, old[1] + n)
    by_kind = [[k] + [percent(kinds[lang, k][0] / kinds[lang, k][1]) for lang in tales.WORLDS] for k in measure.RECALL_KINDS]
    return table(["language", "distance aimed at", "mean distance", "right", "aim 90 %"], rows) + "\n" + \
        table(["fact", *(LANGUAGE[x] for x in tales.WORLDS)], by_kind)


def copy_section(model, tok, cases):
    by = measure.copy_table(model, tok, cases, (100, 400))
    return table(["language", "distance aimed at", "mean distance", "exact", "must: 95 % at 100"],
                 [[LANGUAGE[lang], d, f"{mean:.0f}", percent(share), ("reached" if share >= 0.95 else "MISSED") if d == 100 else "-"]
                  for (lang, d), (share, mean) in by.items()])


def repetition_section(model, tok, seeds, length):
    """At temperature 0.8 for every seed, and greedy."""
    rows = []
    hot_texts, cold_texts = (measure.long_texts(model, tok, seeds, length, t) for t in (0.8, 0.0))
    for lang in tales.WORLDS:
        for seed in range(seeds):
            hot, cold = (measure.most_repeated(t[lang, seed]) for t in (hot_texts, cold_texts))
            rows.append([LANGUAGE[lang], seed, hot, "reached" if hot < 3 else "MISSED", cold, "no loop" if cold < 3 else "loops"])
    return table(["language", "seed", "temperature 0.8", "must: below 3", "greedy", "aim"], rows)


def sample_section(model, tok, count, length):
    out = []
    for lang in tales.WORLDS:
        for i in range(count):
            opening, ids = measure.sample(model, tok, lang, 100 + i, length, 0.8)
            text = (opening + " ⟦" + tok.decode(ids) + "⟧").replace("\n", "\n> ")
            out.append(f"{LANGUAGE[lang]}, sample {i + 1}:\n\n> {text}\n")
    return "\n".join(out)


def loss_section(path, rows=32):
    with open(path, encoding="utf-8") as f:
        lines = [x.rstrip("\n").split("\t") for x in f][1:]
    step = max(1, len(lines) // rows)
    kept = lines[::step] + ([lines[-1]] if (len(lines) - 1) % step else [])
    pick = [[x[0], x[1], x[3], x[4], x[6], x[8], percent(float(x[9])), x[10], percent(float(x[11])),
             percent(float(x[13])) if float(x[12]) else "-", percent(float(x[16])) if len(x) > 16 else "-"] for x in kept]
    return lines[-1], table(["step", "tokens", "stage", "window", "plain loss", "recall loss", "recall right", "copy loss",
                             "copy right", "drill right", "again right"], pick)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--cases", type=int, default=200)
    a.add_argument("--seeds", type=int, default=5)
    a.add_argument("--length", type=int, default=2000)
    a.add_argument("--date", default=str(date.today()))
    a.add_argument("--threads", type=int, default=os.cpu_count())
    a = a.parse_args()
    torch.set_num_threads(a.threads)
    model, tok = network.load(BUNDLED), Tokenizer(os.path.join(BUNDLED, "tokenizer.json"))
    c = model.config
    last, losses = loss_section(os.path.join(HERE, "loss-log.tsv"))
    with open(os.path.join(HERE, "recipe.json"), encoding="utf-8") as f:
        recipe_text = f.read().strip()
        recipe = json.loads(recipe_text)
    weights = os.path.join(BUNDLED, "model.safetensors")
    loss = measure.held_out_loss(model, tok, 20)
    values = {
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}", "entries": len(tok), "config": c,
        "bytes": f"{os.path.getsize(weights):,}", "sha256": sha256(weights), "date": a.date,
        "seed": recipe["seed"], "steps": last[0], "tokens": f"{int(last[1]):,}", "minutes": round(int(last[2]) / 60),
        "recipe": recipe_text, "recipe_rates": f"{recipe['muon_rate']} for Muon and {recipe['adamw_rate']} for AdamW", "cases": a.cases, "length": a.length, "threshold": percent(probe.CLEAR),
        "loss_en": f"{loss['en']:.3f}", "loss_zh": f"{loss['zh']:.3f}", "losses": losses,
        "heads": heads_section(probe.probe(model, tok), c["num_hidden_layers"], c["num_attention_heads"]),
        "recall": recall_section(model, tok, a.cases), "copy": copy_section(model, tok, a.cases),
        "repetition": repetition_section(model, tok, a.seeds, a.length), "samples": sample_section(model, tok, 5, 160),
    }
    network.write_file(os.path.join(HERE, "MODEL_CARD.md"), card_text.CARD.format(**values))
    sums = "".join(f"{sha256(os.path.join(BUNDLED, n))}  {n}\n" for n in SUMMED if os.path.exists(os.path.join(BUNDLED, n)))
    network.write_file(os.path.join(BUNDLED, "SHA256SUMS"), sums)
    print("written")


if __name__ == "__main__":
    main()
