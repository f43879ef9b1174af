#include "engine/trace/placement.h"

#include <algorithm>
#include <utility>

#include "engine/model/layer_kinds.h"

namespace decodescope {

std::int32_t placed_layer(const ModelConfig& config) {
    for (std::int32_t layer = 0; layer < config.layers; ++layer)
        if (layer_window(config, layer) == 0) return layer;
    return 0;
}

namespace {

void append(std::vector<RowRun>& runs, const RowRun& next) {
    if (next.count <= 0) return;
    if (!runs.empty()) {
        RowRun& last = runs.back();
        const bool follows = last.position + last.count == next.position;
        const bool same = (last.slot == kNotStored) == (next.slot == kNotStored) &&
                          (next.slot == kNotStored || last.slot + last.count == next.slot);
        if (follows && same) {
            last.count += next.count;
            return;
        }
    }
    runs.push_back(next);
}

void append(std::vector<PageRun>& runs, const PageRun& from, std::int32_t page, std::int32_t count) {
    if (count <= 0) return;
    if (!runs.empty() && runs.back().page + runs.back().count == page && runs.back().same_state(from)) {
        runs.back().count += count;
        return;
    }
    runs.push_back(from);
    runs.back().page = page;
    runs.back().count = count;
}

// Walks two sorted lists of runs over the same numbers. Calls visit(first, count, a, b) for every stretch in which
// neither changes; null where a list has no run.
template <class Run, class First, class Visit>
void walk(const std::vector<Run>& a, const std::vector<Run>& b, First first, const Visit& visit) {
    std::size_t i = 0, j = 0;
    std::int64_t at = 0;
    while (i < a.size() || j < b.size()) {
        const auto begin = [&](const std::vector<Run>& list, std::size_t k) {
            return k < list.size() ? std::max<std::int64_t>(first(list[k]), at) : std::int64_t{1} << 40;
        };
        const auto end = [&](const std::vector<Run>& list, std::size_t k) {
            return k < list.size() ? std::int64_t{first(list[k])} + list[k].count : std::int64_t{1} << 40;
        };
        const std::int64_t from_a = begin(a, i), from_b = begin(b, j), from = std::min(from_a, from_b);
        std::int64_t to = std::min(from_a == from ? end(a, i) : from_a, from_b == from ? end(b, j) : from_b);
        if (to > from)
            visit(static_cast<std::int32_t>(from), static_cast<std::int32_t>(to - from),
                  from_a == from ? &a[i] : nullptr, from_b == from ? &b[j] : nullptr);
        at = std::max(at, std::max(from, to));
        while (i < a.size() && end(a, i) <= at) ++i;
        while (j < b.size() && end(b, j) <= at) ++j;
    }
}

std::int32_t first_position(const RowRun& run) { return run.position; }
std::int32_t first_page(const PageRun& run) { return run.page; }

std::vector<RowRun> changed_rows(const std::vector<RowRun>& before, const std::vector<RowRun>& now) {
    std::vector<RowRun> changed;
    walk(before, now, first_position, [&](std::int32_t position, std::int32_t count, const RowRun* a, const RowRun* b) {
        const std::int32_t old = a == nullptr ? kNotStored : a->slot_of(position);
        const std::int32_t slot = b == nullptr ? kNotStored : b->slot_of(position);
        if (old != slot) append(changed, RowRun{position, slot, count});
    });
    return changed;
}

std::vector<RowRun> with_rows(const std::vector<RowRun>& before, const std::vector<RowRun>& changed) {
    std::vector<RowRun> rows;
    walk(before, changed, first_position,
         [&](std::int32_t position, std::int32_t count, const RowRun* a, const RowRun* b) {
             const std::int32_t slot = b != nullptr ? b->slot_of(position) : a->slot_of(position);
             if (slot != kNotStored) append(rows, RowRun{position, slot, count});
         });
    return rows;
}

std::vector<PageRun> changed_pages(const std::vector<PageRun>& before, const std::vector<PageRun>& now) {
    std::vector<PageRun> changed;
    walk(before, now, first_page, [&](std::int32_t page, std::int32_t count, const PageRun* a, const PageRun* b) {
        if (b != nullptr && (a == nullptr || !a->same_state(*b))) append(changed, *b, page, count);
    });
    return changed;
}

std::vector<PageRun> with_pages(const std::vector<PageRun>& before, const std::vector<PageRun>& changed) {
    std::vector<PageRun> pages;
    walk(before, changed, first_page, [&](std::int32_t page, std::int32_t count, const PageRun* a, const PageRun* b) {
        append(pages, b != nullptr ? *b : *a, page, count);
    });
    return pages;
}

}  // namespace

Placement placement_change(const Placement& before, const Placement& now) {
    // Pages never leave a pool, and storage is divided once.
    if (!before.known || !now.known || before.page_tokens != now.page_tokens || before.slots > now.slots) return now;
    Placement change = now;
    change.whole = false;
    change.rows = changed_rows(before.rows, now.rows);
    change.pages = changed_pages(before.pages, now.pages);
    return change;
}

bool apply_placement(Placement& state, const Placement& change) {
    if (change.whole || !change.known) {
        state = change;
        return true;
    }
    if (!state.known || state.page_tokens != change.page_tokens) return false;
    std::vector<RowRun> rows = with_rows(state.rows, change.rows);
    std::vector<PageRun> pages = with_pages(state.pages, change.pages);
    state = change;
    state.whole = true;
    state.rows = std::move(rows);
    state.pages = std::move(pages);
    return true;
}

}  // namespace decodescope
