// Which waiting sequences of a batch may start. Numbers only: no tensor, no session.
//
// First come, first served, with these rules:
// - What could never fit, even alone, is refused at once with what it needs and what there is.
// - A sequence starts when everything that it may ever need can be set aside for it. So what has started never waits
//   for room again, and nothing is ever put off half way (there is no preemption).
// - A later sequence may overtake earlier ones that do not fit yet, but nobody is overtaken more than kMostOvertakes
//   times: after that nothing starts before it, the others end, and it fits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "kernels/api/status.h"

namespace decodescope {

using SequenceId = std::int64_t;

class BatchAdmission {
public:
    static constexpr int kMostOvertakes = 4;

    struct Limits {
        std::int64_t units = 0;        // in all: pages, or where the cache has none, tokens or bytes
        std::int64_t page_tokens = 0;  // 0: a unit is the room of one token, or a byte
        std::int64_t sequences = 1;    // that may be active at once
        // Growing storage: while it is exchanged, one of so many parts (layers) of a sequence lies twice, old and new.
        // Sequences are exchanged one after the other. 0: storage is never exchanged.
        std::int64_t exchange_parts = 0;
        std::string_view unit = "token";  // without pages; "byte" where layers keep different numbers of tokens
    };
    // What a waiting sequence would find stored: such units are not taken. `free` of them belong to nobody now, so that
    // nobody else can take them once it starts. `more_soon`: an active sequence is computing more that it will find, so
    // it waits for that; this is no overtaking.
    struct Found {
        std::int64_t units = 0, free = 0;
        bool more_soon = false;
    };
    using FindStored = std::function<Found(SequenceId)>;

    explicit BatchAdmission(const Limits& limits) : limits_(limits) {}

    // The sequence, with room for `tokens` (without pages: that many units), waits from now on. Capacity error with
    // both numbers when it can never fit.
    Status submit(SequenceId id, std::int64_t tokens);
    // Starts the next one that may start, and sets aside what it needs; nothing: none may. `free_units`: those that
    // belong to nobody, what is set aside included.
    std::optional<SequenceId> next(std::int64_t free_units, const FindStored& find_stored);
    // An active sequence has `units` by now; the rest stays set aside for it.
    void has_taken(SequenceId id, std::int64_t units);
    // It is finished, or was given up while it waited.
    void leave(SequenceId id);

    std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
    std::optional<SequenceId> first_waiting() const;
    std::int64_t active() const { return static_cast<std::int64_t>(active_.size()); }
    std::int64_t set_aside() const { return set_aside_; }  // units that active sequences may still take
    std::int64_t units_of(std::int64_t tokens) const;
    std::int64_t exchanged(std::int64_t units) const;  // that lie twice for a moment; rounded up
    const Limits& limits() const { return limits_; }

private:
    struct Waiting {
        SequenceId id = 0;
        std::int64_t units = 0;
        int overtaken = 0;
    };
    struct Active {
        std::int64_t units = 0, taken = 0;
    };

    Limits limits_;
    std::deque<Waiting> waiting_;
    std::map<SequenceId, Active> active_;
    std::int64_t set_aside_ = 0;
};

}  // namespace decodescope
