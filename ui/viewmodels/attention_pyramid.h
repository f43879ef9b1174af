// One head's map (or the mean over the heads of a layer) at every zoom. Level 0 is read from the recording where it is
// looked at; merged levels grow row by row. What drawing costs depends on the pixels, never on the length of the run.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ui/viewmodels/heatmap_layout.h"
#include "ui/viewmodels/pooled_map.h"

namespace decodescope {

class AttentionPyramid {
public:
    static constexpr int kMeanOfHeads = -1;
    static constexpr int kHighestLevel = 6;

    // Another recording, layer or head starts anew.
    void select(RecordingPtr recording, int layer, int head);
    // Takes over new rows while `budget` cells last and lowers it; true when every row of the recording is in.
    bool advance(std::int64_t& budget);
    int rows() const { return rows_; }
    int layer() const { return layer_; }
    int head() const { return head_; }

    // Cells [first_column, end_column) of a merged row at a level; missing ones are kOutside.
    void read(int level, int merged_row, int first_column, int end_column, std::vector<MapValue>& cells) const;
    // One cell at full resolution.
    MapValue value(int row, int column) const;
    std::int64_t cells_touched() const { return cells_touched_; }  // since the start, for tests of cost
    // Runs of rows that were not captured, in order.
    const std::vector<IndexRange>& rows_not_captured() const { return not_captured_; }

private:
    void encode(int row, std::vector<MapValue>& cells) const;

    RecordingPtr recording_;
    int layer_ = 0, head_ = 0, rows_ = 0;
    std::array<PooledMap, kHighestLevel> merged_ = {PooledMap(1), PooledMap(2), PooledMap(3),
                                                    PooledMap(4), PooledMap(5), PooledMap(6)};
    std::vector<std::vector<MapValue>> mean_rows_;  // [rows], only for the mean
    std::vector<MapValue> scratch_;
    std::vector<IndexRange> not_captured_;
    mutable std::int64_t cells_touched_ = 0;
};

// The small maps of all heads, each at most kMostSide merged rows.
class AttentionOverview {
public:
    static constexpr int kMostSide = 96;

    void select(RecordingPtr recording);
    bool advance(std::int64_t& budget);
    int layers() const { return layers_; }
    int heads() const { return heads_; }
    int rows() const { return rows_; }
    const PooledMap& map(int layer, int head) const { return maps_[static_cast<std::size_t>(layer * heads_ + head)]; }
    // Merged rows below this one have not changed since the last call of take_changed(); 0: everything may have.
    int take_changed();

private:
    RecordingPtr recording_;
    int layers_ = 0, heads_ = 0, rows_ = 0, changed_from_ = 0, changed_shift_ = 0;
    std::vector<PooledMap> maps_;
    std::vector<MapValue> scratch_;
};

}  // namespace decodescope
