// Between the options as they were typed and the Arguments that commands get.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/arguments.h"

namespace decodescope {

// What CLI11 fills; turned into Arguments by finish_arguments.
struct RawArguments {
    std::optional<std::string> weights, lengths, tokens, schedule, size;
    std::vector<std::string> caches, kv_types, configs;
    bool from_prompt = false, from_file = false, from_tokens = false;  // what the command was given
};

inline Error refuse(std::string message, std::string hint = {}) {
    return make_error(ErrorKind::Argument, std::move(message), std::move(hint));
}

// The whole text is the number: decimal, no '+', no spaces, and it fits into T instead of being wrapped or cut.
template <class T>
bool parse_number(std::string_view text, T& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc{} && end == text.data() + text.size();
}

// Fills in what `raw` says and checks everything that can be decided without opening a file.
Status finish_arguments(Arguments& a, const RawArguments& raw);

}  // namespace decodescope
