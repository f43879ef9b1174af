#include "ui/viewmodels/viewed_step.h"

#include <algorithm>

namespace decodescope {
namespace {
constexpr int kMostPositions = 1 << 20;  // a hostile file cannot make the index larger
}

ViewedStep viewed_step(const RunRecording* recording, int step) {
    ViewedStep view;
    if (recording == nullptr || step < 0 || step >= recording->step_count()) return view;
    view.facts = recording->step(step);
    if (!view.facts) return view;
    view.first_new = view.facts->first_row;
    view.row_limit = std::min(view.facts->first_row + view.facts->row_count, recording->row_count());
    return view;
}

int TokenTrack::update(const RunRecording* recording) {
    if (recording != source_) {
        source_ = recording;
        rows_ = 0;
        row_of_.clear();
        position_of_.clear();
    }
    const int first = rows_;
    const int count = recording == nullptr ? 0 : recording->row_count();
    for (; rows_ < count; ++rows_) {
        const int position = recording->row(rows_).position;
        position_of_.push_back(position);
        if (position < 0 || position >= kMostPositions) continue;
        if (position >= positions()) row_of_.resize(static_cast<std::size_t>(position) + 1, -1);
        row_of_[static_cast<std::size_t>(position)] = rows_;
    }
    return first;
}

int TokenTrack::row_of(int position) const {
    return position < 0 || position >= positions() ? -1 : row_of_[static_cast<std::size_t>(position)];
}

int TokenTrack::position_of(int row) const {
    return row < 0 || row >= rows_ ? -1 : position_of_[static_cast<std::size_t>(row)];
}

}  // namespace decodescope
