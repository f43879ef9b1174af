#include "ui/viewmodels/placement_track.h"

#include <algorithm>

#include "ui/viewmodels/viewed_step.h"

namespace decodescope {

void PlacementTrack::update(const RunRecording* recording, int step) {
    const int count = recording == nullptr ? 0 : recording->step_count();
    if (step < 0 || step >= count) {
        *this = PlacementTrack();
        return;
    }
    if (recording == source_ && step == step_) return;
    int from = step;
    if (recording == source_ && step > step_) {
        from = step_ + 1;
    } else {
        state_ = {};
        while (from > 0 && recording->step(from)->placement.known && !recording->step(from)->placement.whole) --from;
    }
    for (int s = from; s <= step; ++s)
        if (!apply_placement(state_, recording->step(s)->placement)) state_ = {};
    source_ = recording;
    step_ = step;
    change_ = recording->step(step)->placement;
    rebuild();
    find_written();
}

void PlacementTrack::rebuild() {
    by_slot_ = state_.rows;
    std::sort(by_slot_.begin(), by_slot_.end(), [](const RowRun& a, const RowRun& b) { return a.slot < b.slot; });
    rows_before_.assign(1, 0);
    for (const RowRun& run : by_slot_) rows_before_.push_back(rows_before_.back() + run.count);
}

void PlacementTrack::find_written() {
    written_.clear();
    if (!state_.known) return;
    if (!change_.whole) {
        for (const RowRun& run : change_.rows)
            if (run.slot != kNotStored) written_.push_back(run);
        return;
    }
    const ViewedStep view = viewed_step(source_, step_);
    const int first = view.first_new < source_->row_count() ? source_->row(view.first_new).position : 0;
    for (const RowRun& run : state_.rows) {
        const int skipped = std::max(0, first - run.position);
        if (skipped < run.count) written_.push_back({run.position + skipped, run.slot + skipped, run.count - skipped});
    }
}

std::optional<int> PlacementTrack::slot_of(int position) const {
    const auto after =
        std::upper_bound(state_.rows.begin(), state_.rows.end(), position,
                         [](int value, const RowRun& run) { return value < run.position; });
    if (after == state_.rows.begin()) return std::nullopt;
    const RowRun& run = *std::prev(after);
    return position < run.position + run.count ? std::optional(run.slot_of(position)) : std::nullopt;
}

std::optional<int> PlacementTrack::position_in(int slot) const {
    const auto after = std::upper_bound(by_slot_.begin(), by_slot_.end(), slot,
                                        [](int value, const RowRun& run) { return value < run.slot; });
    if (after == by_slot_.begin()) return std::nullopt;
    const RowRun& run = *std::prev(after);
    return slot < run.slot + run.count ? std::optional(run.position + slot - run.slot) : std::nullopt;
}

int PlacementTrack::rows_in(int first_slot, int end_slot) const {
    const auto before = [this](int slot) {
        const auto after = std::lower_bound(by_slot_.begin(), by_slot_.end(), slot,
                                            [](const RowRun& run, int value) { return run.slot < value; });
        const auto index = static_cast<std::size_t>(after - by_slot_.begin());
        if (index == 0) return std::int64_t{0};
        const RowRun& last = by_slot_[index - 1];
        return rows_before_[index - 1] + std::min<std::int64_t>(last.count, slot - last.slot);
    };
    return static_cast<int>(before(std::max(first_slot, end_slot)) - before(first_slot));
}

int PlacementTrack::pages() const {
    return state_.page_tokens > 0 ? static_cast<int>(state_.slots / state_.page_tokens) : 0;
}

const PageRun* PlacementTrack::page(int page) const {
    const auto after = std::upper_bound(state_.pages.begin(), state_.pages.end(), page,
                                        [](int value, const PageRun& run) { return value < run.page; });
    if (after == state_.pages.begin()) return nullptr;
    const PageRun& run = *std::prev(after);
    return page < run.page + run.count ? &run : nullptr;
}

bool PlacementTrack::page_changed(int page) const {
    if (change_.whole) return false;
    return std::any_of(change_.pages.begin(), change_.pages.end(), [page](const PageRun& run) {
        return page >= run.page && page < run.page + run.count;
    });
}

}  // namespace decodescope
