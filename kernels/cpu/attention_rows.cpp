#include "kernels/cpu/attention_rows.h"

#include <algorithm>

namespace decodescope {
namespace {

// Entries before the tail.
std::int32_t count_stored(const KvSide& side, const Seen& seen) {
    if (seen.list == nullptr)
        return static_cast<std::int32_t>(
            std::clamp<std::int64_t>(std::int64_t{side.tail_first} - seen.first, 0, seen.count));
    return static_cast<std::int32_t>(std::lower_bound(seen.list, seen.list + seen.count, side.tail_first) - seen.list);
}

// Offsets in bytes of neighbouring entries that lie in pages, page by page: within one they are a row apart.
void fill_page_offsets(const KvSide& side, const EntryTable& table, std::int64_t head, const Seen& seen,
                       std::int32_t count, std::int64_t bytes, std::int64_t* offsets) {
    const std::int64_t row_bytes = side.row_stride * bytes;
    const std::int32_t page_mask = (std::int32_t{1} << table.log2_page) - 1, end = seen.first + count;
    for (std::int32_t entry = seen.first; entry < end;) {
        const std::int32_t page_end = std::min(end, (entry | page_mask) + 1);
        const std::int64_t page = table.pages[entry >> table.log2_page];
        const std::int64_t first =
            (page * side.page_stride + head * side.head_stride) * bytes + (entry & page_mask) * row_bytes;
        for (std::int32_t i = 0; i < page_end - entry; ++i) offsets[i] = first + i * row_bytes;
        offsets += page_end - entry;
        entry = page_end;
    }
}

// Neighbours within a group are scored together, with a query that has taken up the scales of their channels.
void score_groups(const CpuKernelTable& kernels, const KvView& view, std::int64_t head, const Seen& seen,
                  std::int32_t count, const float* q, float scale, float* scaled, float* out) {
    const KvSide& side = view.k;
    for (std::int32_t i = 0; i < count;) {
        const std::int32_t entry = seen.entry(i);
        std::int32_t run = std::min(side.group - entry % side.group, count - i);
        if (seen.list != nullptr) run = 1;
        const KvRow row = kv_row(side, view.table, head, entry);
        const KvRows keys{row.data, side.row_stride, nullptr};
        kernels.group_scores(q, view.head_dim, row.channels, keys, run, scale, scaled, out + i);
        i += run;
    }
}

}  // namespace

SeenRows seen_rows(const KvSide& side, const EntryTable& table, std::int64_t head, const Seen& seen,
                   std::int64_t* offsets) {
    const auto bytes = static_cast<std::int64_t>(element_bytes(side.type));
    SeenRows rows;
    rows.stored_count = count_stored(side, seen);
    if (side.tail != nullptr) {
        rows.tail = {side.tail, 0, offsets + rows.stored_count};
        for (std::int32_t i = rows.stored_count; i < seen.count; ++i)
            offsets[i] = tail_row(side, head, seen.entry(i)) - side.tail;
    }
    if (side.group > 0) return rows;
    const bool neighbours = table.pages == nullptr && seen.list == nullptr &&
                            static_cast<std::int64_t>(seen.first) + seen.count <= table.staged_first;
    if (neighbours) {
        rows.stored.base = side.data + (head * side.head_stride + seen.first * side.row_stride) * bytes;
        rows.stored.stride = side.row_stride * bytes;
        return rows;
    }
    rows.stored.base = side.data;
    rows.stored.offsets = offsets;
    if (table.pages != nullptr && seen.list == nullptr && table.staged_first == kNothingStaged) {
        fill_page_offsets(side, table, head, seen, rows.stored_count, bytes, offsets);
        return rows;
    }
    for (std::int32_t i = 0; i < rows.stored_count; ++i)
        offsets[i] = side_offset(side, table, head, entry_slot(table, seen.entry(i))) * bytes;
    return rows;
}

void score_seen(const CpuKernelTable& kernels, const KvView& view, std::int64_t head, const Seen& seen,
                const SeenRows& keys, const float* q, float scale, float* scaled, float* out) {
    const std::int32_t stored = keys.stored_count;
    if (view.k.group > 0) {
        score_groups(kernels, view, head, seen, stored, q, scale, scaled, out);
    } else {
        kernels.scores[static_cast<std::size_t>(view.k.type)](q, view.head_dim, keys.stored, stored, scale, out);
    }
    if (stored == seen.count) return;
    kernels.scores[static_cast<std::size_t>(ElementType::F32)](q, view.head_dim, keys.tail, seen.count - stored, scale,
                                                               out + stored);
}

void mix_seen(const CpuKernelTable& kernels, const KvView& view, const Seen& seen, const SeenRows& values,
              const float* weights, float* part, float* out) {
    const std::int32_t stored = values.stored_count;
    kernels.mix[static_cast<std::size_t>(view.v.type)](weights, values.stored, stored, view.head_dim, out);
    if (stored == seen.count) return;
    kernels.mix[static_cast<std::size_t>(ElementType::F32)](weights + stored, values.tail, seen.count - stored,
                                                            view.head_dim, part);
    kernels.add(out, part, out, view.head_dim);
}

}  // namespace decodescope
