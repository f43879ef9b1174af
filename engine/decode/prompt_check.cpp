#include "engine/decode/prompt_check.h"

#include <fmt/format.h>

namespace decodescope {

Status check_prompt_tokens(std::span<const std::int32_t> prompt, std::int64_t vocabulary) {
    if (prompt.empty())
        return make_error(ErrorKind::Argument, "The prompt has no tokens.", "Type at least one character.");
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        if (prompt[i] >= 0 && prompt[i] < vocabulary) continue;
        return make_error(
            ErrorKind::Argument,
            fmt::format("Token {} of the prompt is {}; the vocabulary has {} entries.", i, prompt[i], vocabulary),
            fmt::format("Token ids go from 0 to {}.", vocabulary - 1));
    }
    return {};
}

Status check_prompt_length(std::int64_t tokens, std::int64_t context) {
    if (tokens <= context) return {};
    return make_error(ErrorKind::Capacity,
                      fmt::format("The prompt has {} tokens and the context of the model is {}.", tokens, context),
                      "Shorten the prompt.");
}

}  // namespace decodescope
