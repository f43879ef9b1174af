// Where the rows of the viewed sequence lie as of a step, put together from what each step changed.
#pragma once

#include <optional>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

class PlacementTrack {
public:
    // Steps forward cost what they changed; a step back starts at the last step that says everything.
    void update(const RunRecording* recording, int step);
    const Placement& state() const { return state_; }  // not known where it was not recorded

    std::optional<int> slot_of(int position) const;
    // Position of the viewed sequence that the slot holds.
    std::optional<int> position_in(int slot) const;
    int rows_in(int first_slot, int end_slot) const;  // of the viewed sequence
    const PageRun* page(int page) const;              // null: not divided, or no such page
    int pages() const;
    // Rows that came to lie where they are in the step, the copied ones included.
    const std::vector<RowRun>& written() const { return written_; }
    // Whether the page came to its owners, or lost one, in the step.
    bool page_changed(int page) const;

private:
    void rebuild();
    void find_written();

    const RunRecording* source_ = nullptr;
    int step_ = -1;
    Placement state_, change_;
    std::vector<RowRun> by_slot_, written_;
    std::vector<std::int64_t> rows_before_;  // [by_slot_] rows in the runs before
};

}  // namespace decodescope
