// A bound that needs no tokenizing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/text/tokenizer.h"

namespace decodescope {

// A text of so many bytes has at least this many tokens: bytes / longest token. A text that can never fit the context
// is refused by it at once, before 50 MB are tokenized.
std::int64_t least_tokens(const Tokenizer& tokenizer, std::size_t text_bytes);

// An error when a text of so many bytes can never fit a context of so many tokens, whatever it says.
Status check_text_bytes(const Tokenizer& tokenizer, std::size_t text_bytes, std::int64_t context);

}  // namespace decodescope
