#include "engine/text/least_tokens.h"

#include <fmt/format.h>

#include <algorithm>

namespace decodescope {

std::int64_t least_tokens(const Tokenizer& tokenizer, std::size_t text_bytes) {
    std::size_t longest = 1;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id)
        longest = std::max(longest, tokenizer.token_bytes(id).size());
    return static_cast<std::int64_t>((text_bytes + longest - 1) / longest);
}

Status check_text_bytes(const Tokenizer& tokenizer, std::size_t text_bytes, std::int64_t context) {
    // Normalization may make a text shorter, never to less than a third of its bytes (Unicode, UAX #15).
    const std::int64_t least = least_tokens(tokenizer, text_bytes / 3);
    if (least <= context) return {};
    return make_error(ErrorKind::Capacity,
                      fmt::format("The prompt of {} bytes has at least {} tokens and the context of the model is {}.",
                                  text_bytes, least, context),
                      "Shorten the prompt.");
}

}  // namespace decodescope
