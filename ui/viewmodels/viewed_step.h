// What "now" means for a panel: the viewed step and the rows that exist as of it.
#pragma once

#include <memory>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

struct ViewedStep {
    std::shared_ptr<const StepFacts> facts;  // null: no step yet
    int row_limit = 0;                       // rows 0 .. row_limit - 1 exist as of the step
    int first_new = 0;                       // first row that the step wrote
    int newest_row() const { return row_limit - 1; }  // -1: none
};

// Step -1 or no recording: nothing exists.
ViewedStep viewed_step(const RunRecording* recording, int step);

// Rows by position: a position that was fed again is found at its newest row.
class TokenTrack {
public:
    // Takes over rows that were appended since the last call; another recording starts anew. Returns the first new row.
    int update(const RunRecording* recording);
    int rows() const { return rows_; }
    int positions() const { return static_cast<int>(row_of_.size()); }
    int row_of(int position) const;       // -1: none
    int position_of(int row) const;       // -1: none

private:
    const RunRecording* source_ = nullptr;
    int rows_ = 0;
    std::vector<int> row_of_, position_of_;
};

}  // namespace decodescope
