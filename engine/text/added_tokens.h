// Tokens that are looked for in the text itself, before it is cut and merged.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

struct AddedToken {
    std::int32_t id = 0;
    std::string text;        // as written
    bool special = false;    // found in text only with parse_special; the others always
    bool normalized = false; // looked for in the normalized text, as its own normalized form
};

// std::hash for look-ups by std::string_view.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// One look-up for each length that occurs with the first byte: thousands of tokens that begin alike cost no more.
class AddedTokens {
public:
    // A text that is there already keeps its first token.
    void add(std::int32_t id, std::string_view text, bool special);
    bool empty() const { return tokens_.empty(); }

    struct Part {
        std::string_view text;   // never empty
        std::int32_t token = -1; // -1: text between tokens
    };
    using PartSink = std::function<Status(const Part& part)>;
    // From left to right, the longest token at each place; special ones only with parse_special.
    Status split(std::string_view text, bool parse_special, const PartSink& sink) const;

private:
    struct Entry {
        std::int32_t id;
        bool special;
    };
    using Lengths = std::array<std::vector<std::size_t>, 256>;  // by first byte, the longest first
    // The length of the token at the front of `text`, whose id goes to `token`; 0 when there is none.
    std::size_t token_at(std::string_view text, bool parse_special, std::int32_t& token) const;

    TextMap<Entry> tokens_;
    Lengths plain_, all_;
};

}  // namespace decodescope
