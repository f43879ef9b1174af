"""Writes a GGUF file with the shape of GPT-2 small and random weights, for llama_compare.py."""

import struct

import numpy as np

LAYERS, WIDTH, HEADS, VOCABULARY = 12, 768, 12, 50257
CONTEXT = 2304  # 2048 tokens and room for those that are decoded after them
TYPES = {"f32": 0, "f16": 1, "q8_0": 8}  # of the matrices; everything else is F32, as llama.cpp's converter has it
FILE_TYPES = {"f32": 0, "f16": 1, "q8_0": 7}
ALIGNMENT = 32


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    """One key: u32, f32, str, or a list of the last or of i32."""
    if kind == "u32":
        return string(key) + struct.pack("<II", 4, value)
    if kind == "f32":
        return string(key) + struct.pack("<If", 6, value)
    if kind == "str":
        return string(key) + struct.pack("<I", 8) + string(value)
    if kind == "strings":
        return string(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))
    return string(key) + struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def byte_alphabet():
    """GPT-2's characters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b) for b in plain] + [chr(256 + i) for i in range(len(others))]


def metadata(kind):
    """A vocabulary of bytes, made up to the size of GPT-2's: texts are not what is compared."""
    letters = byte_alphabet()
    tokens = letters + ["ab"]
    tokens += [f"unused{i}" for i in range(VOCABULARY - len(tokens))]
    return [
        entry("general.architecture", "str", "gpt2"),
        entry("general.name", "str", f"gpt2-small shape, random, {kind}"),
        entry("general.file_type", "u32", FILE_TYPES[kind]),
        entry("gpt2.block_count", "u32", LAYERS),
        entry("gpt2.context_length", "u32", CONTEXT),
        entry("gpt2.embedding_length", "u32", WIDTH),
        entry("gpt2.feed_forward_length", "u32", 4 * WIDTH),
        entry("gpt2.attention.head_count", "u32", HEADS),
        entry("gpt2.attention.layer_norm_epsilon", "f32", 1e-5),
        entry("tokenizer.ggml.model", "str", "gpt2"),
        entry("tokenizer.ggml.pre", "str", "gpt-2"),
        entry("tokenizer.ggml.tokens", "strings", tokens),
        entry("tokenizer.ggml.token_type", "i32s", [1] * VOCABULARY),
        entry("tokenizer.ggml.merges", "strings", ["a b"]),
        entry("tokenizer.ggml.bos_token_id", "u32", VOCABULARY - 1),
        entry("tokenizer.ggml.eos_token_id", "u32", VOCABULARY - 1),
    ]


def tensors():
    """(name, shape with the inputs last, mean of the values or None for a matrix)"""
    yield "token_embd.weight", (VOCABULARY, WIDTH), None
    yield "position_embd.weight", (CONTEXT, WIDTH), 0.0
    for layer in range(LAYERS):
        for name, outputs, inputs in (("attn_qkv", 3 * WIDTH, WIDTH), ("attn_output", WIDTH, WIDTH),
                                      ("ffn_up", 4 * WIDTH, WIDTH), ("ffn_down", WIDTH, 4 * WIDTH)):
            yield f"blk.{layer}.{name}.weight", (outputs, inputs), None
            yield f"blk.{layer}.{name}.bias", (outputs,), 0.0
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", (WIDTH,), 1.0
            yield f"blk.{layer}.{name}.bias", (WIDTH,), 0.0
    yield "output_norm.weight", (WIDTH,), 1.0
    yield "output_norm.bias", (WIDTH,), 0.0


def stored_bytes(shape, kind):
    count = int(np.prod(shape))
    return {"f32": 4 * count, "f16": 2 * count, "q8_0": count // 32 * 34}[kind]


def stored(values, kind):
    if kind == "f32":
        return values.tobytes()
    if kind == "f16":
        return values.astype("<f2").tobytes()
    blocks = values.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 127.0).astype("<f2")
    codes = np.rint(blocks / np.maximum(scales.astype("<f4"), 1e-12)[:, None]).clip(-127, 127).astype(np.int8)
    out = np.zeros(len(blocks), dtype=[("scale", "<f2"), ("codes", np.int8, 32)])
    out["scale"], out["codes"] = scales, codes
    return out.tobytes()


def write_gpt2(path, kind):
    """kind: f32, f16 or q8_0. The values are the same in all three, up to rounding."""
    keys = metadata(kind)
    infos, offset = [], 0
    for name, shape, mean in tensors():
        tensor_kind = kind if mean is None else "f32"
        infos.append((name, shape, mean, tensor_kind, offset))
        offset += -(-stored_bytes(shape, tensor_kind) // ALIGNMENT) * ALIGNMENT
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(infos), len(keys)) + b"".join(keys)
    for name, shape, _, tensor_kind, at in infos:
        header += string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        header += struct.pack("<IQ", TYPES[tensor_kind], at)
    random = np.random.default_rng(1)
    with open(path, "wb") as file:
        file.write(header)
        for name, shape, mean, tensor_kind, _ in infos:
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            values = random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
            file.write(stored(values + np.float32(mean or 0.0), tensor_kind))
        file.write(b"\0" * (-file.tell() % ALIGNMENT))
