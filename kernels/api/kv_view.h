// What a kernel knows of one layer's cache: where each entry's K and V lie, and which token position an entry holds.
// Policy (which entries stay), element type and device all arrive through this plain struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/api/element_type.h"

namespace decodescope {

// Element (head h, slot s, i) lies at data + page(s) * page_stride + h * head_stride + (s mod page) * row_stride + i,
// strides in elements. Contiguous storage is one page: [kv_heads, capacity, head_dim].
// Rows of a pass that must not overwrite what the same pass still reads lie beside it, in a staging buffer: element
// (head h, slot s, i) with s >= EntryTable::staged_first at staged + h * staged_head_stride + (s - staged_first) *
// row_stride + i.
//
// int8 rows carry their scales with them, see kernels/api/int8_row.h; strides are then in bytes. With group > 0 each
// `group` slots lie together behind the scales of their channels, group_stride apart: slots of a group are neighbours
// of one page, and entry e is position e.
// Entries from tail_first on are kept in full precision beside the cache, until they are quantized: (head h, entry e,
// i) is f32 element h * tail_head_stride + (e mod tail_rows) * tail_row_stride + i of `tail`. New rows are such ones.
struct KvSide {
    std::byte* data = nullptr;
    ElementType type = ElementType::F32;
    std::int64_t page_stride = 0;
    std::int64_t head_stride = 0;
    std::int64_t row_stride = 0;
    std::byte* staged = nullptr;           // null: nothing is staged; alignment of the type
    std::int64_t staged_head_stride = 0;
    std::int32_t group = 0;                // slots that share scales per channel; 0: none do
    std::int64_t group_stride = 0;
    std::byte* tail = nullptr;             // null: nothing is kept apart
    std::int32_t tail_first = std::numeric_limits<std::int32_t>::max();
    std::int32_t tail_rows = 0;
    std::int64_t tail_row_stride = 0, tail_head_stride = 0;
};

// One row of one head, wherever it lies.
struct KvRow {
    std::byte* data = nullptr;
    ElementType type = ElementType::F32;
    const float* channels = nullptr;  // of a group: scales [head_dim], centres [head_dim]
};

constexpr std::int64_t kNothingStaged = std::numeric_limits<std::int64_t>::max();

// Entries 0 .. count-1 are what may be read. Entry e lies in slot e when `pages` is null, else in slot
// (pages[e >> log2_page] << log2_page) + (e mod page). `positions` null means entry e holds token position e.
struct EntryTable {
    const std::int32_t* pages = nullptr;
    int log2_page = 30;
    std::int32_t count = 0;                    // entries after this step's rows are stored
    const std::int32_t* positions = nullptr;   // [count]
    // [new rows]: the entry each new row is stored in; null: the last ones, in order.
    const std::int32_t* store_entries = nullptr;
    std::int64_t staged_first = kNothingStaged;  // slots from this one on lie in the staging buffer
};

struct KvView {
    KvSide k, v;
    EntryTable table;
    int kv_heads = 0;
    int head_dim = 0;
};

// Row r sees entry e when position(e) <= position and (position(e) >= window_first or position(e) < sink_end).
// Full causal attention: window_first = 0.
// Entries below sink_end are scored with the query turned back by sink_shift positions, as if that many tokens between
// the sinks and the window had never been: rotary embeddings see differences of positions only, so turning the query
// is turning all those keys. Needs RopeDesc in the attention operation; 0 = the query as it is.
struct RowVisibility {
    std::int32_t position = 0;
    std::int32_t window_first = 0;
    std::int32_t sink_end = 0;
    std::int32_t sink_shift = 0;
};

inline bool visible(const RowVisibility& row, std::int32_t entry_position) {
    return entry_position <= row.position && (entry_position >= row.window_first || entry_position < row.sink_end);
}

inline std::int64_t entry_slot(const EntryTable& table, std::int32_t entry) {
    if (table.pages == nullptr) return entry;
    const std::int32_t mask = (std::int32_t{1} << table.log2_page) - 1;
    return (static_cast<std::int64_t>(table.pages[entry >> table.log2_page]) << table.log2_page) + (entry & mask);
}

inline std::int32_t entry_position(const EntryTable& table, std::int32_t entry) {
    return table.positions == nullptr ? entry : table.positions[entry];
}

// Offset in elements of (head, slot) from the side's data; staged slots count from there as well.
inline std::int64_t side_offset(const KvSide& side, const EntryTable& table, std::int64_t head, std::int64_t slot) {
    if (slot >= table.staged_first) {
        const auto apart = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(side.staged) -
                                                     reinterpret_cast<std::uintptr_t>(side.data));
        return apart / static_cast<std::int64_t>(element_bytes(side.type)) + head * side.staged_head_stride +
               (slot - table.staged_first) * side.row_stride;
    }
    const std::int64_t page = table.pages == nullptr ? 0 : slot >> table.log2_page;
    const std::int64_t within = table.pages == nullptr ? slot : slot & ((std::int64_t{1} << table.log2_page) - 1);
    const std::int64_t first = page * side.page_stride + head * side.head_stride;
    if (side.group == 0) return first + within * side.row_stride;
    const std::int64_t channels = side.group_stride - side.group * side.row_stride;
    return first + within / side.group * side.group_stride + channels + within % side.group * side.row_stride;
}

inline std::byte* tail_row(const KvSide& side, std::int64_t head, std::int64_t entry) {
    return side.tail + (head * side.tail_head_stride + entry % side.tail_rows * side.tail_row_stride) * 4;
}

// The scales of the channels of the group that a row belongs to.
inline const float* group_channels(const KvSide& side, const std::byte* row, std::int64_t slot) {
    const std::int64_t first = side.group_stride - side.group * side.row_stride + slot % side.group * side.row_stride;
    return reinterpret_cast<const float*>(row - first);
}

inline KvRow kv_row(const KvSide& side, const EntryTable& table, std::int64_t head, std::int32_t entry) {
    if (entry >= side.tail_first) return {tail_row(side, head, entry), ElementType::F32, nullptr};
    const std::int64_t slot = entry_slot(table, entry);
    std::byte* data =
        side.data + side_offset(side, table, head, slot) * static_cast<std::int64_t>(element_bytes(side.type));
    return {data, side.type, side.group == 0 ? nullptr : group_channels(side, data, slot)};
}

}  // namespace decodescope
