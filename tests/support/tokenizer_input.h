// What a tokenizer's files may hold, from bytes that nobody wrote as such.
#pragma once

#include <cstddef>
#include <span>

namespace decodescope {

// Bytes without a zero are a tokenizer.json; with one, vocab.json before it and merges.txt behind. What can be read
// tokenizes and decodes a short text in every way. The program stops when decoding gives other bytes than the tokens
// have or an id beyond the vocabulary comes out.
void parse_tokenizer_input(std::span<const std::byte> bytes);

}  // namespace decodescope
