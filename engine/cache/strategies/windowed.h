// What ring and sinks share: the first `sinks` tokens and the last `window` stay. Position t lies in slot t while
// t < sinks, else in slot sinks + (t - sinks) mod window; row t sees the sinks and positions t - window + 1 .. t. A
// ring is a window without sinks.
//
// Entries are listed by position, not by slot: what a row sees is then a run of neighbours (after the sinks), slots
// that a truncation emptied need no entry, and the sums have the same order wherever the ring begins.
//
// A pass that would overwrite rows that it still reads, or that a cancelled pass must leave, writes its rows beside the
// cache: slots capacity .. capacity + new - 1 are staged, and the last of them are settled into their own slots when
// the pass has succeeded.
#pragma once

#include "engine/cache/cache_strategy.h"

namespace decodescope {

class WindowedStrategy final : public CacheStrategy {
public:
    // `rebased`: positions count inside the cache, see RowVisibility::sink_shift.
    WindowedStrategy(std::int64_t sinks, std::int64_t window, bool rebased);

    Result<CachePlan> plan(std::int64_t new_tokens) const override;
    void commit(const CachePlan& plan) override;
    Status truncate(std::int64_t tokens) override;
    void reset() override;
    std::unique_ptr<CacheStrategy> clone() const override { return std::make_unique<WindowedStrategy>(*this); }
    std::int64_t tokens_seen() const override { return seen_; }
    std::int64_t tokens_stored() const override { return stored(oldest_, seen_); }
    std::int64_t capacity() const override { return sinks_ + window_; }
    EntryList entries() const override;
    std::optional<std::int64_t> slot_of(std::int32_t position) const override;
    bool bounded_by_context() const override { return !rebased_; }

private:
    std::int64_t slot(std::int64_t position) const {
        return position < sinks_ ? position : sinks_ + (position - sinks_) % window_;
    }
    // Rows kept of a sequence of `seen` tokens whose oldest kept one after the sinks is at `oldest`.
    std::int64_t stored(std::int64_t oldest, std::int64_t seen) const;
    // The oldest row after the sinks that is kept once `seen` tokens have been fed.
    std::int64_t oldest_after(std::int64_t seen) const;
    bool identity(std::int64_t seen) const { return oldest_ == sinks_ && seen <= capacity(); }
    RowVisibility visibility(std::int64_t position) const;
    // Kept positions: the sinks below `seen`, and from `first` to `seen` - 1.
    EntryList list(std::int64_t first, std::int64_t seen) const;
    void stage(CachePlan& plan) const;

    std::int64_t sinks_ = 0, window_ = 1;
    bool rebased_ = false;
    std::int64_t seen_ = 0;
    std::int64_t oldest_ = 0;  // rows at oldest_ .. seen_ - 1 are stored, and the sinks; never below sinks_
    std::uint64_t revision_ = 0;
};

}  // namespace decodescope
