"""The LLaMA network that is trained here, and its file format.

Layout and names follow the Hugging Face LLaMA: half-split rotary embedding,
RMSNorm before attention and MLP, SwiGLU, grouped-query attention, tied
embedding. `save` writes what transformers loads, `load` reads it back.
"""
import json
import os
import struct

import torch
import torch.nn.functional as F
from torch import nn

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": 1792, "hidden_size": 192, "intermediate_size": 512,
    "num_hidden_layers": 5, "num_attention_heads": 6, "num_key_value_heads": 2,
    "head_dim": 32, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "rope_scaling": None, "hidden_act": "silu",
    "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False,
    "attention_dropout": 0.0, "initializer_range": 0.02, "pretraining_tp": 1,
    "use_cache": True, "bos_token_id": None, "eos_token_id": 0,
    "torch_dtype": "float16",
}

EMBED_STD = 0.25


class RMSNorm(nn.Module):
    """x / rms(x) * weight over the last axis."""

    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, cos, sin):
    """Half-split rotary embedding; x [B, H, T, D], cos and sin [T, D/2]."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def causal_attention(q, k, v):
    """q [B, H, T, D], k and v [B, H, S, D] with the last T of S positions as queries."""
    if q.shape[2] == k.shape[2] and hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return attention_weights(q, k) @ v


def attention_weights(q, k):
    """The probabilities [B, H, T, S]."""
    t, s = q.shape[2], k.shape[2]
    scores = q @ k.transpose(2, 3) * q.shape[3] ** -0.5
    if t > 1:
        future = torch.ones(t, s, dtype=torch.bool).triu(s - t + 1)
        scores = scores.masked_fill(future, float("-inf"))
    return scores.softmax(-1)


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, c):
        super().__init__()
        d, hd = c["hidden_size"], c["head_dim"]
        self.heads, self.kv_heads, self.hd = c["num_attention_heads"], c["num_key_value_heads"], hd
        self.input_norm = RMSNorm(d, c["rms_norm_eps"])
        self.q = nn.Linear(d, self.heads * hd, bias=False)
        self.k = nn.Linear(d, self.kv_heads * hd, bias=False)
        self.v = nn.Linear(d, self.kv_heads * hd, bias=False)
        self.o = nn.Linear(self.heads * hd, d, bias=False)
        self.mlp_norm = RMSNorm(d, c["rms_norm_eps"])
        self.gate = nn.Linear(d, c["intermediate_size"], bias=False)
        self.up = nn.Linear(d, c["intermediate_size"], bias=False)
        self.down = nn.Linear(c["intermediate_size"], d, bias=False)

    def project(self, x, cos, sin):
        """x [B, T, C] to q [B, H, T, D] and k, v [B, Hkv, T, D]; q and k rotated."""
        b, t, _ = x.shape
        n = self.input_norm(x)
        q = self.q(n).view(b, t, self.heads, self.hd).transpose(1, 2)
        k = self.k(n).view(b, t, self.kv_heads, self.hd).transpose(1, 2)
        v = self.v(n).view(b, t, self.kv_heads, self.hd).transpose(1, 2)
        return rotate(q, cos, sin), rotate(k, cos, sin), v

    def spread(self, x):
        """Each KV head once per query head of its group: [B, Hkv, S, D] to [B, H, S, D]."""
        b, n, s, d = x.shape
        g = self.heads // self.kv_heads
        return x[:, :, None].expand(b, n, g, s, d).reshape(b, n * g, s, d)

    def finish(self, x, y):
        """Adds attention output y [B, H, T, D] and the MLP to the residual stream."""
        b, h, t, d = y.shape
        x = x + self.o(y.transpose(1, 2).reshape(b, t, h * d))
        n = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))

    def forward(self, x, cos, sin):
        q, k, v = self.project(x, cos, sin)
        return self.finish(x, causal_attention(q, self.spread(k), self.spread(v)))


class Network(nn.Module):
    """Token ids [B, T] to logits [B, T, V]."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["num_hidden_layers"]))
        self.norm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.tables = rotary_tables(config)

    def hidden(self, ids):
        cos, sin = (t[:ids.shape[1]] for t in self.tables)
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.norm(x)

    def forward(self, ids):
        return F.linear(self.hidden(ids), self.embed.weight)


def rotary_tables(config):
    """cos and sin of every angle, [max positions, D/2]."""
    d = config["head_dim"]
    freq = 1.0 / config["rope_theta"] ** (torch.arange(0, d, 2).float() / d)     # rounded as in transformers
    angle = torch.arange(config["max_position_embeddings"]).float()[:, None] * freq
    return angle.cos(), angle.sin()


def initialise(model, seed, offsets=(1, 2, 3)):
    """Random weights, and positional heads in the first query group of layer 0.

    A small transformer needs a head that looks a fixed step back before copying
    by induction can form, and finding that head by chance takes most of a short
    training. So feature 0 of every embedding starts as one constant; the keys of
    KV head 0 in layer 0 read only that constant, and query head i of its group
    is turned by offsets[i] steps, which makes its score peak that many tokens
    back. Training may change all of it.
    """
    c = model.config
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() < 2:
                continue
            std = EMBED_STD if name.startswith("embed") else p.shape[1] ** -0.5
            if name.endswith(("o.weight", "down.weight")):
                std *= 0.1                                                # the token itself outweighs what is added
            p.copy_(torch.randn(p.shape, generator=g) * std)
        model.embed.weight[:, 0] = 4 * EMBED_STD
        model.norm.weight.fill_(0.25)                                     # tied embedding: keeps the first logits small
        size = 4 / (1 + 16 / c["hidden_size"]) ** 0.5                     # of feature 0 after RMSNorm
        d, first = c["head_dim"], model.blocks[0]
        freq = c["rope_theta"] ** (-torch.arange(0, d, 2).float() / d)
        gain = 5.5 / size                                                  # 5.5: length of every rotated pair
        first.k.weight[:d] *= 0.05
        first.k.weight[:d, 0] = torch.cat([torch.ones(d // 2), torch.zeros(d // 2)]) * gain
        for i, back in enumerate(offsets):
            rows = first.q.weight[i * d:(i + 1) * d]
            rows *= 0.05
            # The query is turned back by `back` steps, so it meets the key of that position.
            rows[:, 0] = torch.cat([(freq * back).cos(), -(freq * back).sin()]) * gain


def named_tensors(model):
    """Hugging Face tensor names to parameters."""
    out = {"model.embed_tokens.weight": model.embed.weight, "model.norm.weight": model.norm.weight}
    for i, b in enumerate(model.blocks):
        p = f"model.layers.{i}."
        out[p + "input_layernorm.weight"] = b.input_norm.weight
        out[p + "post_attention_layernorm.weight"] = b.mlp_norm.weight
        for n in "qkvo":
            out[f"{p}self_attn.{n}_proj.weight"] = getattr(b, n).weight
        for n in ("gate", "up", "down"):
            out[f"{p}mlp.{n}_proj.weight"] = getattr(b, n).weight
    return out


def write_file(path, data):
    """Replaces the file in one step, so that a reader never sees half of it."""
    with open(path + ".part", "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.replace(path + ".part", path)


def save(model, folder):
    """config.json, generation_config.json and model.safetensors in half precision."""
    os.makedirs(folder, exist_ok=True)
    head, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in sorted(named_tensors(model).items()):
        blob = tensor.detach().to(torch.float16).contiguous().numpy().tobytes()
        head[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_file(os.path.join(folder, "model.safetensors"), struct.pack("<Q", len(text)) + text + b"".join(blobs))
    write_file(os.path.join(folder, "config.json"), json.dumps(model.config, indent=2) + "\n")
    generation = {"bos_token_id": None, "eos_token_id": model.config["eos_token_id"], "do_sample": False}
    write_file(os.path.join(folder, "generation_config.json"), json.dumps(generation, indent=2) + "\n")


def load(folder):
    """The saved files as a network in single precision."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        model = Network(json.load(f))
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        raw = f.read()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:start])
    with torch.no_grad():
        for name, tensor in named_tensors(model).items():
            a, b = head[name]["data_offsets"]
            data = torch.frombuffer(bytearray(raw[start + a:start + b]), dtype=torch.float16)
            tensor.copy_(data.view(head[name]["shape"]))
    return model
