// Attention rows as small integers, and maps in which 2^shift x 2^shift cells are merged to their largest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/trace/run_recording.h"

namespace decodescope {

// One cell of a map: what is not a weight sorts below every weight, so that merging by maximum keeps weights.
using MapValue = std::int16_t;
constexpr MapValue kOutside = 0;      // above the diagonal, or no such cell
constexpr MapValue kNotCaptured = 1;
constexpr MapValue kEvicted = 2;      // the row could not read it any more
constexpr MapValue kZeroWeight = 3;   // weights follow: kZeroWeight + bits of binary16
constexpr MapValue kOneWeight = kZeroWeight + 0x3C00;

inline bool is_weight(MapValue value) { return value >= kZeroWeight; }
float weight_of(MapValue value);               // NaN for what is no weight
MapValue map_value(float weight);              // NaN becomes kNotCaptured; clamped to 0..1

// Cells of the row at `position` over the positions first .. end - 1 that are not above the diagonal.
void encode_row(const AttentionRow& row, int head, int position, std::vector<MapValue>& cells, int first = 0,
                int end = 1 << 30);
// The mean over all heads, positions 0 .. position.
void encode_mean_row(const AttentionRow& row, int position, std::vector<MapValue>& cells);

// Lower triangle that grows by rows. A merged cell holds the largest of its cells.
class PooledMap {
public:
    // most_side > 0: when more than most_side merged rows would be needed, the map merges itself further.
    explicit PooledMap(int shift = 0, int most_side = 0) : shift_(shift), most_side_(most_side) {}

    void append_row(std::span<const MapValue> cells);
    int shift() const { return shift_; }
    int rows() const { return rows_; }                                     // appended
    int side() const { return static_cast<int>(merged_.size()); }          // merged rows
    std::span<const MapValue> merged_row(int index) const { return merged_[static_cast<std::size_t>(index)]; }
    MapValue value(int merged_row, int merged_column) const;               // kOutside where there is none

private:
    void coarsen();

    int shift_ = 0, most_side_ = 0, rows_ = 0;
    std::vector<std::vector<MapValue>> merged_;
};

}  // namespace decodescope
