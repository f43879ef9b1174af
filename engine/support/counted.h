// Numbers with their nouns in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace decodescope {

// "1 page", "2 pages", "0 pages": nouns that take an s.
inline std::string counted(std::int64_t count, std::string_view noun) {
    std::string text = std::to_string(count) + " ";
    text += noun;
    if (count != 1) text += 's';
    return text;
}

}  // namespace decodescope
