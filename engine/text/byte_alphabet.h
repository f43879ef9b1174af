// The printable stand-ins of byte-level BPE: every byte is written as one character in vocab.json and merges.txt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decodescope {

// Bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF stand for themselves; the other 68, in order, are U+0100 to U+0143.
std::uint32_t byte_stand_in(std::uint8_t byte);

// The bytes that a token written in the alphabet stands for. Nothing when it has a character outside the alphabet.
std::optional<std::string> bytes_of_stand_ins(std::string_view token);

// The stand-ins of `bytes`, as UTF-8.
std::string stand_ins_of_bytes(std::string_view bytes);

}  // namespace decodescope
