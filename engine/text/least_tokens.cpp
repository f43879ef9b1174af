#include "engine/text/least_tokens.h"

#include <algorithm>

namespace decodescope {

std::int64_t least_tokens(const Tokenizer& tokenizer, std::size_t text_bytes) {
    std::size_t longest = 1;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id)
        longest = std::max(longest, tokenizer.token_bytes(id).size());
    return static_cast<std::int64_t>((text_bytes + longest - 1) / longest);
}

}  // namespace decodescope
