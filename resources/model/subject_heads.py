"""Heads that find who or what a sentence is about.

To answer "Where does Ben live? Ben lives in the" the model must match the subject,
several tokens back, with the subject of an earlier sentence. Left alone, a short
training learnt to choose among values of the right sort but not by subject. So at
one point of the training the second query group of layer 0 is set to heads that
rest on the latest name, the latest object, and the latest of either; what is done
with that is learnt.
"""
import torch

import world_en
import world_zh

RECENT_PAIRS = range(1, 6)                            # rotary pairs whose angle tells near from far
RECENT, SUBJECT = 2.2, 9.0                            # score of each such pair, and for being a subject
RIDGE = 2.0


def subject_tokens(tok):
    """One token id per name, and one per object: the one that no other shares."""
    names = {tok.encode(" " + n)[-1] for n in world_en.NAMES} | {tok.encode(n)[-1] for n in world_zh.NAMES}
    objects = {tok.encode(" " + o)[-1] for o in world_en.OBJECTS}
    first = [o[0] for o in world_zh.OBJECTS]
    objects |= {tok.encode(o[0] if first.count(o[0]) == 1 else o[1])[-1] for o in world_zh.OBJECTS}
    return names, objects


def direction(x, wanted):
    """d [C] with x d near 1 on the wanted rows of x [V, C] and near 0 on the others (ridge regression)."""
    y = torch.zeros(len(x), dtype=x.dtype)
    y[sorted(wanted)] = 1
    weight = torch.where(y > 0, 15.0, 1.0).to(x.dtype)
    weight[1:257] = 0.2                               # single bytes are rare
    a = (x * weight[:, None]).t() @ x + RIDGE * torch.eye(x.shape[1], dtype=x.dtype)
    return torch.linalg.solve(a, (x * weight[:, None]).t() @ y).float()


@torch.no_grad()
def install(model, tok, seed, output):
    """Overwrites the second query group of layer 0; values and outputs start at random, of size `output`."""
    c, block = model.config, model.blocks[0]
    d, width = c["head_dim"], c["hidden_size"]
    group = c["num_attention_heads"] // c["num_key_value_heads"]
    g = torch.Generator().manual_seed(seed)
    e = model.embed.weight
    x = (e * torch.rsqrt(e.pow(2).mean(1, keepdim=True) + c["rms_norm_eps"]) * block.input_norm.weight).double()
    mean = x.mean(0)
    constant = (mean / mean.norm() ** 2).float()      # about 1 for every token
    name, thing = (direction(x, s) for s in subject_tokens(tok))
    unit = d ** 0.25                                  # scores are divided by sqrt(d)
    slow, slower = d // 2 - 2, d // 2 - 1             # pairs that hardly turn: no trace of the distance
    key = torch.zeros(d, width)
    query = torch.zeros(group, d, width)
    for i in RECENT_PAIRS:
        key[i] = constant * unit * RECENT ** 0.5
        query[:, i] = constant * unit * RECENT ** 0.5
    key[slower], key[slow] = name * unit * SUBJECT ** 0.5, thing * unit * SUBJECT ** 0.5
    query[0::2, slower] = constant * unit * SUBJECT ** 0.5
    query[1:, slow] = constant * unit * SUBJECT ** 0.5
    block.k.weight[d:2 * d] = key
    block.q.weight[group * d:2 * group * d] = query.flatten(0, 1)
    block.v.weight[d:2 * d] = torch.randn(d, width, generator=g) * 1.5 * width ** -0.5
    block.o.weight[:, group * d:2 * group * d] = torch.randn(width, group * d, generator=g) * output * d ** -0.5


def latest_subjects(ids, subjects):
    """For every position the latest subject token up to it, or -1."""
    out, last = [], -1
    for i in ids:
        last = i if i in subjects else last
        out.append(last)
    return out


@torch.no_grad()
def discriminant(model, tok, layer, documents, dims):
    """P [dims, C]: inner products of P x tell whether two inputs x of a layer's attention have one subject."""
    import tales
    subjects = set.union(*subject_tokens(tok))
    xs, labels = [], []
    for i in range(documents):
        text = tales.document(f"subjects-{i}", ("en", "zh")[i % 2], 220, "facts_only").text
        ids = tok.encode(text)[:300]
        cos, sin = (t[:len(ids)] for t in model.tables)
        x = model.embed(torch.tensor([ids]))
        for block in model.blocks[:layer]:
            x = block(x, cos, sin)
        xs.append(model.blocks[layer].input_norm(x)[0])
        labels += latest_subjects(ids, subjects)
    x, labels = torch.cat(xs).double(), torch.tensor(labels)
    x, labels = x[labels >= 0], labels[labels >= 0]
    mean = x.mean(0)
    centred = x - mean
    within = torch.zeros(x.shape[1], x.shape[1], dtype=x.dtype)
    between = torch.zeros_like(within)
    for s in labels.unique():
        rows = centred[labels == s]
        m = rows.mean(0)
        within += (rows - m).t() @ (rows - m) / len(centred)
        between += len(rows) / len(centred) * m[:, None] * m[None]
    value, vector = torch.linalg.eigh(within + 0.02 * within.diagonal().mean() * torch.eye(len(within), dtype=x.dtype))
    white = vector @ torch.diag(value.rsqrt()) @ vector.t()
    strength, best = torch.linalg.eigh(white @ between @ white)
    p = best[:, -dims:].t() @ white
    p = p - (p @ mean)[:, None] * (mean / mean.norm() ** 2)[None]      # no part that all inputs share
    y = x @ p.t()
    same = (y * y).sum(1).mean()
    return (p / same.sqrt()).float(), strength[-dims:]


@torch.no_grad()
def install_matching(model, tok, layers, seed, score=8.0, first_pair=7):
    """Second query group of these layers: starts by looking where the subject is the same."""
    c = model.config
    d, width = c["head_dim"], c["hidden_size"]
    group = c["num_attention_heads"] // c["num_key_value_heads"]
    g = torch.Generator().manual_seed(seed + 1)
    rows = [*range(first_pair, d // 2), *range(d // 2 + first_pair, d)]
    for layer in layers:
        p, _ = discriminant(model, tok, layer, 60, len(rows))
        block = model.blocks[layer]
        w = torch.randn(d, width, generator=g) * 0.2 * width ** -0.5
        w[rows] = p * (score * d ** 0.5) ** 0.5
        block.k.weight[d:2 * d] = w
        block.q.weight[group * d:2 * group * d] = torch.cat([w] * group)
        block.v.weight[d:2 * d] = torch.randn(d, width, generator=g) * width ** -0.5
        block.o.weight[:, group * d:2 * group * d] = torch.randn(width, group * d, generator=g) * 0.1 * d ** -0.5
