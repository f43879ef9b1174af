// What a tokenizer does to text before it is cut: a sign put in front, signs replaced, characters composed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace decodescope {

struct NormalizerStep {
    enum class Kind : std::uint8_t {
        Prepend,  // `to` before a text that is not empty
        Replace,  // every `from` by `to`
        Compose,  // Unicode normalization form C
    };
    Kind kind = Kind::Compose;
    std::string from, to;
};

// Without `prepend`, steps of that kind are left out: the text continues another one.
std::string normalized(const std::vector<NormalizerStep>& steps, std::string_view text, bool prepend = true);

// Every `from`, which must not be empty, by `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

// Unicode normalization form C (UAX #15): canonical decomposition, then composition. Bytes that are no UTF-8 stay.
std::string composed(std::string_view text);

}  // namespace decodescope
