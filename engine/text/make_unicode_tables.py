"""Writes unicode_pairs.cpp and unicode_singletons.cpp from the Unicode data of Python:

    python3 engine/text/make_unicode_tables.py
"""
import os
import sys
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
HANGUL = range(0xAC00, 0xAC00 + 11172)  # by arithmetic


def rows(name, kind, items):
    text = f"const {kind} {name}[] = {{\n"
    line = "   "
    for item in items:
        written = " {" + ",".join(f"0x{value:X}" for value in item) + "},"
        if len(line) + len(written) > 120:
            text += line + "\n"
            line = "   "
        line += written
    return text + line + f"\n}};\nconst std::size_t {name}Count = std::size({name});\n"


def write(name, what, tables):
    with open(os.path.join(HERE, name), "w", encoding="ascii", newline="\n") as file:
        file.write(f"// {what}, of Unicode {unicodedata.unidata_version}.\n// Written by make_unicode_tables.py.\n"
                   '#include <iterator>\n\n#include "engine/text/unicode_tables.h"\n\nnamespace decodescope {\n\n'
                   f"{tables}\n}}  // namespace decodescope\n")


def main():
    pairs, only_apart, single, classes = [], [], [], []
    for c in range(sys.maxunicode + 1):
        order = unicodedata.combining(chr(c))
        if order:
            if classes and classes[-1][1] == c - 1 and classes[-1][2] == order:
                classes[-1][1] = c
            else:
                classes.append([c, c, order])
        parts = unicodedata.decomposition(chr(c)).split()
        if not parts or parts[0].startswith("<") or c in HANGUL:
            continue
        values = [int(part, 16) for part in parts]
        if len(values) == 1:
            single.append([c, *values])
        elif unicodedata.normalize("NFC", "".join(map(chr, values))) == chr(c):
            pairs.append([c, *values])
        else:
            only_apart.append([c, *values])
    write("unicode_pairs.cpp", "Canonical decompositions into two characters",
          rows("kComposedPairs", "DecomposedPair", pairs) + rows("kPairsKeptApart", "DecomposedPair", only_apart))
    write("unicode_singletons.cpp", "Canonical decompositions into one character, and combining classes",
          rows("kSingletons", "DecomposedPair", single) + rows("kCombiningRanges", "CombiningRange", classes))


if __name__ == "__main__":
    main()
