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

QColor faded(QColor color, float alpha) {
    color.setAlphaF(alpha);
    return color;
}

QColor mixed(const QColor& color, const QColor& with, float share) {
    const auto channel = [share](float a, float b) { return a + share * (b - a); };
    return QColor::fromRgbF(channel(color.redF(), with.redF()), channel(color.greenF(), with.greenF()),
                            channel(color.blueF(), with.blueF()));
}

QColor ink_on(const QColor& fill) {
    const QColor dark(0x08, 0x0B, 0x10), light(0xFF, 0xFF, 0xFF);
    return contrast_ratio(fill, dark) > contrast_ratio(fill, light) ? dark : light;
}

// Numbers below or above a strip; those without room drop out.
class Ticks {
public:
    Ticks(QPainter& painter, const QRectF& rect, bool below) : painter_(painter), rect_(rect), below_(below) {}

    void add(double x, int value, bool marked = true) {
        const Theme& t = theme();
        const QString text = QString::number(value);
        const double half = text_width(t.note(), text) / 2 + 1;
        if (x - half < free_from_ || x - half < rect_.left() - 8 || x + half > rect_.right() + 4) return;
        const double edge = below_ ? rect_.top() : rect_.bottom();
        painter_.setPen(QPen(t.color(Role::Line), 1));
        if (marked) painter_.drawLine(QPointF(x, edge - 2), QPointF(x, edge + 1));
        paint_text(painter_, QRectF(x - half, rect_.top(), 2 * half, rect_.height()), Qt::AlignCenter, text, t.note(),
                   t.color(Role::QuietInk));
        free_from_ = x + half + 8;
    }

private:
    QPainter& painter_;
    QRectF rect_;
    bool below_;
    double free_from_ = -1e9;
};

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
    for (const CacheColumn& column : layout.positions()) {
        const int row = tokens_.row_of(column.first);
        const bool generated = row >= 0 && context_.recording->row(row).generated;
        const bool stored = track_.slot_of(column.first) || track_.slot_of(column.end - 1);
        const QRectF cell(column.x, area.top(), column.width - (column.merged ? 0 : 1), area.height());
        const Role role = generated ? Role::Generated : Role::Prompt;
        painter.fillRect(cell, stored ? t.color(role) : QColor::fromRgb(t.shade(role, 0.12f)));
        const QString number = QString::number(column.first);
        if (stored && cell.width() >= text_width(t.note(), number) + 3 && cell.height() >= text_height(t.note()))
            paint_text(painter, cell, Qt::AlignCenter, number, t.note(), ink_on(t.color(role)));
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
    const QRectF area = layout.sequence_area();
    QRectF run;
    int run_age = -1;
    const auto flush = [&] {
        const float alpha = std::max(0.25f, 0.9f - 0.05f * static_cast<float>(std::max(run_age, 0)));
        paint_hatch(painter, run, faded(t.color(Role::QuietInk), alpha), 4);
        run = {};
    };
    for (const CacheColumn& column : layout.positions()) {
        const auto gone = context_.recording->evicted_at(column.first, view_.facts->index);
        if (!gone) continue;
        const QRectF cell(column.x, area.top(), column.width - (column.merged ? 0 : 1), area.height());
        const int age = std::min(view_.facts->index - *gone, 14);
        const QString number = QString::number(*gone);
        if (cell.width() >= text_width(t.note(), number) + 2 && cell.height() >= 2 * text_height(t.note()) - 4) {
            const QRectF text(cell.left(), cell.bottom() - text_height(t.note()), cell.width(), text_height(t.note()));
            paint_text(painter, text, Qt::AlignCenter, number, t.note(), t.color(Role::QuietInk));
            paint_hatch(painter, cell.adjusted(0, 0, 0, -text.height()),
                        faded(t.color(Role::QuietInk), std::max(0.25f, 0.9f - 0.05f * static_cast<float>(age))), 4);
            continue;
        }
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

void PlacementMap::paint_memory(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setClipRect(frame.memory.adjusted(-1, -1, 1, 1), Qt::IntersectClip);
    for (const MemoryCell& cell : layout.memory()) paint_cell(painter, layout, cell);
    painter.restore();
}

void PlacementMap::paint_cell(QPainter& painter, const PlacementLayout& layout, const MemoryCell& cell) const {
    const Theme& t = theme();
    const QRectF rect = layout.page_rect(cell);
    const QColor reserved = t.color(Role::Reserved);
    painter.fillRect(rect, reserved);
    std::vector<QColor> colors;
    for (const std::int32_t owner : cell.owners) colors.push_back(t.sequence(owner));
    QRectF filled = rect;
    // Slots of a last page that hold nothing yet are left empty: its waste.
    const bool own = cell.use == SlotUse::Own || cell.use == SlotUse::Shared;
    if (own && !cell.merged() && cell.end - cell.first > 1)
        filled.setWidth(std::min(rect.width(), std::max(1.0, cell.rows * layout.slot_width())));
    if (cell.use == SlotUse::Other)
        for (QColor& color : colors) color = mixed(color, t.color(Role::Card), 0.45f);
    if (cell.use == SlotUse::Findable) painter.fillRect(rect, QColor::fromRgb(t.shade(Role::Prompt, 0.35f)));
    if (!colors.empty()) paint_stripes(painter, filled, colors, cell.merged() ? 3 : 5);
    if (!cell.merged()) paint_slots(painter, layout, cell, rect, ink_on(colors.empty() ? reserved : colors[0]));
    const bool outlined = cell.page >= 0 && rect.width() >= 5 && (own || cell.use == SlotUse::Free);
    if (outlined) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(own ? colors[0] : t.color(Role::Prompt), 1, own ? Qt::SolidLine : Qt::DotLine));
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    if (cell.reclaimed && !cell.merged() && rect.width() >= 5) {  // a folded corner
        const double fold = std::min(7.0, rect.width() / 2);
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.color(Role::Ring));
        const QPointF corner[] = {rect.topRight(), rect.topRight() + QPointF(0, fold), rect.topRight() - QPointF(fold, 0)};
        painter.drawConvexPolygon(corner, 3);
    }
}

void PlacementMap::paint_slots(QPainter& painter, const PlacementLayout& layout, const MemoryCell& cell,
                               const QRectF& rect, const QColor& ink) const {
    const Theme& t = theme();
    const double width = layout.slot_width();
    const bool paged = cell.page >= 0 && cell.end - cell.first > 1;
    if (paged && layout.slots_apart()) {
        painter.setPen(QPen(t.color(Role::Card), 1));
        for (int slot = cell.first + 1; slot < cell.end; ++slot) {
            const double x = std::round(layout.slot_x(slot)) - 0.5;
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()));
        }
    }
    const QString widest = QString::number(std::max(seen() - 1, 0));
    const bool numbers = width >= text_width(t.note(), widest) + 4 && rect.height() >= text_height(t.note());
    for (int slot = cell.first; numbers && slot < cell.end; ++slot) {
        const auto position = track_.position_in(slot);
        if (!position) continue;
        const QRectF place(layout.slot_x(slot), rect.top(), width - 1, rect.height());
        if (cell.use == SlotUse::Shared) {
            QRectF plate(0, 0, text_width(t.note(), widest) + 2, text_height(t.note()));
            plate.moveCenter(place.center());
            painter.fillRect(plate, faded(t.color(Role::Card), 0.85f));
        }
        paint_text(painter, place, Qt::AlignCenter, QString::number(*position), t.note(),
                   cell.use == SlotUse::Shared ? t.color(Role::Ink) : ink);
    }
    if (cell.owners.size() < 2 || numbers || rect.width() < 16 || rect.height() < text_height(t.note())) return;
    const QString count = QStringLiteral("×%1").arg(cell.owners.size());
    QRectF plate(0, 0, text_width(t.note(), count) + 3, text_height(t.note()));
    plate.moveCenter(rect.center());
    painter.fillRect(plate, faded(t.color(Role::Card), 0.9f));
    paint_text(painter, plate, Qt::AlignCenter, count, t.note(), t.color(Role::Ink));
}

// Behind memory stand the other layers, the same slots in each: apart, or one block where they are one slab.
void PlacementMap::paint_sheets(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    if (frame.sheets.height() < 1) return;
    const Theme& t = theme();
    const double right = std::min(frame.memory.right(), layout.slot_x(static_cast<double>(track_.state().slots)));
    const int sheets = static_cast<int>(std::lround(frame.sheets.height() / 3));
    const bool slab = track_.state().one_slab;
    for (int i = sheets; i >= 1; --i) {
        const QRectF sheet(frame.memory.left() + 3 * i, frame.memory.top() - 3 * i, right - frame.memory.left() - 6 * i,
                           slab ? 3 : 2);
        if (sheet.width() > 4) painter.fillRect(sheet, mixed(t.color(Role::Prompt), t.color(Role::Card), 0.25f + 0.1f * static_cast<float>(i)));
    }
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
            const int every = column.merged ? 64 : column.width >= 20 ? 1 : 8;
            const int round = (column.first + every - 1) / every * every;
            if (round < column.end) ticks.add(column.x + column.width / 2, round);
        }
    }
    Ticks ticks(painter, frame.slot_axis, true);
    const int every = layout.slot_width() >= 20 ? 1 : 8;
    for (const MemoryCell& cell : layout.memory()) {
        const double middle = (std::max(cell.x, frame.memory.left()) + std::min(cell.x + cell.width, frame.memory.right())) / 2;
        if (paged) ticks.add(middle, static_cast<int>(cell.first / track_.state().page_tokens), cell.page >= 0);
        else if ((cell.first + every - 1) / every * every < cell.end)
            ticks.add(middle, (cell.first + every - 1) / every * every);
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
        paint_ring(painter, QRectF(span->first, frame.sequence.top(), std::max(2.0, span->second - 1), frame.sequence.height()), 2.4);
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
        paint_ring(painter, QRectF(left, frame.memory.top(), std::max(2.0, layout.slot_width() - 1), frame.memory.height()), 2.4);
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
    if (freed) items.push_back({Kind::Outline, t.color(Role::Reserved), tr("free again"), 3});
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
