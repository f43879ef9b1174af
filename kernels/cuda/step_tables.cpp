#include "kernels/cuda/step_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

bool splits_length(const SequenceRows& sequence) { return sequence.row_count <= kSplitRows; }

const unsigned char* address(const std::byte* data) { return reinterpret_cast<const unsigned char*>(data); }

DeviceSide device_side(const KvSide& side) {
    const auto bytes = static_cast<std::int64_t>(element_bytes(side.type));
    DeviceSide out{};
    out.data = address(side.data);
    out.staged = address(side.staged);
    out.tail = address(side.tail);
    out.page_bytes = side.page_stride * bytes;
    out.head_bytes = side.head_stride * bytes;
    out.row_bytes = side.row_stride * bytes;
    out.staged_head_bytes = side.staged_head_stride * bytes;
    out.group_bytes = side.group_stride * bytes;
    out.tail_row_bytes = side.tail_row_stride * 4;
    out.tail_head_bytes = side.tail_head_stride * 4;
    out.type = static_cast<std::int32_t>(side.type);
    out.group = side.group;
    out.tail_first = side.tail_first;
    out.tail_rows = side.tail_rows;
    return out;
}

std::int64_t pages_of(const EntryTable& table) {
    return (table.count + (std::int64_t{1} << table.log2_page) - 1) >> table.log2_page;
}

}  // namespace

TableBuilder::TableBuilder(const StepProgram& program, const StepInputs& inputs) : inputs_(inputs) {
    count_rows(program);
    place();
}

void TableBuilder::count_rows(const StepProgram& program) {
    counts_.rows = static_cast<int>(inputs_.tokens.size());
    counts_.logits_rows = static_cast<int>(inputs_.logits_rows.size());
    counts_.sequences = static_cast<int>(inputs_.sequences.size());
    counts_.layers = program.layers;
    std::int64_t longest = 1;
    for (const SequenceRows& sequence : inputs_.sequences) {
        if (!sequence.layer_visibility.empty()) counts_.visibility_layers = std::max(program.layers, 1);
        if (!splits_length(sequence)) {
            counts_.tiles += (sequence.row_count + kTileRows - 1) / kTileRows;
            continue;
        }
        counts_.few_rows += sequence.row_count;
        for (const KvView& view : sequence.views) longest = std::max<std::int64_t>(longest, view.table.count);
    }
    const std::int64_t ranges = (longest + kSplitEntries - 1) / kSplitEntries;
    counts_.splits = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(ranges)));
}

void TableBuilder::place() {
    const auto take = [this](std::size_t bytes) {
        const std::size_t at = bytes_;
        bytes_ += aligned(bytes);
        return at;
    };
    const auto rows = static_cast<std::size_t>(counts_.rows), layers = static_cast<std::size_t>(counts_.layers);
    offsets_.tokens = take(rows * 4);
    offsets_.positions = take(rows * 4);
    offsets_.logits_rows = take(static_cast<std::size_t>(counts_.logits_rows) * 4);
    offsets_.sequence_of = take(rows * 4);
    offsets_.few_rows = take(static_cast<std::size_t>(counts_.few_rows) * 4);
    offsets_.tiles = take(static_cast<std::size_t>(counts_.tiles) * sizeof(RowTile));
    offsets_.visibility = take(static_cast<std::size_t>(counts_.visibility_layers) * rows * sizeof(DeviceVisibility));
    offsets_.views = take(layers * static_cast<std::size_t>(counts_.sequences) * sizeof(DeviceView));
    offsets_.rest = bytes_;
    for (const SequenceRows& sequence : inputs_.sequences)
        for (const KvView& view : sequence.views) {
            if (view.table.pages != nullptr) add_copied(view.table.pages, pages_of(view.table));
            if (view.table.positions != nullptr) add_copied(view.table.positions, view.table.count);
            if (view.table.store_entries != nullptr) add_copied(view.table.store_entries, sequence.row_count);
        }
}

// Layers share their tables as a rule: each is copied once.
void TableBuilder::add_copied(const std::int32_t* from, std::int64_t count) {
    for (const Copied& one : copied_)
        if (one.from == from && one.count >= count) return;
    copied_.push_back({from, count, bytes_});
    bytes_ += aligned(static_cast<std::size_t>(count) * 4);
}

const std::int32_t* TableBuilder::moved(const std::int32_t* from, std::int64_t count, const std::byte* device) const {
    if (from == nullptr) return nullptr;
    for (const Copied& one : copied_)
        if (one.from == from && one.count >= count) return reinterpret_cast<const std::int32_t*>(device + one.offset);
    return nullptr;
}

void TableBuilder::write_visibility(DeviceVisibility* out) const {
    for (int layer = 0; layer < counts_.visibility_layers; ++layer)
        for (const SequenceRows& sequence : inputs_.sequences)
            for (std::int32_t row = sequence.first_row; row < sequence.first_row + sequence.row_count; ++row) {
                const RowVisibility& seen = row_visibility(inputs_, sequence, layer, row);
                *out++ = {seen.position, seen.window_first, seen.sink_end, seen.sink_shift};
            }
}

void TableBuilder::write_rows(std::byte* host) const {
    const auto copy = [host](std::size_t offset, std::span<const std::int32_t> from) {
        if (!from.empty()) std::memcpy(host + offset, from.data(), from.size_bytes());
    };
    copy(offsets_.tokens, inputs_.tokens);
    copy(offsets_.positions, inputs_.positions);
    copy(offsets_.logits_rows, inputs_.logits_rows);
    auto* sequence_of = reinterpret_cast<std::int32_t*>(host + offsets_.sequence_of);
    auto* few = reinterpret_cast<std::int32_t*>(host + offsets_.few_rows);
    auto* tile = reinterpret_cast<RowTile*>(host + offsets_.tiles);
    for (std::int32_t s = 0; s < counts_.sequences; ++s) {
        const SequenceRows& sequence = inputs_.sequences[static_cast<std::size_t>(s)];
        for (std::int32_t row = 0; row < sequence.row_count; ++row) {
            sequence_of[sequence.first_row + row] = s;
            if (splits_length(sequence)) *few++ = sequence.first_row + row;
            else if (row % kTileRows == 0)
                *tile++ = {s, sequence.first_row + row, std::min(kTileRows, sequence.row_count - row)};
        }
    }
}

void TableBuilder::write(std::byte* host, const std::byte* device) {
    write_rows(host);
    write_visibility(reinterpret_cast<DeviceVisibility*>(host + offsets_.visibility));
    auto* views = reinterpret_cast<DeviceView*>(host + offsets_.views);
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(counts_.layers); ++layer)
        for (const SequenceRows& sequence : inputs_.sequences) {
            const KvView& view = sequence.views[layer];
            DeviceView out{};
            out.k = device_side(view.k);
            out.v = device_side(view.v);
            const EntryTable& table = view.table;
            out.pages = table.pages == nullptr ? nullptr : moved(table.pages, pages_of(table), device);
            out.positions = moved(table.positions, table.count, device);
            out.store_entries = moved(table.store_entries, sequence.row_count, device);
            out.staged_first = table.staged_first;
            out.log2_page = table.log2_page;
            out.count = table.count;
            out.first_row = sequence.first_row;
            out.row_count = sequence.row_count;
            *views++ = out;
        }
    for (const Copied& one : copied_) std::memcpy(host + one.offset, one.from, static_cast<std::size_t>(one.count) * 4);
}

StepTables TableBuilder::tables(const std::byte* device) const {
    const auto ints = [device](std::size_t offset) { return reinterpret_cast<const std::int32_t*>(device + offset); };
    StepTables tables{};
    tables.tokens = ints(offsets_.tokens);
    tables.positions = ints(offsets_.positions);
    tables.logits_rows = ints(offsets_.logits_rows);
    tables.sequence_of = ints(offsets_.sequence_of);
    tables.few_rows = ints(offsets_.few_rows);
    tables.tiles = reinterpret_cast<const RowTile*>(device + offsets_.tiles);
    tables.visibility = reinterpret_cast<const DeviceVisibility*>(device + offsets_.visibility);
    tables.views = reinterpret_cast<const DeviceView*>(device + offsets_.views);
    return tables;
}

}  // namespace decodescope::cuda
