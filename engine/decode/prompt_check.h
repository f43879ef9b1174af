// What every prompt must pass, wherever it is fed.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/api/status.h"

namespace decodescope {

// Argument error for no token and for one outside of 0 .. vocabulary - 1.
Status check_prompt_tokens(std::span<const std::int32_t> prompt, std::int64_t vocabulary);
// Capacity error, with both numbers, for more tokens than the context has.
Status check_prompt_length(std::int64_t tokens, std::int64_t context);

}  // namespace decodescope
