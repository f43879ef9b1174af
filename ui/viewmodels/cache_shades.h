// How strong each cell of the cache map is drawn: the root mean square of its row, between the smallest and the largest
// of its lane. Position 0, an outlier in most models, does not stretch the scale; it is drawn at its end.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

class CacheShades {
public:
    // Takes over rows that were appended since the last call; another recording starts anew.
    void update(const RunRecording* recording);
    // Mean RMS of positions [first, end) in a lane (0: K, 1: V); NaN where nothing was recorded. Costs the same for any
    // range.
    double mean(int layer, int lane, int first, int end) const;
    // 0.3 .. 1 by mean(first, end) from the smallest to the largest RMS of the lane, 0.65 while all are equal or none
    // is known.
    float strength(int layer, int lane, int first, int end) const;
    double largest(int layer, int lane) const;
    int positions() const { return positions_; }
    std::int64_t values_read() const { return values_read_; }

private:
    // sum[p], count[p]: over positions below p; values that are not finite do not count.
    struct Lane {
        std::vector<double> sum{0.0};
        std::vector<int> count{0};
        double smallest = 0, largest = 0;
        bool any = false;
    };
    void append(Lane& lane, int position, float rms);

    const RunRecording* source_ = nullptr;
    int rows_ = 0, positions_ = 0, layers_ = 0;
    std::int64_t values_read_ = 0;
    std::vector<Lane> lanes_;  // [2 * layers]
};

}  // namespace decodescope
