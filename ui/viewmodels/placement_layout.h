// Memory beside the sequence on the screen: positions on top, left to right, slots in memory order below, and bands
// between what belongs together. What does not fit is merged; runs of neighbours are one band.
#pragma once

#include <QPointF>
#include <QRectF>
#include <optional>
#include <string>
#include <vector>

#include "ui/viewmodels/cache_map_layout.h"
#include "ui/viewmodels/placement_track.h"

namespace decodescope {

enum class SlotUse {
    Reserved,  // set aside, never written (or, in caches without pages, empty)
    Own,       // of the viewed sequence alone
    Shared,    // of the viewed sequence and others
    Other,     // of other sequences
    Findable,  // free, but what it holds can still be found by its tokens
    Free,      // free again
};

// One drawn column of memory: a page, a slot where memory is not divided, or several of them merged.
struct MemoryCell {
    int first = 0, end = 0;    // slots
    int page = -1;             // -1: not divided, or several pages
    double x = 0, width = 0;
    SlotUse use = SlotUse::Reserved;  // of most of it
    int rows = 0;              // of the viewed sequence
    std::vector<std::int32_t> owners;
    bool reclaimed = false;
    bool merged() const { return page < 0 && end - first > 1; }
};

// A run of rows and where it lies: x from left to right on the lower edge of the sequence and the upper edge of memory.
struct PlacementBand {
    RowRun run;
    double position_left = 0, position_right = 0, slot_left = 0, slot_right = 0;
};

struct PlacementHit {
    int slot = -1, page = -1, position = -1;  // -1: none; position: of the viewed sequence
    bool in_memory = false;
    bool operator==(const PlacementHit&) const = default;
};

struct PlacementOptions {
    double largest = 28;       // widest slot
    double readable = 5;       // narrowest slot that is drawn apart from its neighbours
    double slot_width = 0;     // 0: everything in view
    double first_slot = 0;     // leftmost one when slot_width is given
    double device_ratio = 1;
};

class PlacementLayout {
public:
    // `seen` positions on top. Nothing is laid out where the placement is not known.
    void arrange(const PlacementTrack& track, int seen, const QRectF& sequence, const QRectF& memory,
                 const PlacementOptions& options);

    const std::vector<CacheColumn>& positions() const { return positions_.columns(); }
    const std::vector<MemoryCell>& memory() const { return memory_; }  // visible ones, left to right
    double slot_width() const { return slot_width_; }
    bool slots_apart() const { return slots_apart_; }          // each slot can be told from its neighbours
    double shown_slots() const { return shown_slots_; }        // that fit into the view
    double slot_x(double slot) const { return memory_area_.left() + (slot - first_slot_) * slot_width_; }
    std::optional<std::pair<double, double>> position_span(int position) const { return positions_.span_of(position); }
    bool slot_in_view(int slot) const;
    QRectF page_rect(const MemoryCell& cell) const;
    const QRectF& memory_area() const { return memory_area_; }
    const QRectF& sequence_area() const { return sequence_area_; }

    // The visible part of a run; nothing when all of it is out of view.
    std::optional<PlacementBand> band(RowRun run) const;
    // Bands of all pages, or of all runs where those are too many; empty when there are more than `most`, which nobody
    // could tell apart.
    std::vector<PlacementBand> bands(std::size_t most) const;
    std::optional<PlacementHit> hit(const QPointF& point) const;

private:
    void place_slots(const PlacementOptions& options);
    void place_pages();
    void place_columns(double width);
    MemoryCell cell_of(int first, int end, int page) const;

    const PlacementTrack* track_ = nullptr;
    QRectF sequence_area_, memory_area_;
    CacheMapLayout positions_;
    std::vector<MemoryCell> memory_;
    double slot_width_ = 0, first_slot_ = 0, shown_slots_ = 0;
    bool slots_apart_ = true;
    int slots_ = 0;
};

// Formats that store several tokens together (KIVI: keys by groups): positions 0 .. residual_first - 1 lie in groups of
// `group`, the newest, from residual_first on, in full precision.
struct FormatMarks {
    int group = 0, residual_first = 0;
};
// As of `tokens` stored ones, from the format's name on the command line; nothing for all other formats.
std::optional<FormatMarks> format_marks(const std::string& kv_type, int tokens);

// What a page is used for, as the viewed sequence sees it.
SlotUse use_of(const PageRun& page, std::int32_t sequence);

}  // namespace decodescope
