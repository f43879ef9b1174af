#include "engine/cache/cache_strategy.h"

#include <fmt/format.h>

#include <limits>

namespace decodescope {

std::int64_t EntryList::slot(std::int32_t entry) const { return entry_slot(table(), entry); }

EntryTable EntryList::table() const {
    EntryTable result;
    result.pages = pages.empty() ? nullptr : pages.data();
    result.log2_page = log2_page;
    result.count = count;
    result.positions = positions.empty() ? nullptr : positions.data();
    result.staged_first = staged_first;
    return result;
}

Status check_new_tokens(std::int64_t new_tokens, std::int64_t seen) {
    if (new_tokens < 1)
        return make_error(ErrorKind::Argument, fmt::format("A step needs at least one token, not {}.", new_tokens));
    const std::int64_t limit = std::numeric_limits<std::int32_t>::max();
    if (new_tokens > limit - seen) {
        return make_error(
            ErrorKind::Capacity,
            fmt::format("{} tokens after {} are more than the {} that positions can count.", new_tokens, seen, limit));
    }
    return {};
}

Status check_truncate(std::int64_t tokens, std::int64_t seen) {
    if (tokens >= 0 && tokens <= seen) return {};
    return make_error(ErrorKind::Argument, fmt::format("Cannot keep {} tokens of a sequence of {}.", tokens, seen),
                      fmt::format("Choose a number from 0 to {}.", seen));
}

std::vector<RowVisibility> causal_visibility(std::int64_t first, std::int64_t count, std::int64_t window) {
    std::vector<RowVisibility> rows(static_cast<std::size_t>(count));
    for (std::int64_t r = 0; r < count; ++r) {
        rows[static_cast<std::size_t>(r)].position = static_cast<std::int32_t>(first + r);
        if (window > 0 && first + r >= window)
            rows[static_cast<std::size_t>(r)].window_first = static_cast<std::int32_t>(first + r - window + 1);
    }
    return rows;
}

}  // namespace decodescope
