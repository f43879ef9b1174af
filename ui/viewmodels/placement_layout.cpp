#include "ui/viewmodels/placement_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace decodescope {
namespace {

constexpr double kColumn = 2;        // width of a merged column
constexpr double kSmallestPage = 4;  // narrower ones are merged

// The number after `name` and '=', or the default of the format.
int option(const std::string& text, const char* name, int otherwise) {
    const std::string wanted = std::string(name) + "=";
    const auto at = text.find(wanted);
    int value = 0;
    if (at == std::string::npos) return otherwise;
    const char* first = text.data() + at + wanted.size();
    const auto parsed = std::from_chars(first, text.data() + text.size(), value);
    return parsed.ec == std::errc() && value > 0 ? value : otherwise;
}

}  // namespace

std::optional<FormatMarks> format_marks(const std::string& kv_type, int tokens) {
    const auto at = kv_type.find("int8-kivi");
    if (at == std::string::npos || tokens <= 0) return std::nullopt;
    const std::string options = kv_type.substr(at, kv_type.find(')', at) - at);
    FormatMarks marks;
    marks.group = option(options, "group", 32);
    const int residual = option(options, "residual", 32);
    const int newest = tokens < residual + marks.group ? tokens : residual + (tokens - residual) % marks.group;
    marks.residual_first = tokens - newest;
    return marks;
}

SlotUse use_of(const PageRun& page, std::int32_t sequence) {
    if (page.owners.empty())
        return page.findable ? SlotUse::Findable : page.used ? SlotUse::Free : SlotUse::Reserved;
    const bool own = std::find(page.owners.begin(), page.owners.end(), sequence) != page.owners.end();
    return !own ? SlotUse::Other : page.owners.size() > 1 ? SlotUse::Shared : SlotUse::Own;
}

void PlacementLayout::arrange(const PlacementTrack& track, int seen, const QRectF& sequence, const QRectF& memory,
                              const PlacementOptions& options) {
    track_ = &track;
    sequence_area_ = sequence;
    memory_area_ = memory;
    memory_.clear();
    const bool known = track.state().known;
    slots_ = known ? static_cast<int>(track.state().slots) : 0;
    CacheMapOptions top;
    top.readable = 6;
    top.largest = options.largest;
    top.device_ratio = options.device_ratio;
    positions_.fit(sequence, known && seen > 0 ? 1 : 0, std::max(seen, 1), std::max(seen, 1), top);
    place_slots(options);
}

void PlacementLayout::place_slots(const PlacementOptions& options) {
    shown_slots_ = slot_width_ = first_slot_ = 0;
    if (slots_ == 0 || memory_area_.width() <= 0) return;
    const double fitting = memory_area_.width() / slots_;
    slot_width_ = options.slot_width > 0 ? std::clamp(options.slot_width, fitting, std::max(fitting, options.largest))
                                         : std::min(options.largest, fitting);
    // Whole pixels where slots are told apart, so that all are as wide.
    if (slot_width_ * options.device_ratio >= 3 && options.slot_width <= 0)
        slot_width_ = std::floor(slot_width_ * options.device_ratio + 1e-9) / options.device_ratio;
    shown_slots_ = memory_area_.width() / slot_width_;
    first_slot_ = std::clamp(options.first_slot, 0.0, std::max(0.0, slots_ - shown_slots_));
    slots_apart_ = slot_width_ >= options.readable;
    const auto page = static_cast<double>(track_->state().page_tokens);
    if (page > 0 && page * slot_width_ >= kSmallestPage) place_pages();
    else if (page == 0 && slot_width_ >= 3) place_columns(slot_width_);
    else place_columns(kColumn);
}

MemoryCell PlacementLayout::cell_of(int first, int end, int page) const {
    MemoryCell cell;
    cell.first = first;
    cell.end = end;
    cell.page = page;
    cell.rows = track_->rows_in(first, end);
    const Placement& state = track_->state();
    if (state.page_tokens == 0) {
        cell.use = 2 * cell.rows >= end - first && cell.rows > 0 ? SlotUse::Own : SlotUse::Reserved;
        if (cell.rows > 0) cell.owners = {state.sequence};
        return cell;
    }
    std::array<int, 6> count{};
    const auto size = static_cast<int>(state.page_tokens);
    for (int p = first / size; p <= (end - 1) / size; ++p) {
        const PageRun* found = track_->page(p);
        if (found == nullptr) continue;
        const SlotUse use = use_of(*found, state.sequence);
        const int before = *std::max_element(count.begin(), count.end());
        if (++count[static_cast<std::size_t>(use)] <= before) continue;
        cell.use = use;
        cell.owners = found->owners;
        cell.reclaimed = found->reclaimed && !found->owners.empty();
    }
    return cell;
}

void PlacementLayout::place_pages() {
    const auto size = static_cast<int>(track_->state().page_tokens);
    const int last = std::min(slots_ - 1, static_cast<int>(std::ceil(first_slot_ + shown_slots_)) - 1);
    for (int page = static_cast<int>(first_slot_) / size; page <= last / size; ++page) {
        MemoryCell cell = cell_of(page * size, std::min(slots_, (page + 1) * size), page);
        cell.x = slot_x(cell.first);
        cell.width = (cell.end - cell.first) * slot_width_;
        memory_.push_back(std::move(cell));
    }
}

void PlacementLayout::place_columns(double width) {
    const double first = std::floor(first_slot_), end = std::min<double>(slots_, first_slot_ + shown_slots_);
    const double slots = std::max(1.0, width / slot_width_);
    for (double from = first; from < end - 1e-6; from += slots) {
        const int a = static_cast<int>(std::floor(from + 1e-6));
        const int b = std::clamp(static_cast<int>(std::floor(from + slots + 1e-6)), a + 1, slots_);
        if (a >= slots_) break;
        MemoryCell cell = cell_of(a, b, -1);
        cell.x = slot_x(from);
        cell.width = std::min(slots, slots_ - from) * slot_width_;
        memory_.push_back(std::move(cell));
    }
}

bool PlacementLayout::slot_in_view(int slot) const {
    return slot >= 0 && slot + 1 > first_slot_ && slot < first_slot_ + shown_slots_;
}

QRectF PlacementLayout::page_rect(const MemoryCell& cell) const {
    const double gap = cell.merged() ? 0 : cell.width >= 12 && cell.page >= 0 && cell.end - cell.first > 1 ? 2 : 1;
    return {cell.x, memory_area_.top(), std::max(1.0, cell.width - gap), memory_area_.height()};
}

std::optional<PlacementBand> PlacementLayout::band(RowRun run) const {
    if (slots_ == 0 || run.slot == kNotStored) return std::nullopt;
    const int first = std::max(run.slot, static_cast<int>(std::floor(first_slot_)));
    const int end = std::min<int>(run.slot + run.count, static_cast<int>(std::ceil(first_slot_ + shown_slots_)));
    if (first >= end) return std::nullopt;
    run.position += first - run.slot;
    run.slot = first;
    run.count = end - first;
    const auto left = positions_.span_of(run.position), right = positions_.span_of(run.position + run.count - 1);
    if (!left || !right) return std::nullopt;
    return PlacementBand{run, left->first, right->first + right->second, std::max(slot_x(first), memory_area_.left()),
                         std::min(slot_x(end), memory_area_.right())};
}

std::vector<PlacementBand> PlacementLayout::bands(std::size_t most) const {
    std::vector<PlacementBand> list;
    if (track_ == nullptr || track_->state().rows.size() > most) return list;
    const Placement& state = track_->state();
    const auto page = static_cast<int>(state.page_tokens);
    const bool by_page = page > 0 && (track_->rows_in(0, slots_) + page - 1) / page <= static_cast<int>(most);
    for (const RowRun& run : state.rows) {
        for (int done = 0; done < run.count;) {
            const int at = run.slot + done;
            const int count = by_page ? std::min(run.count - done, page - at % page) : run.count;
            if (auto found = band({run.position + done, at, count})) list.push_back(*found);
            done += count;
        }
    }
    return list;
}

std::optional<PlacementHit> PlacementLayout::hit(const QPointF& point) const {
    if (slots_ == 0) return std::nullopt;
    const auto size = static_cast<int>(track_->state().page_tokens);
    PlacementHit hit;
    if (memory_area_.adjusted(0, -2, 0, 2).contains(point)) {
        const int slot = static_cast<int>(std::floor(first_slot_ + (point.x() - memory_area_.left()) / slot_width_));
        if (slot < 0 || slot >= slots_) return std::nullopt;
        hit.in_memory = true;
        hit.slot = slot;
        hit.position = track_->position_in(slot).value_or(-1);
    } else if (sequence_area_.adjusted(0, -2, 0, 2).contains(point)) {
        hit.position = positions_.position_at(point.x());
        if (hit.position < 0) return std::nullopt;
        hit.slot = track_->slot_of(hit.position).value_or(-1);
    } else {
        return std::nullopt;
    }
    if (size > 0 && hit.slot >= 0) hit.page = hit.slot / size;
    return hit;
}

}  // namespace decodescope
