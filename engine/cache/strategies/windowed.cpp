#include "engine/cache/strategies/windowed.h"

#include <fmt/format.h>

#include <algorithm>

namespace decodescope {

WindowedStrategy::WindowedStrategy(std::int64_t sinks, std::int64_t window, bool rebased)
    : sinks_(sinks), window_(window), rebased_(rebased), oldest_(sinks) {
    DS_CHECK(sinks >= 0 && window >= 1);
}

std::int64_t WindowedStrategy::stored(std::int64_t oldest, std::int64_t seen) const {
    return std::min(seen, sinks_) + std::max<std::int64_t>(seen - oldest, 0);
}

std::int64_t WindowedStrategy::oldest_after(std::int64_t seen) const { return std::max(oldest_, seen - window_); }

RowVisibility WindowedStrategy::visibility(std::int64_t position) const {
    RowVisibility row;
    row.position = static_cast<std::int32_t>(position);
    row.window_first = static_cast<std::int32_t>(std::max<std::int64_t>(position - window_ + 1, 0));
    row.sink_end = static_cast<std::int32_t>(sinks_);
    // As many tokens as have left between the sinks and the window.
    if (rebased_) row.sink_shift = static_cast<std::int32_t>(std::max<std::int64_t>(position + 1 - capacity(), 0));
    return row;
}

EntryList WindowedStrategy::list(std::int64_t first, std::int64_t seen) const {
    EntryList list;
    list.count = static_cast<std::int32_t>(stored(first, seen));
    if (identity(seen)) return list;
    list.log2_page = 0;
    const auto add = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t position = begin; position < end; ++position) {
            list.pages.push_back(static_cast<std::int32_t>(slot(position)));
            list.positions.push_back(static_cast<std::int32_t>(position));
        }
    };
    add(0, std::min(seen, sinks_));
    add(first, seen);
    return list;
}

// The new rows go beside the cache; those that stay are settled afterwards, runs of neighbours at a time.
void WindowedStrategy::stage(CachePlan& plan) const {
    const std::int64_t seen = seen_ + plan.new_tokens, oldest = oldest_after(seen);
    plan.entries.staged_first = capacity();
    plan.staged_rows = plan.new_tokens;
    for (std::int64_t r = 0; r < plan.new_tokens; ++r) {
        const std::int64_t position = seen_ + r, from = capacity() + r, to = slot(position);
        plan.store_slots.push_back(from);
        plan.entries.pages[static_cast<std::size_t>(plan.entries.count - plan.new_tokens + r)] =
            static_cast<std::int32_t>(from);
        if (position >= sinks_ && position < oldest) continue;
        auto& settled = plan.settled;
        if (!settled.empty() && settled.back().from + settled.back().count == from &&
            settled.back().to + settled.back().count == to)
            ++settled.back().count;
        else
            settled.push_back({from, to, 1});
    }
}

Result<CachePlan> WindowedStrategy::plan(std::int64_t new_tokens) const {
    DS_RETURN_IF_ERROR(check_new_tokens(new_tokens, seen_));
    const std::int64_t seen = seen_ + new_tokens, oldest = oldest_after(seen);
    CachePlan plan;
    plan.revision = revision_;
    plan.new_tokens = new_tokens;
    plan.first_position = static_cast<std::int32_t>(seen_);
    plan.stored_after = stored(oldest, seen);
    plan.capacity_before = plan.capacity_after = capacity();
    for (std::int64_t position = seen_; position < seen; ++position) {
        plan.visibility.push_back(visibility(position));
        plan.row_entries.push_back(static_cast<std::int32_t>(std::min(position + 1, capacity())));
    }
    for (std::int64_t position = oldest_; position < oldest; ++position)
        plan.evicted.push_back(static_cast<std::int32_t>(position));
    // Old rows that even the first new row no longer sees are not listed.
    plan.entries = list(std::max(oldest_, seen_ - window_ + 1), seen);
    if (oldest > oldest_) {
        stage(plan);
    } else {
        for (std::int64_t position = seen_; position < seen; ++position) plan.store_slots.push_back(slot(position));
    }
    return plan;
}

void WindowedStrategy::commit(const CachePlan& plan) {
    DS_CHECK(plan.revision == revision_);
    seen_ += plan.new_tokens;
    oldest_ = oldest_after(seen_);
    ++revision_;
}

Status WindowedStrategy::truncate(std::int64_t tokens) {
    DS_RETURN_IF_ERROR(check_truncate(tokens, seen_));
    // The next row would read these rows after the sinks.
    const std::int64_t needed = std::max(sinks_, tokens - window_ + 1);
    if (needed < tokens && needed < oldest_) {
        return make_error(
            ErrorKind::Unsupported,
            fmt::format("Cannot keep {} of {} tokens: the rows of positions {} to {}, which the next token would read, "
                        "have been evicted.",
                        tokens, seen_, needed, std::min(oldest_, tokens) - 1),
            fmt::format("{} to {} tokens can be kept, or {}; otherwise feed the text again.",
                        oldest_ + window_ - 1, seen_, sinks_ == 0 ? "none" : fmt::format("up to {}", sinks_)));
    }
    oldest_ = std::min(oldest_, std::max(sinks_, tokens));
    seen_ = tokens;
    ++revision_;
    return {};
}

void WindowedStrategy::reset() {
    seen_ = 0;
    oldest_ = sinks_;
    ++revision_;
}

EntryList WindowedStrategy::entries() const { return list(oldest_, seen_); }

std::optional<std::int64_t> WindowedStrategy::slot_of(std::int32_t position) const {
    const bool stored = position >= 0 && position < seen_ && (position < sinks_ || position >= oldest_);
    return stored ? std::optional(slot(position)) : std::nullopt;
}

}  // namespace decodescope
