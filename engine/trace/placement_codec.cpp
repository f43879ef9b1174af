#include "engine/trace/placement_codec.h"

#include <algorithm>
#include <limits>

#include "engine/trace/recording_codec.h"

namespace decodescope {
namespace {

constexpr std::uint8_t kPlacedWhole = 1, kPlacedSlab = 2, kPlacedCopies = 4;
constexpr std::uint8_t kPageFindable = 1, kPageUsed = 2, kPageReclaimed = 4;

// Runs come in order and do not overlap: what is kept of them is bounded by what they cover.
void decode_row_runs(ByteReader& in, Placement& placement) {
    const auto slots = static_cast<std::int32_t>(placement.slots);
    placement.rows.resize(in.count("runs of rows", 12));
    std::int32_t position = 0;
    for (RowRun& run : placement.rows) {
        if (!in.ok()) return;
        run.position = in.i32("position of a run of rows", position, kMaxPosition);
        run.slot = in.i32("slot of a run of rows", kNotStored, slots - 1);
        const std::int32_t most = run.slot == kNotStored ? kMaxPosition + 1 - run.position : slots - run.slot;
        run.count = in.i32("length of a run of rows", 1, std::min(most, kMaxPosition + 1 - run.position));
        position = std::min(run.position + run.count, kMaxPosition);
    }
}

void decode_page_runs(ByteReader& in, Placement& placement) {
    const auto pages =
        static_cast<std::int32_t>(placement.page_tokens > 0 ? placement.slots / placement.page_tokens : 0);
    placement.pages.resize(in.count("runs of pages", 17));
    std::int32_t page = 0;
    for (PageRun& run : placement.pages) {
        if (!in.ok()) return;
        run.page = in.i32("page of a run of pages", page, pages - 1);
        run.count = in.i32("length of a run of pages", 1, pages - run.page);
        page = run.page + run.count;
        const std::uint8_t flags = in.u8("state of a page");
        if (flags > (kPageFindable | kPageUsed | kPageReclaimed))
            in.fail("state of a page", "is not one that this version knows");
        run.findable = (flags & kPageFindable) != 0;
        run.used = (flags & kPageUsed) != 0;
        run.reclaimed = (flags & kPageReclaimed) != 0;
        in.i32_array("owner of a page", run.owners, in.count("owners of a page", 4),
                     std::numeric_limits<std::int32_t>::max());
    }
}

}  // namespace

void encode_placement(ByteWriter& out, const Placement& placement) {
    out.u8(static_cast<std::uint8_t>((placement.whole ? kPlacedWhole : 0) | (placement.one_slab ? kPlacedSlab : 0) |
                                     (placement.next_copies ? kPlacedCopies : 0)));
    for (const std::int64_t value : {placement.slots, placement.page_tokens, placement.next_slot}) out.i64(value);
    out.i32(placement.sequence);
    out.count(placement.rows.size());
    for (const RowRun& run : placement.rows)
        for (const std::int32_t value : {run.position, run.slot, run.count}) out.i32(value);
    out.count(placement.pages.size());
    for (const PageRun& run : placement.pages) {
        out.i32(run.page);
        out.i32(run.count);
        out.u8(static_cast<std::uint8_t>((run.findable ? kPageFindable : 0) | (run.used ? kPageUsed : 0) |
                                         (run.reclaimed ? kPageReclaimed : 0)));
        out.count(run.owners.size());
        out.i32_array(run.owners);
    }
}

Placement decode_placement(ByteReader& in) {
    Placement placement;
    const std::uint8_t flags = in.u8("placement");
    if (flags > (kPlacedWhole | kPlacedSlab | kPlacedCopies))
        in.fail("placement", "is not a value that this version knows");
    placement.known = true;
    placement.whole = (flags & kPlacedWhole) != 0;
    placement.one_slab = (flags & kPlacedSlab) != 0;
    placement.next_copies = (flags & kPlacedCopies) != 0;
    placement.slots = in.i64("slots of the cache", 0, kMostPlacedSlots);
    placement.page_tokens = in.i64("tokens of a placed page", 0, kMostPlacedSlots);
    if (placement.page_tokens > 0 && placement.slots / placement.page_tokens > kMostPlacedPages)
        in.fail("tokens of a placed page", "makes more pages than this version knows");
    placement.next_slot = in.i64("next slot", kNotStored, kMostPlacedSlots);
    placement.sequence = in.i32("number of the sequence", 0, std::numeric_limits<std::int32_t>::max());
    decode_row_runs(in, placement);
    decode_page_runs(in, placement);
    return placement;
}

}  // namespace decodescope
