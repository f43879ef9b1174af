"""Trains the bundled model after recipe.json and exports it.

    python3 train.py --work DIR [--until STEP]

Every batch is a function of seed and step, so a run can be stopped and continued
from its checkpoint without changing what is seen. Works with PyTorch 1.13 and 2.x;
2.x is about three times faster on a CPU.
"""
import argparse
import json
import os
import sys
import time

# Otherwise glibc gives every large tensor back to the kernel after use.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000",
             "MALLOC_TOP_PAD_": "500000000", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
if __name__ == "__main__" and any(os.environ.get(k) != v for k, v in ALLOCATOR.items()):
    os.environ.update(ALLOCATOR)
    os.execv(sys.executable, [sys.executable, *sys.argv])

import torch
import torch.nn.functional as F

import batches
import context_heads
import network
import subject_heads
from bpe import Tokenizer

COLUMNS = ("step", "tokens", "seconds", "stage", "window", "rate", "plain loss", "plain right", "recall loss", "recall right",
           "copy loss", "copy right", "drill loss", "drill right", "tokens per second", "again loss", "again right")
HERE = os.path.dirname(os.path.abspath(__file__))


class Muon(torch.optim.Optimizer):
    """Momentum with orthogonalised updates, for the weight matrices."""

    def __init__(self, params, lr, momentum=0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            by_shape = {}
            for p in group["params"]:
                by_shape.setdefault(tuple(p.shape), []).append(p)
            for params in by_shape.values():             # one batch of products per shape
                updates = []
                for p in params:
                    m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                    m.mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                    updates.append(p.grad.lerp(m, group["momentum"]))
                for p, u in zip(params, orthogonal(torch.stack(updates))):
                    p.add_(u, alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)


def orthogonal(x):
    """Newton-Schulz iteration: singular values of x [N, R, C] go towards 1."""
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(5):
        s = x @ x.transpose(1, 2)
        x = 3.4445 * x + (2.0315 * (s @ s) - 4.775 * s) @ x
    return x.transpose(1, 2) if tall else x


def stage_at(stages, step):
    """The stage of a step, the learning rate factor, linear within the stage, and whether the stage begins."""
    for stage in stages:
        if step < stage["steps"]:
            a, b = stage["rate"]
            return stage, a + (b - a) * step / stage["steps"], step == 0
        step -= stage["steps"]
    return None, 0.0, False


class Run:
    """Model, optimisers and the position in the recipe."""

    def __init__(self, recipe, tok, work):
        torch.manual_seed(recipe["seed"])
        self.recipe, self.tok, self.work = recipe, tok, work
        self.step = self.seen = 0
        self.seconds = 0.0
        config = dict(network.CONFIG, vocab_size=len(tok))
        self.model = network.Network(config)
        network.initialise(self.model, recipe["seed"])
        named = list(self.model.named_parameters())
        matrices = [p for n, p in named if p.dim() == 2 and not n.startswith("embed")]
        others = [p for n, p in named if p.dim() != 2 or n.startswith("embed")]
        self.optimisers = [Muon(matrices, recipe["muon_rate"]),
                           torch.optim.AdamW(others, recipe["adamw_rate"], betas=(0.9, 0.98), weight_decay=0.0)]
        self.base = [o.param_groups[0]["lr"] for o in self.optimisers]
        self.weights = torch.tensor([recipe["loss_weight"].get(k, 1.0) for k in batches.KINDS])
        self.loss = self.forward
        self.path = os.path.join(work, "checkpoint.pt")
        if os.path.exists(self.path):
            self.restore()

    def forward(self, ids, targets, kinds):
        """Weighted mean loss, and loss and hit of every target [rows * window]."""
        logits = self.model(ids).flatten(0, 1)
        each = F.cross_entropy(logits, targets.flatten(), reduction="none")
        w = self.weights[kinds.flatten()]
        return (each * w).sum() / w.sum(), each.detach(), logits.detach().argmax(-1) == targets.flatten()

    def restore(self):
        s = torch.load(self.path)
        self.model.load_state_dict(s["model"])
        for o, state in zip(self.optimisers, s["optimisers"]):
            o.load_state_dict(state)
        self.step, self.seen, self.seconds = s["step"], s["seen"], s["seconds"]
        self.set_rope(s["rope_theta"])

    def set_rope(self, theta):
        self.model.config["rope_theta"] = theta
        self.model.tables = network.rotary_tables(self.model.config)

    def weigh(self, stage):
        """The loss weights of the recipe, or those of the stage."""
        given = stage.get("loss_weight", self.recipe["loss_weight"])
        self.weights = torch.tensor([given.get(k, 1.0) for k in batches.KINDS])

    def enter(self, stage):
        """What a stage changes before its first step; the optimisers start afresh where weights were set."""
        if "rope_theta" in stage:
            self.set_rope(stage["rope_theta"])
        if stage.get("subject_heads"):
            subject_heads.install(self.model, self.tok, self.recipe["seed"], stage["subject_heads"])
            subject_heads.install_matching(self.model, self.tok, stage.get("match_layers", []), self.recipe["seed"])
        if stage.get("context_heads"):
            gain, strength = stage["context_heads"]
            context_heads.install_offsets(self.model, self.tok, self.recipe["seed"], gain)
            context_heads.install_induction(self.model, self.tok, 1, 1, 3, self.recipe["seed"], strength)
        for layer, kv, back, strength in stage.get("more_context_heads", []):
            context_heads.install_induction(self.model, self.tok, layer, kv, back, self.recipe["seed"], strength)
        if "louder_offsets" in stage:
            context_heads.louder(self.model, stage["louder_offsets"])
        if {"rope_theta", "subject_heads", "context_heads", "more_context_heads"} & set(stage):
            for o in self.optimisers:
                o.state.clear()

    def checkpoint(self):
        torch.save({"model": self.model.state_dict(), "optimisers": [o.state_dict() for o in self.optimisers],
                    "step": self.step, "seen": self.seen, "seconds": self.seconds,
                    "rope_theta": self.model.config["rope_theta"]}, self.path + ".part")
        os.replace(self.path + ".part", self.path)
        network.save(self.model, os.path.join(self.work, "export"))

    @torch.no_grad()
    def clip_scores(self, ids, limit):
        """Scales the queries of heads whose largest attention score on ids [rows, T] is above the limit.

        Single precision keeps seven digits: at a score of 1500 rounding alone moves an attention weight by 1e-4.
        """
        cos, sin = (t[:ids.shape[1]] for t in self.model.tables)
        x = self.model.embed(ids)
        for block in self.model.blocks:
            q, k, v = block.project(x, cos, sin)
            scores = (q @ block.spread(k).transpose(2, 3) * block.hd ** -0.5).abs().tril()
            for head, top in enumerate(scores.amax((0, 2, 3)).tolist()):
                if top > limit:
                    block.q.weight[head * block.hd:(head + 1) * block.hd] *= limit / top
            x = block.finish(x, network.causal_attention(q, block.spread(k), block.spread(v)))

    def advance(self, stage, rate):
        """One optimiser step; returns sums of loss and hits by kind, [kinds, 3]."""
        start = time.time()
        rate *= min(1.0, (self.step + 1) / self.recipe["warmup_steps"])
        for o, base in zip(self.optimisers, self.base):
            o.param_groups[0]["lr"] = base * rate
        ids, targets, kinds = batches.batch(self.tok, self.recipe["seed"], self.step, self.recipe["tokens_per_step"], stage)
        loss, each, hits = self.loss(ids, targets, kinds)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for o in self.optimisers:
            o.step()
        self.model.zero_grad(set_to_none=True)
        if "largest_score" in stage and self.step % 10 == 0:
            self.clip_scores(ids[:2, :512], stage["largest_score"])
        self.step += 1
        self.seen += ids.numel()
        self.seconds += time.time() - start
        chosen = F.one_hot(kinds.flatten(), len(batches.KINDS)).float().t()
        return chosen @ torch.stack([torch.ones_like(each), each, hits.float()], 1)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--work", required=True, help="folder of checkpoint, log and export")
    a.add_argument("--recipe", default=os.path.join(HERE, "recipe.json"))
    a.add_argument("--tokenizer", default=os.path.join(HERE, "bundled", "tokenizer.json"))
    a.add_argument("--until", type=int, help="stop at this step")
    a.add_argument("--threads", type=int, default=os.cpu_count())
    a.add_argument("--compile", action="store_true", help="torch.compile, PyTorch 2 with a C++ compiler")
    a.add_argument("--log-every", type=int, default=25)
    a = a.parse_args()
    torch.set_num_threads(a.threads)
    os.makedirs(a.work, exist_ok=True)
    with open(a.recipe, encoding="utf-8") as f:
        recipe = json.load(f)
    run = Run(recipe, Tokenizer(a.tokenizer), a.work)
    if a.compile:
        run.loss = torch.compile(run.forward, dynamic=False)
    print(sum(p.numel() for p in run.model.parameters()), "parameters, from step", run.step, flush=True)
    totals, saved, mark = torch.zeros(len(batches.KINDS), 3), time.time(), (time.time(), run.seen)
    with open(os.path.join(a.work, "log.tsv"), "a", encoding="utf-8") as log:
        if log.tell() == 0:
            log.write("\t".join(COLUMNS) + "\n")
        while a.until is None or run.step < a.until:
            stage, rate, begins = stage_at(recipe["stages"], run.step)
            if stage is None:
                break
            run.weigh(stage)
            if begins:
                run.enter(stage)
            totals += run.advance(stage, rate)
            if run.step % a.log_every == 0:
                mean = totals / totals[:, :1].clamp(min=1)
                speed = (run.seen - mark[1]) / (time.time() - mark[0])
                row = [run.step, run.seen, round(run.seconds), stage["name"], stage["window"], f"{rate:.3f}"]
                for kind in (batches.PLAIN, batches.RECALL, batches.COPY, batches.DRILL):
                    row += [f"{mean[kind, 1]:.4f}", f"{mean[kind, 2]:.4f}"]
                row += [round(speed), f"{mean[batches.AGAIN, 1]:.4f}", f"{mean[batches.AGAIN, 2]:.4f}"]
                line = "\t".join(map(str, row))
                print(line, flush=True)
                log.write(line + "\n")
                log.flush()
                totals.zero_()
                mark = (time.time(), run.seen)
            if time.time() - saved > 150:
                run.checkpoint()
                saved = time.time()
    run.checkpoint()
    print("stopped at step", run.step, "after", run.seen, "tokens", flush=True)


if __name__ == "__main__":
    main()
