// How the cache map is drawn: what is drawn is bounded by the width of the view, however long the run is.
#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/panels/cache/placement_map.h"
#include "ui/widgets/painting.h"

namespace decodescope {
namespace {

constexpr std::size_t kMostBands = 64;  // more could not be told apart

// Numbers below or above a strip; those without room drop out.
class Ticks {
public:
    Ticks(QPainter& painter, const QRectF& rect, bool below) : painter_(painter), rect_(rect), below_(below) {}

    // False: there was no room.
    bool add(double x, int value, bool marked = true) {
        const Theme& t = theme();
        const QString text = QString::number(value);
        const double half = text_width(t.note(), text) / 2 + 1;
        if (x - half < free_from_ || x - half < rect_.left() - 8 || x + half > rect_.right() + 4) return false;
        const double edge = below_ ? rect_.top() : rect_.bottom();
        painter_.setPen(QPen(t.color(Role::Line), 1));
        if (marked) painter_.drawLine(QPointF(x, edge - 2), QPointF(x, edge + 1));
        paint_text(painter_, QRectF(x - half, rect_.top(), 2 * half, rect_.height()), Qt::AlignCenter, text, t.note(),
                   t.color(Role::QuietInk));
        free_from_ = x + half + 8;
        return true;
    }

private:
    QPainter& painter_;
    QRectF rect_;
    bool below_;
    double free_from_ = -1e9;
};

// Every how many things of that width there is room for a number, a power of two.
int round_step(double width, int largest) {
    const double room = text_width(theme().note(), QString::number(largest)) + 10;
    int step = 1;
    while (step < (1 << 20) && step * width < room) step *= 2;
    return step;
}

}  // namespace

void PlacementMap::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), theme().color(Role::Card));
    if (!can_draw()) {
        paint_empty_state(painter);
    } else {
        paint_whole(painter, layout_, frame_);
        paint_marked(painter, layout_, frame_);
        if (hovered_) paint_hover(painter);
    }
    if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
}

void PlacementMap::paint_map(QPainter& painter, const QRectF& area) {
    if (!can_draw()) return;
    const bool fitted = std::exchange(fitted_, true);
    const Frame frame = frame_for(area);
    PlacementLayout layout;
    layout.arrange(track_, seen(), frame.sequence, frame.memory, options(1));
    paint_whole(painter, layout, frame);
    fitted_ = fitted;
}

void PlacementMap::paint_empty_state(QPainter& painter) const {
    if (!view_.facts)
        return paint_empty(painter, QRectF(rect()),
                           tr("Where each token lies in memory appears here, with lines from its position."),
                           tr("Space plays, → makes one step."));
    if (story_.kind() == CacheKind::Recompute)
        return paint_empty(painter, QRectF(rect()), tr("Nothing is kept, so nothing lies anywhere."),
                           tr("Choose a cache in the toolbar to see where its rows go."));
    paint_empty(painter, QRectF(rect()), tr("Not captured: this recording does not say where the rows lie."),
                tr("It comes from an earlier version, or the cache is larger than the map."));
}

void PlacementMap::paint_whole(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    paint_bands(painter, layout, frame);
    paint_sequence(painter, layout, frame);
    paint_sheets(painter, layout, frame);
    paint_memory(painter, layout, frame);
    paint_written(painter, layout);
    paint_next(painter, layout, frame);
    paint_axes(painter, layout, frame);
    paint_text(painter, frame.sentence, Qt::AlignLeft | Qt::AlignVCenter, placement_sentence(track_, view_, story_),
               theme().note(), theme().color(Role::Ink));
    paint_legend_line(painter, frame.legend);
}

void PlacementMap::paint_sequence(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QRectF area = frame.sequence;
    const double widest = text_width(t.note(), QString::number(std::max(seen() - 1, 0))) + 3;  // all numbers or none
    for (const CacheColumn& column : layout.positions()) {
        const int row = tokens_.row_of(column.first);
        const bool generated = row >= 0 && context_.recording->row(row).generated;
        const bool stored = track_.slot_of(column.first) || track_.slot_of(column.end - 1);
        const QRectF cell(column.x, area.top(), column.width - (column.merged ? 0 : 1), area.height());
        const Role role = generated ? Role::Generated : Role::Prompt;
        painter.fillRect(cell, stored ? t.color(role) : QColor::fromRgb(t.shade(role, 0.12f)));
        if (stored && !column.merged && cell.width() >= widest && cell.height() >= text_height(t.note()))
            paint_text(painter, cell, Qt::AlignCenter, QString::number(column.first), t.note(),
                       readable_on(t.color(role)));
    }
    painter.restore();
    paint_evicted(painter, layout);
    paint_groups(painter, layout, frame);
}

// Below the sequence: the groups that are quantized together, and the newest tokens in full precision.
void PlacementMap::paint_groups(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    const auto found = marks();
    if (!found) return;
    const Theme& t = theme();
    const auto bar = [&](int first, int end, const QColor& color) {
        const auto left = layout.position_span(first), right = layout.position_span(end - 1);
        if (!left || !right) return;
        const double width = right->first + right->second - left->first;
        painter.fillRect(QRectF(left->first, frame.groups.top() + 1, std::max(1.0, width - (width >= 4 ? 1.5 : 0)), 3),
                         color);
    };
    for (int first = 0; first < found->residual_first; first += found->group)
        bar(first, std::min(first + found->group, found->residual_first), t.color(Role::Prompt));
    if (found->residual_first < seen()) bar(found->residual_first, seen(), t.color(Role::Ink));
}

// Hatched, the fainter the longer ago; with the step at which each left, where there is room.
void PlacementMap::paint_evicted(QPainter& painter, const PlacementLayout& layout) const {
    if (view_.facts->kv.tokens_stored >= view_.facts->kv.tokens_seen) return;
    const Theme& t = theme();
    const double text = text_height(t.note());
    QRectF area = layout.sequence_area();
    const bool numbers = area.height() >= 2 * text - 4;
    const QRectF steps(area.left(), area.bottom() - text, area.width(), text);
    if (numbers) area.setBottom(steps.top());
    Ticks ticks(painter, steps, true);
    QRectF run;
    int run_age = 0, told = -1;
    const auto flush = [&] {
        const float alpha = std::max(0.25f, 0.9f - 0.05f * static_cast<float>(run_age));
        paint_hatch(painter, run, faded(t.color(Role::QuietInk), alpha), 4);
        run = {};
    };
    const std::int32_t placed = placed_layer(context_.recording->facts().config);
    for (const CacheColumn& column : layout.positions()) {
        const auto gone = context_.recording->evicted_at(column.first, view_.facts->index, placed);
        if (!gone) continue;
        const QRectF cell(column.x, area.top(), column.width - (column.merged ? 0 : 1), area.height());
        const int age = std::min(view_.facts->index - *gone, 14);
        if (numbers && *gone != told && ticks.add(cell.center().x(), *gone, false)) told = *gone;
        if (!run.isEmpty() && (age != run_age || cell.left() > run.right() + 2)) flush();
        run = run.isEmpty() ? cell : run.united(cell);
        run_age = age;
    }
    flush();
}

void PlacementMap::paint_band(QPainter& painter, const PlacementBand& band, const Frame& frame, const QColor& color,
                              float fill, float line) const {
    const double top = frame.groups.bottom() + 1, bottom = frame.sheets.top() - 1, middle = (top + bottom) / 2;
    const auto edge = [&](double from, double to) {
        QPainterPath path(QPointF(from, top));
        path.cubicTo(QPointF(from, middle), QPointF(to, middle), QPointF(to, bottom));
        return path;
    };
    const double right_top = std::max(band.position_left + 1, band.position_right - 1),
                 right_bottom = std::max(band.slot_left + 1, band.slot_right - 1);
    QPainterPath body = edge(band.position_left, band.slot_left);
    body.lineTo(right_bottom, bottom);
    body.cubicTo(QPointF(right_bottom, middle), QPointF(right_top, middle), QPointF(right_top, top));
    body.closeSubpath();
    painter.fillPath(body, faded(color, fill));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(faded(color, line), 1));
    painter.drawPath(edge(band.position_left, band.slot_left));
    painter.drawPath(edge(right_top, right_bottom));
}

void PlacementMap::paint_bands(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor color = own_color();
    for (const PlacementBand& band : layout.bands(kMostBands)) paint_band(painter, band, frame, color, 0.10f, 0.35f);
    if (track_.written().size() <= kMostBands)
        for (const RowRun& run : track_.written())
            if (const auto band = layout.band(run)) paint_band(painter, *band, frame, color, 0.35f, 0.9f);
    painter.restore();
}

void PlacementMap::paint_written(QPainter& painter, const PlacementLayout& layout) const {
    if (track_.written().size() > kMostBands) return;
    for (const RowRun& run : track_.written()) {
        const auto band = layout.band(run);
        if (!band) continue;
        const auto ring = [&](double left, double right, const QRectF& strip) {
            paint_ring(painter, QRectF(left, strip.top(), std::max(2.0, right - left - 1), strip.height()), 1.6);
        };
        ring(band->position_left, band->position_right, layout.sequence_area());
        ring(band->slot_left, band->slot_right, layout.memory_area());
    }
}

void PlacementMap::paint_next(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    const auto next = static_cast<int>(track_.state().next_slot);
    if (next == kNotStored || (next < track_.state().slots && !layout.slot_in_view(next))) return;
    const Theme& t = theme();
    const double x = std::min(layout.slot_x(next) + std::min(layout.slot_width(), 28.0) / 2 - 0.5,
                              frame.memory.right() - 1);
    paint_pointer(painter, QPointF(x, frame.pointer.top()), frame.pointer.height() + 1, t.color(Role::Ring));
}

void PlacementMap::paint_axes(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    const auto label = [&](const QRectF& row, const QString& text, double height) {
        paint_text(painter, QRectF(frame.labels.left(), row.center().y() - height / 2, frame.labels.width(), height),
                   Qt::AlignRight | Qt::AlignVCenter, text, t.note(), t.color(Role::QuietInk));
    };
    const double height = text_height(t.note());
    label(frame.sequence, tr("sequence"), height);
    label(frame.memory, tr("memory"), height);
    const bool paged = track_.state().page_tokens > 0;
    label(frame.slot_axis, paged ? tr("page") : tr("slot"), height);
    if (frame.position_axis.height() >= height) {
        label(frame.position_axis, tr("position"), height);
        Ticks ticks(painter, frame.position_axis, false);
        for (const CacheColumn& column : layout.positions()) {
            const int every = round_step(column.width / (column.end - column.first), seen());
            const int round = (column.first + every - 1) / every * every;
            if (round < column.end) ticks.add(column.x + column.width / 2, round);
        }
    }
    Ticks ticks(painter, frame.slot_axis, true);
    const int unit = paged ? static_cast<int>(track_.state().page_tokens) : 1;
    const int every = unit * round_step(unit * layout.slot_width(), static_cast<int>(track_.state().slots) / unit);
    for (const MemoryCell& cell : layout.memory()) {
        const int round = (cell.first + every - 1) / every * every;
        if (round >= cell.end) continue;
        const double left = std::max(cell.x, frame.memory.left()),
                     right = std::min(cell.x + cell.width, frame.memory.right());
        ticks.add((left + right) / 2, round / unit);
    }
}

// What is pointed at or pinned: its band, and rings at both ends.
void PlacementMap::paint_marked(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    const auto hit = marked();
    if (!hit) return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor ink = theme().color(Role::Ring);
    for (const RowRun& run : runs_of(*hit))
        if (const auto band = layout.band(run)) paint_band(painter, *band, frame, own_color(), 0.45f, 1.0f);
    if (const auto span = layout.position_span(hit->position)) {
        const QRectF& strip = frame.sequence;
        paint_ring(painter, QRectF(span->first, strip.top(), std::max(2.0, span->second - 1), strip.height()), 2.4);
        if (hit->slot >= 0 && layout.slot_in_view(hit->slot)) {  // the one token within its page
            QPainterPath line(QPointF(span->first + span->second / 2, frame.sequence.bottom()));
            const double x = layout.slot_x(hit->slot) + layout.slot_width() / 2, y = frame.memory.top(),
                         middle = (frame.sequence.bottom() + y) / 2;
            line.cubicTo(QPointF(line.currentPosition().x(), middle), QPointF(x, middle), QPointF(x, y));
            painter.setPen(QPen(ink, 1.4));
            painter.setBrush(Qt::NoBrush);
            painter.drawPath(line);
        }
    }
    if (hit->slot >= 0 && layout.slot_in_view(hit->slot)) {
        const double left = std::max(layout.slot_x(hit->slot), frame.memory.left());
        const QRectF& strip = frame.memory;
        paint_ring(painter, QRectF(left, strip.top(), std::max(2.0, layout.slot_width() - 1), strip.height()), 2.4);
    }
    painter.restore();
}

void PlacementMap::paint_legend_line(QPainter& painter, const QRectF& rect) const {
    const Theme& t = theme();
    using Kind = LegendItem::Kind;
    const Placement& state = track_.state();
    bool shared = false, other = false, findable = false, freed = false, reclaimed = false;
    int second = state.sequence + 1;
    for (const PageRun& page : state.pages) {
        const SlotUse use = use_of(page, state.sequence);
        shared = shared || use == SlotUse::Shared;
        other = other || use == SlotUse::Other;
        findable = findable || use == SlotUse::Findable;
        freed = freed || use == SlotUse::Free;
        reclaimed = reclaimed || (page.reclaimed && !page.owners.empty());
        for (const std::int32_t owner : page.owners)
            if (owner != state.sequence) second = owner;
    }
    std::vector<LegendItem> items{{Kind::Fill, own_color(), tr("this conversation"), 9}};
    if (shared) items.push_back({Kind::Stripes, own_color(), tr("shared"), 10, t.sequence(second)});
    if (other)
        items.push_back({Kind::Fill, mixed(t.sequence(second), t.color(Role::Card), 0.45f), tr("another's"), 6});
    if (findable)
        items.push_back({Kind::Fill, QColor::fromRgb(t.shade(Role::Prompt, 0.35f)), tr("free, can still be found"), 5});
    if (freed) items.push_back({Kind::Outline, t.color(Role::Reserved), tr("free again: dotted"), 3});
    if (reclaimed) items.push_back({Kind::Outline, own_color(), tr("reclaimed: with a corner"), 2});
    if (view_.facts->kv.tokens_stored < state.slots)
        items.push_back({Kind::Outline, t.color(Role::Reserved), tr("reserved, empty"), 4});
    items.push_back({Kind::Ring, t.color(Role::Ring), tr("just written"), 8});
    if (marks()) {
        items.push_back({Kind::Fill, t.color(Role::Prompt), tr("quantized group"), 6});
        items.push_back({Kind::Fill, t.color(Role::Ink), tr("full precision"), 6});
    }
    if (state.next_slot != kNotStored) items.push_back({Kind::Pointer, t.color(Role::Ring), tr("next write"), 7});
    if (view_.facts->kv.tokens_stored < view_.facts->kv.tokens_seen)
        items.push_back({Kind::Hatch, t.color(Role::QuietInk), tr("evicted, with its step"), 9});
    paint_legend(painter, rect, items);
}

void PlacementMap::paint_hover(QPainter& painter) const {
    const QStringList lines = placement_facts(scene(), *hovered_);
    if (lines.isEmpty()) return;
    const QSizeF size = info_box_size(lines, std::min(360.0 * theme().type_scale(), width() - 8.0));
    double x = pointer_.x() + 14;
    if (x + size.width() > width() - 2) x = pointer_.x() - 14 - size.width();
    const double y = hovered_->in_memory ? frame_.memory.top() - size.height() - 8 : frame_.sequence.bottom() + 8;
    x = std::clamp(x, 2.0, std::max(2.0, width() - size.width() - 2));
    paint_info_box(painter, QRectF(QPointF(x, std::clamp(y, 2.0, std::max(2.0, height() - size.height() - 2))), size),
                   lines);
}

}  // namespace decodescope
