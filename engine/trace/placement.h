// Where the rows of a sequence lie in memory and who owns the pages there. A recording keeps what each step changed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/model_config.h"

namespace decodescope {

// Larger caches are not recorded: the map says so, and a hostile file cannot ask for more.
constexpr std::int64_t kMostPlacedSlots = std::int64_t{1} << 20;
constexpr std::int64_t kMostPlacedPages = std::int64_t{1} << 16;
constexpr std::int32_t kNotStored = -1;
// Whose rows are recorded, where layers keep different tokens: the first that keeps what the strategy says, and not
// only the window that the model itself attends to.
std::int32_t placed_layer(const ModelConfig& config);

// Rows of consecutive positions in consecutive slots. Slot kNotStored: they are not stored (any more).
struct RowRun {
    std::int32_t position = 0, slot = 0, count = 0;
    std::int32_t slot_of(std::int32_t at) const { return slot == kNotStored ? kNotStored : slot + (at - position); }
    bool operator==(const RowRun&) const = default;
};

// Consecutive pages of which the same is true.
struct PageRun {
    std::int32_t page = 0, count = 0;
    bool findable = false;   // full, and can be found by the tokens it holds, also while it is free
    bool used = false;       // had an owner since the pool was made; false: set aside, never written
    bool reclaimed = false;  // was free and could be found, and was taken for something else
    std::vector<std::int32_t> owners;  // numbers of the sequences, in the order in which they came; empty: free
    bool same_state(const PageRun& other) const {
        return findable == other.findable && used == other.used && reclaimed == other.reclaimed &&
               owners == other.owners;
    }
    bool operator==(const PageRun&) const = default;
};

// State as of a step, or, in StepFacts, what the step changed.
struct Placement {
    bool known = false;            // false: not recorded
    bool whole = false;            // rows and pages are all there are; false: those that the step changed
    bool one_slab = false;         // one allocation for all layers, else one for each; the same slots in every layer
    std::int64_t slots = 0;        // that storage has
    std::int64_t page_tokens = 0;  // 0: not divided into pages
    std::int64_t next_slot = kNotStored;  // where the next row goes; kNotStored: nowhere, or not known
    bool next_copies = false;      // the page that it goes to is shared and will be copied first
    std::int32_t sequence = 0;     // number of this sequence among the owners
    std::vector<RowRun> rows;      // by position
    std::vector<PageRun> pages;    // by page
};

// What leads from `before` to `now`, both whole; `now` itself when nothing is known of before.
Placement placement_change(const Placement& before, const Placement& now);
// `change` applied to `state`, which is whole. False, state unchanged, when it cannot follow it.
bool apply_placement(Placement& state, const Placement& change);

}  // namespace decodescope
