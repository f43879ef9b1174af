"""Byte-level BPE whose tokenizer.json gives the same ids in Hugging Face tokenizers.

Text is cut in two steps: every Han character stands alone, the rest follows the
GPT-2 pattern. Merges never cross a cut, and never join digits, so a word or a
Chinese name is always the same tokens, wherever it stands; copying depends on it.
"""
import bisect
import json
import re
import sys
import unicodedata
from collections import Counter, defaultdict

END = "<|endoftext|>"
END_ID = 0
DIGITS = "0123456789"

# Unicode script Han, as in \p{Han}.
HAN_RANGES = [
    (0x2E80, 0x2E99), (0x2E9B, 0x2EF3), (0x2F00, 0x2FD5), (0x3005, 0x3005), (0x3007, 0x3007),
    (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFA6D),
    (0xFA70, 0xFAD9), (0x16FE2, 0x16FE3), (0x16FF0, 0x16FF1), (0x20000, 0x2A6DF), (0x2A700, 0x2B739),
    (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1), (0x2CEB0, 0x2EBE0), (0x2F800, 0x2FA1D), (0x30000, 0x3134A),
    (0x31350, 0x323AF)]
SPACES = [(9, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
          (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]


def category_ranges(initial):
    """Ranges of the code points whose general category starts with this letter."""
    ranges, start = [], None
    for c in range(sys.maxunicode + 2):
        inside = c <= sys.maxunicode and unicodedata.category(chr(c))[0] == initial
        if inside and start is None:
            start = c
        elif not inside and start is not None:
            ranges.append((start, c - 1))
            start = None
    return ranges


def char_class(ranges):
    return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in ranges)


L, N, S, HAN = (char_class(r) for r in (category_ranges("L"), category_ranges("N"), SPACES, HAN_RANGES))
HAN_CUT = re.compile(f"([{HAN}])")
GPT2_CUT = re.compile(f"'s|'t|'re|'ve|'m|'ll|'d| ?[{L}]+| ?[{N}]+| ?[^{S}{L}{N}]+|[{S}]+(?![^{S}])|[{S}]+")


def cut(text):
    """The pre-tokens of a text, in order; joined they are the text."""
    out = []
    for part in HAN_CUT.split(text):
        if part:
            out += GPT2_CUT.findall(part)
    return out


def byte_alphabet():
    """GPT-2's printable stand-in for each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in set(plain)]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


TO_CHAR = byte_alphabet()
TO_BYTE = {c: b for b, c in TO_CHAR.items()}


def train(text, size):
    """Vocabulary and merges learnt from a text; ties are broken by the pair itself."""
    words = Counter(cut(text))
    pieces = [[TO_CHAR[b] for b in w.encode()] for w in words]
    counts = list(words.values())
    vocab = [END] + [TO_CHAR[b] for b in range(256)]
    merges, total, places = [], Counter(), defaultdict(set)

    def pairs_of(i):
        return [p for p in zip(pieces[i], pieces[i][1:]) if not (p[0][-1] in DIGITS or p[1][0] in DIGITS)]

    def add(i, sign):
        for p in pairs_of(i):
            total[p] += sign * counts[i]
            places[p].add(i)

    for i in range(len(pieces)):
        add(i, 1)
    while len(vocab) < size:
        best = max(total, key=lambda p: (total[p], p))
        if total[best] < 2:
            break
        joined = best[0] + best[1]
        for i in list(places[best]):
            add(i, -1)
            old, new, j = pieces[i], [], 0
            while j < len(old):
                if tuple(old[j:j + 2]) == best:
                    new.append(joined)
                    j += 2
                else:
                    new.append(old[j])
                    j += 1
            pieces[i] = new
            add(i, 1)
        merges.append(best)
        if joined not in vocab:
            vocab.append(joined)
        del total[best], places[best]
    return vocab, merges


def tokenizer_json(vocab, merges):
    """The Hugging Face tokenizers description of the same cut and merges."""
    han = {"type": "Split", "pattern": {"Regex": "\\p{Han}"}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": END_ID, "content": END, "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "vocab": {t: i for i, t in enumerate(vocab)}, "merges": [" ".join(m) for m in merges]}
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end],
                       "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [han, level]},
                       "post_processor": None, "decoder": level, "model": model},
                      ensure_ascii=False, indent=1) + "\n"


class Tokenizer:
    """Text to ids and back."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            model = json.load(f)["model"]
        self.ids = model["vocab"]
        self.tokens = [t for t, _ in sorted(self.ids.items(), key=lambda x: x[1])]
        self.rank = {tuple(m.split(" ")): i for i, m in enumerate(model["merges"])}
        self.known = {}

    def __len__(self):
        return len(self.tokens)

    def word(self, w):
        """Ids of one pre-token: the earliest learnt merge first."""
        ids = self.known.get(w)
        if ids is None:
            parts = [TO_CHAR[b] for b in w.encode()]
            while len(parts) > 1:
                rank, j = min((self.rank.get(p, 1 << 30), j) for j, p in enumerate(zip(parts, parts[1:])))
                if rank == 1 << 30:
                    break
                parts[j:j + 2] = [parts[j] + parts[j + 1]]
            ids = self.known[w] = [self.ids[p] for p in parts]
        return ids

    def encode(self, text):
        """Ids of a text; END in it is the end token, as in Hugging Face tokenizers."""
        out = []
        for n, part in enumerate(text.split(END)):
            out += [END_ID] * (n > 0) + [i for w in cut(part) for i in self.word(w)]
        return out

    def encode_spans(self, text, spans):
        """Ids, and the token range [first, last + 1) of each span of characters."""
        ids, ends, chars = [], [], 0                 # ends: characters up to and with each token, rounded up
        for w in cut(text):
            new = self.word(w)
            size, done = len(w.encode()), 0
            for i in new:
                done += len(self.tokens[i])
                ends.append(chars + (len(w) * done + size - 1) // size if done < size else chars + len(w))
            ids += new
            chars += len(w)
        return ids, [(bisect.bisect_right(ends, a), bisect.bisect_left(ends, b) + 1) for a, b in spans]

    def decode(self, ids):
        data = bytes(TO_BYTE[c] for i in ids if i != END_ID for c in self.tokens[i])
        return data.decode(errors="replace")


def main():
    """Learns the vocabulary from documents that are used for nothing else."""
    import argparse
    import os
    import tales
    from network import write_file
    a = argparse.ArgumentParser(description=main.__doc__)
    a.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled"))
    a.add_argument("--size", type=int, default=1792)
    a.add_argument("--documents", type=int, default=1500)
    a = a.parse_args()
    os.makedirs(a.out, exist_ok=True)
    text = "\n".join(tales.document(f"vocabulary-{i}", ("en", "zh")[i % 2]).text for i in range(a.documents))
    # Every thing of the world should be few tokens, however seldom it is told of.
    for w in tales.WORLDS.values():
        things = w.NAMES + w.OBJECTS + w.PLACES + w.CONTAINERS + w.COLOURS + w.FOODS + w.ANIMALS + w.JOBS + w.MOODS
        text += ("\n" + " ".join([""] + things)) * (a.documents // 8)
    path = os.path.join(a.out, "tokenizer.json")
    vocab, merges = train(text, a.size)
    write_file(path, tokenizer_json(vocab, merges))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "bos_token": None, "unk_token": None,
              "model_max_length": 2048, "clean_up_tokenization_spaces": False, "add_prefix_space": False}
    write_file(os.path.join(a.out, "tokenizer_config.json"), json.dumps(config, indent=2) + "\n")
    tok = Tokenizer(path)
    ids = tok.encode(text)
    assert tok.decode(ids) == text
    print(len(tok), "entries;", len(text) / len(ids), "characters per token")


if __name__ == "__main__":
    main()
