"""Heads that tell repeated contexts apart by a token further back.

An induction head that compares one or two tokens cannot copy a list in which an
ending recurs, nor tell "Mira lives in the" from "Ben lives in the". Here the second
query group of layer 0 becomes heads that look 3, 4 and 5 tokens back, and groups of
later layers start as induction heads that compare the last token and one of those.
Training goes on from there.
"""
import random

import torch

import tales

OFFSETS = (3, 4, 5)


@torch.no_grad()
def layer_inputs(model, rows, layer):
    """What the attention of a layer sees, [rows, T, C]."""
    cos, sin = (t[:rows.shape[1]] for t in model.tables)
    x = model.embed(rows)
    for block in model.blocks[:layer]:
        x = block(x, cos, sin)
    return model.blocks[layer].input_norm(x)


def shuffled_tokens(tok, seed, rows, length):
    """Tokens of documents in random order: no word tells of another, so a label is found only where it is stored."""
    r, pool = random.Random(seed), []
    for i in range(120):
        pool += set(tok.encode(tales.document(f"context-{seed}-{i}", ("en", "zh")[i % 2], 250).text))
    return torch.tensor([[r.choice(pool) for _ in range(length)] for _ in range(rows)])


@torch.no_grad()
def install_offsets(model, tok, seed, gain):
    """Second query group of layer 0: the head that looks two tokens back, turned to look 3, 4 and 5 back.

    What they find is written along the directions in which the residual stream varies least.
    """
    c, block = model.config, model.blocks[0]
    d = c["head_dim"]
    group = c["num_attention_heads"] // c["num_key_value_heads"]
    block.o.weight[:, group * d:2 * group * d] = 0
    ids = shuffled_tokens(tok, seed, 30, 200)
    cos, sin = (t[:ids.shape[1]] for t in model.tables)
    stream = block(model.embed(ids), cos, sin).flatten(0, 1).double()
    variance, quiet = torch.linalg.eigh(torch.cov(stream.t()))
    freq = (c["rope_theta"] ** (-torch.arange(0, d, 2).float() / d))[:, None]
    low, high = block.q.weight[2 * d:3 * d].chunk(2)
    block.k.weight[d:2 * d] = block.k.weight[:d].clone()
    for i, back in enumerate(OFFSETS):
        cos, sin = (freq * (back - 2)).cos(), (freq * (back - 2)).sin()
        block.q.weight[(group + i) * d:(group + i + 1) * d] = torch.cat([low * cos + high * sin, high * cos - low * sin])
        span = slice(i * d, (i + 1) * d)
        block.o.weight[:, (group + i) * d:(group + i + 1) * d] = (quiet[:, span] * variance[span].mean().sqrt() * gain).float()
    seen = layer_inputs(model, torch.arange(1, c["vocab_size"])[None], 0)[0].double()
    value, vector = torch.linalg.eigh(torch.cov(seen.t()))
    block.v.weight[d:2 * d] = (vector[:, -d:] / value[-d:].sqrt()).t().float()


@torch.no_grad()
def louder(model, gain):
    """The heads 4 and 5 back write more strongly, so that later layers can read them."""
    c, o = model.config, model.blocks[0].o.weight
    group = c["num_attention_heads"] // c["num_key_value_heads"]
    o[:, (group + 1) * c["head_dim"]:] *= gain


def token_code(x, labels, dims):
    """P [dims, C] and a code per label: P x is near the code of the label of x (linear discriminants)."""
    mean = x.mean(0)
    kinds = [k for k in labels.unique().tolist() if (labels == k).sum() >= 4]
    centre = torch.stack([x[labels == k].mean(0) for k in kinds]) - mean
    cov = (x - mean).t() @ (x - mean) / len(x)
    value, vector = torch.linalg.eigh(cov + 0.01 * cov.diagonal().mean() * torch.eye(len(cov), dtype=x.dtype))
    white = vector @ torch.diag(value.rsqrt()) @ vector.t()
    _, best = torch.linalg.eigh(white @ centre.t() @ centre @ white)
    p = best[:, -dims:].t() @ white
    code = centre @ p.t()
    scale = code.pow(2).sum(1).mean().sqrt()
    p = p / scale
    p = p - (p @ mean)[:, None] * (mean / mean.norm() ** 2)[None]      # nothing that all inputs share
    return p, {k: c for k, c in zip(kinds, code / scale)}


def reader(x, targets):
    """R [dims, C] with R x near the targets (ridge regression), without a constant part."""
    mean = x.mean(0)
    centred = x - mean
    a = centred.t() @ centred
    a = a + 0.01 * a.diagonal().mean() * torch.eye(len(a), dtype=x.dtype)
    r = torch.linalg.solve(a, centred.t() @ (targets - targets.mean(0))).t()
    return r - (r @ mean)[:, None] * (mean / mean.norm() ** 2)[None]


@torch.no_grad()
def install_induction(model, tok, layer, kv, back, seed, strength, score=(7.0, 9.0), first_pair=6):
    """KV group kv of a layer compares the tokens 1 and `back` before a key with the query's last and `back` - 1 before."""
    c, block = model.config, model.blocks[layer]
    d = c["head_dim"]
    group = c["num_attention_heads"] // c["num_key_value_heads"]
    ids = shuffled_tokens(tok, seed, 60, 300)
    x = layer_inputs(model, ids, layer).double()
    pairs = range(first_pair, d // 2)                 # slow pairs: no trace of the distance
    half = len(pairs)
    key, query = torch.zeros(d, x.shape[2]), torch.zeros(d, x.shape[2])
    for part, (n, s) in enumerate(zip((1, back), score)):
        keys, labels = x[:, back:].flatten(0, 1), ids[:, back - n:ids.shape[1] - n].flatten()
        p, code = token_code(keys, labels, half)
        asks, wanted = x[:, back - 1:].flatten(0, 1), ids[:, back - n:ids.shape[1] - n + 1].flatten()
        known = torch.tensor([w in code for w in wanted.tolist()])
        r = reader(asks[known], torch.stack([code[w] for w in wanted[known].tolist()]))
        q, k = r @ asks[known].t(), p @ keys.t()      # how well it tells: mean score of right pairs, spread of others
        right = (q.reshape(half, -1)[:, :2000] * torch.stack([code[w] for w in wanted[known].tolist()[:2000]]).t()).sum(0).mean()
        rows = [i + part * d // 2 for i in pairs]
        gain = (s * d ** 0.5 / right) ** 0.5
        key[rows], query[rows] = (p * gain).float(), (r * gain).float()
        other = (q[:, :2000].t() @ k[:, :2000] / right).std()
        print(f"layer {layer} group {kv}, {n} back: right pair {s}, others' spread {other * s:.2f}", flush=True)
    block.k.weight[kv * d:(kv + 1) * d] = key
    block.q.weight[kv * group * d:(kv + 1) * group * d] = torch.cat([query] * group)
    # What the induction heads of layer 1 hand on when they have found the place is known already.
    source = model.blocks[1]
    block.v.weight[kv * d:(kv + 1) * d] = source.v.weight[:d].clone()
    block.o.weight[:, kv * group * d:(kv + 1) * group * d] = source.o.weight[:, :group * d] * strength
