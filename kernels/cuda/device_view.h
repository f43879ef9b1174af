// KvView as a kernel reads it: strides in bytes, tables in device memory. One per layer and sequence, filled by the host
// for every step, so that lengths, positions and addresses never are arguments of a launch.
#pragma once

#include <cstdint>

namespace decodescope::cuda {

struct DeviceSide {
    const unsigned char* data;
    const unsigned char* staged;
    const unsigned char* tail;
    std::int64_t page_bytes, head_bytes, row_bytes, staged_head_bytes;
    std::int64_t group_bytes, tail_row_bytes, tail_head_bytes;
    std::int32_t type;        // ElementType
    std::int32_t group;       // slots that share scales per channel; 0: none
    std::int32_t tail_first;  // entries from here on are f32 rows of `tail`
    std::int32_t tail_rows;
};

struct DeviceView {
    DeviceSide k, v;
    const std::int32_t* pages;          // null: one page
    const std::int32_t* positions;      // null: entry e holds position e
    const std::int32_t* store_entries;  // null: the last entries
    std::int64_t staged_first;
    std::int32_t log2_page;
    std::int32_t count;
    std::int32_t first_row, row_count;  // of the sequence, within the step
};

// What a row of the step sees in a layer; RowVisibility as it is.
struct DeviceVisibility {
    std::int32_t position, window_first, sink_end, sink_shift;
};

// A few rows of one sequence that a block computes together.
struct RowTile {
    std::int32_t sequence, first_row, row_count;
};

// Where the tables of a step lie in device memory.
struct StepTables {
    const std::int32_t* tokens;        // [rows]
    const std::int32_t* positions;     // [rows]
    const std::int32_t* logits_rows;   // [logits rows]
    const std::int32_t* sequence_of;   // [rows]
    const std::int32_t* few_rows;      // rows whose attention is split over the length
    const RowTile* tiles;              // the other rows
    const DeviceVisibility* visibility;  // [layers, rows], or [1, rows] where layers do not differ
    const DeviceView* views;           // [layers, sequences]
};

}  // namespace decodescope::cuda
