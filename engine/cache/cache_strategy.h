// Policy of a cache: which positions stay, in which slots, and what may be read. Knows no tensor and no device. One
// object per (sequence, layer group), a layer group being layers that share one entry table.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cache/strategy_descriptor.h"
#include "engine/trace/placement.h"
#include "kernels/api/kv_view.h"
#include "kernels/api/status.h"

namespace decodescope {

// `count` rows that lie in consecutive slots and stay together when storage is exchanged.
struct SlotMove {
    std::int64_t from = 0, to = 0, count = 0;
};

// Which entries can be read and where they lie; EntryTable points into one of these. Empty vectors mean identity.
struct EntryList {
    std::int32_t count = 0;
    std::vector<std::int32_t> pages;      // page of entry e: pages[e >> log2_page]
    int log2_page = 30;
    std::vector<std::int32_t> positions;  // [count]
    std::int64_t staged_first = kNothingStaged;  // slots from this one on lie in scratch of the pass, see CachePlan

    std::int64_t slot(std::int32_t entry) const;
    std::int32_t position(std::int32_t entry) const {
        return positions.empty() ? entry : positions[static_cast<std::size_t>(entry)];
    }
    EntryTable table() const;  // valid while this object lives and is not changed
};

// What feeding new tokens will do. Nothing has happened yet: storage applies it, the step runs, then commit.
struct CachePlan {
    std::uint64_t revision = 0;        // state of the strategy that it was made for
    std::int64_t new_tokens = 0;
    std::int32_t first_position = 0;   // token position of the first new row: tokens_seen, never a count of stored rows
    EntryList entries;                 // while the step runs, the new rows included
    std::vector<std::int32_t> store_entries;   // [new rows]; empty: the last ones, in order
    std::vector<std::int64_t> store_slots;     // [new rows]; empty: nothing is stored
    std::vector<RowVisibility> visibility;     // [new rows]
    std::vector<std::int32_t> row_entries;     // [new rows] entries that each row sees
    std::vector<std::int32_t> evicted;         // positions that leave with this step
    std::vector<double> evicted_scores;        // [evicted] where a score decided, else empty
    // Of strategies that score, see observe(): what the pass added to the entries, row after row, a run for each.
    std::vector<std::int64_t> observed;        // [new rows, entries.count]
    std::int64_t stored_after = 0;             // tokens_stored once committed
    // Storage whose capacity in slots is not exactly capacity_after is exchanged for one that is, and `moves` are
    // copied.
    std::int64_t capacity_before = 0, capacity_after = 0;
    std::vector<SlotMove> moves;               // every row that stays
    // New rows that would overwrite what the pass still reads, or what must be left when it fails, are written to slots
    // capacity_after .. capacity_after + staged_rows - 1, which lie in a staging buffer (EntryList::staged_first). When
    // the pass has succeeded, `settled` rows are copied to slots of the cache; the others are gone.
    std::int64_t staged_rows = 0;
    std::vector<SlotMove> settled;
    // Pages that are shared and must be written: these rows are copied within the storage before the pass.
    std::vector<SlotMove> copies;
    std::vector<std::int32_t> fresh_pages;  // taken from the free ones with this step, in that order
};

// Of a strategy with pages; see PagePool.
struct PageCounts {
    std::int64_t used = 0;        // of this sequence
    std::int64_t shared = 0;      // of those, with more than one owner
    std::int64_t free = 0;        // that any sequence of the group may take
    std::int64_t page_tokens = 0;
};

class CacheStrategy {
public:
    virtual ~CacheStrategy() = default;

    // Pure. Capacity error with both numbers when the tokens do not fit; Argument error when new_tokens < 1.
    virtual Result<CachePlan> plan(std::int64_t new_tokens) const = 0;
    // Takes a plan that was made for the present state; no other call between them may have changed it.
    virtual void commit(const CachePlan& plan) = 0;
    // Keeps the first `tokens` of the tokens seen, exactly. Argument error when negative or more than seen (both
    // numbers); Unsupported error, saying how many can be kept, when rows that would be needed have left.
    virtual Status truncate(std::int64_t tokens) = 0;
    virtual void reset() = 0;  // as if just created
    virtual std::unique_ptr<CacheStrategy> clone() const = 0;

    // Two readings that are equal only while nothing leaves.
    virtual std::int64_t tokens_seen() const = 0;
    virtual std::int64_t tokens_stored() const = 0;
    virtual std::int64_t capacity() const = 0;      // slots that storage has or must have now
    virtual EntryList entries() const = 0;          // what could be read now
    virtual std::optional<std::int64_t> slot_of(std::int32_t position) const = 0;  // nothing when the row is not stored
    virtual bool bounded_by_context() const { return true; }  // false: no row is ever read from further than capacity()
    virtual bool capacity_can_grow() const { return false; }  // storage is exchanged for larger one when it is full
    virtual bool one_slab() const { return false; } // one allocation for all layers instead of one for each

    // Rows that the next plan may have at most: a strategy that decides after every row takes them one by one.
    virtual std::int64_t most_new_tokens() const { return std::numeric_limits<std::int32_t>::max(); }
    // Strategies that choose by attention. When sums are wanted, the pass gives them, summed over the query heads of a
    // layer, and observe() completes the plan with them: what leaves, and what is settled. Changes the plan only.
    virtual bool wants_weight_sums() const { return false; }
    virtual void observe(std::span<const float> /*sums, [new rows, entries.count]*/, CachePlan& /*plan*/) const {}

    // Strategies with pages. Their sequences share storage: a clone owns the same pages until one of them writes.
    virtual std::optional<PageCounts> page_counts() const { return std::nullopt; }
    virtual std::vector<PageRun> page_states() const { return {}; }  // of all pages of the group
    virtual std::int32_t sequence() const { return 0; }              // number of this one among the pages' owners
    virtual std::int64_t page_tokens() const { return 0; }  // rows of one page; 0: storage is not divided
    // The storage is about to be written as planned, whether the pass succeeds or not.
    virtual void begin_write(const CachePlan&) {}
    // Storage has room for the plan. Its pages are nobody else's from here on, so that other sequences may plan before
    // it is committed; a plan that is not held must be committed before the next one of the group is made.
    virtual void hold(const CachePlan&) {}
    // The pass failed: what is held can be taken by others again, in the order as before.
    virtual void release() {}
    // The tokens that were committed last, so that full pages can be found by them.
    virtual void name_tokens(std::span<const std::int32_t>) {}
    // Takes over stored rows of the first `tokens`, as many as can be found; only before anything was fed. Returns how
    // many tokens have been seen now.
    virtual std::int64_t take_prefix(std::span<const std::int32_t>) { return 0; }
    // Slots that nobody may read any more, for the debug build.
    virtual std::vector<SlotMove> dead_slots() const { return {}; }
};

// Checks that every strategy makes: at least one token, positions that fit 32 bits; 0 <= tokens <= seen.
Status check_new_tokens(std::int64_t new_tokens, std::int64_t seen);
Status check_truncate(std::int64_t tokens, std::int64_t seen);
// Rows at positions first .. first + count - 1 that see every position up to their own, or the last `window` of them.
std::vector<RowVisibility> causal_visibility(std::int64_t first, std::int64_t count, std::int64_t window = 0);

}  // namespace decodescope
