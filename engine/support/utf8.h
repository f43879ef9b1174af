// UTF-8 as it comes from tokens and files: complete, cut off, or wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace decodescope {

enum class Utf8Kind : std::uint8_t {
    Valid,       // one character
    Incomplete,  // the beginning of a character; more bytes could complete it
    Invalid,     // cannot become a character, whatever follows
};

struct Utf8Unit {
    Utf8Kind kind = Utf8Kind::Invalid;
    std::size_t bytes = 0;         // length; for Invalid the longest wrong beginning, replaced by one U+FFFD
    std::uint32_t code_point = 0;  // when Valid
};

// The unit at the front of `text`, which must not be empty. Overlong forms, surrogates and values above U+10FFFF are
// Invalid. The division of wrong bytes is that of the Unicode standard ("maximal subparts").
Utf8Unit utf8_front(std::string_view text);
// Length of the longest valid beginning.
std::size_t utf8_valid_prefix(std::string_view text);
bool utf8_is_valid(std::string_view text);
void utf8_append(std::string& to, std::uint32_t code_point);
// Every wrong or cut-off unit becomes U+FFFD.
std::string utf8_repaired(std::string_view text);

// For chips and tables: characters that draw nothing or turn the writing direction as \n, \x1B or \u200B, and bytes of
// wrong or cut-off units as \xF0\x9F. Spaces stay.
std::string utf8_escaped(std::string_view text);

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace decodescope
