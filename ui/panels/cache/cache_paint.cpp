// How the cache map is drawn. The colours of a lane are computed once per column of the view: the cost depends
// on the size of the view, never on how long the run is.
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ui/panels/cache/cache_view.h"
#include "ui/viewmodels/format.h"
#include "ui/widgets/painting.h"

namespace decodescope {
namespace {

constexpr int kFadeMillis = 150;

// First and last drawn column that belong to positions [first, end).
std::optional<std::pair<double, double>> extent(const CacheMapLayout& layout, int first, int end) {
    double left = 0, right = 0;
    bool any = false;
    for (const CacheColumn& column : layout.columns()) {
        if (column.end <= first || column.first >= end) continue;
        if (!any) left = column.x;
        right = column.x + column.width - (column.merged ? 0 : 1);
        any = true;
    }
    return any ? std::optional(std::pair{left, right}) : std::nullopt;
}

}  // namespace

void CacheView::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), theme().color(Role::Card));
    if (!view_.facts) {
        paint_empty(painter, QRectF(rect()),
                    tr("Keys and values of every token appear here: layers down, positions right."),
                    tr("Space plays, → makes one step."));
        if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
        return;
    }
    painter.save();
    painter.setClipRect(frame_.lanes, Qt::IntersectClip);
    painter.drawImage(frame_.lanes.topLeft(), make_lanes(layout_, frame_.lanes, devicePixelRatioF()));
    painter.restore();
    paint_lane_marks(painter, layout_, frame_);
    paint_selection(painter, layout_);
    if (fading_ && fade_.elapsed() < kFadeMillis) {
        const auto span = extent(layout_, track_.position_of(view_.first_new), filled());
        QColor veil = theme().color(Role::Card);
        veil.setAlphaF(1.0f - static_cast<float>(fade_.elapsed()) / kFadeMillis);
        if (span)
            painter.fillRect(QRectF(span->first - 2, frame_.lanes.top() - 2, span->second - span->first + 4,
                                    layout_.content_height() + 4),
                             veil);
    }
    paint_sentence(painter, frame_.sentence);
    paint_legend_line(painter, frame_.legend);
    if (hovered_) paint_hover(painter);
    if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
}

void CacheView::paint_map(QPainter& painter, const QRectF& area) {
    if (!view_.facts) return;
    const Frame frame = frame_for(area);
    CacheMapLayout layout;
    const bool fitted = fitted_;
    fitted_ = true;
    lay_out(layout, frame.lanes, 1);
    fitted_ = fitted;
    paint_lanes(painter, layout, frame);
    paint_lane_marks(painter, layout, frame);
    paint_sentence(painter, frame.sentence);
    paint_legend_line(painter, frame.legend);
}

QRgb CacheView::cell_color(int layer, int lane, const CacheColumn& column) const {
    const Theme& t = theme();
    const int end = std::min(column.end, filled());
    if (column.first >= end) {
        const bool no_room = story_.is_local(layer) && column.first >= story_.rows_room(view_, layer);
        return t.color(no_room ? Role::Card : Role::Reserved).rgb();
    }
    if (recomputes()) return t.shade(Role::Recompute, 0.22f);
    int gone = 0;
    if (evictions_)
        for (int position = column.first; position < end; ++position) gone += is_evicted(layer, position) ? 1 : 0;
    if (gone > 0 && gone * 2 >= end - column.first) return t.color(Role::Card).rgb();
    return t.shade(lane == 0 ? Role::K : Role::V, shades_.strength(layer, lane, column.first, end));
}

// The lanes at the size they have on the screen: the first line of each is computed, the others are copies.
QImage CacheView::make_lanes(const CacheMapLayout& layout, const QRectF& lanes, double device_ratio) const {
    const int width = std::max(1, static_cast<int>(std::ceil(lanes.width() * device_ratio)));
    const int height = std::max(1, static_cast<int>(std::ceil(lanes.height() * device_ratio)));
    QImage image(width, height, QImage::Format_RGB32);
    image.fill(theme().color(Role::Card).rgb());
    image.setDevicePixelRatio(device_ratio);
    const int gap = std::max(1, static_cast<int>(std::lround(device_ratio)));
    for (int lane = 0; lane < 2 * layout.layers(); ++lane) {
        const QRectF rect = layout.lane_rect(lane / 2, lane % 2).translated(-lanes.topLeft());
        const int top = std::max(0, static_cast<int>(std::lround(rect.top() * device_ratio)));
        const int bottom = std::min(height, static_cast<int>(std::lround(rect.bottom() * device_ratio)));
        if (top >= bottom) continue;
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(top));
        for (const CacheColumn& column : layout.columns()) {
            const int from = std::max(0, static_cast<int>(std::lround((column.x - lanes.left()) * device_ratio)));
            const int right = static_cast<int>(std::lround((column.x + column.width - lanes.left()) * device_ratio));
            const int to = std::min(width, right - (column.merged ? 0 : gap));
            if (from < to) std::fill(line + from, line + to, cell_color(lane / 2, lane % 2, column));
        }
        for (int y = top + 1; y < bottom; ++y)
            std::memcpy(image.scanLine(y), line, static_cast<std::size_t>(width) * sizeof(QRgb));
    }
    return image;
}

// The same as rectangles, sharp at any size of a page.
void CacheView::paint_lanes(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setClipRect(frame.lanes, Qt::IntersectClip);
    for (int lane = 0; lane < 2 * layout.layers(); ++lane) {
        const QRectF rect = layout.lane_rect(lane / 2, lane % 2);
        for (const CacheColumn& column : layout.columns())
            painter.fillRect(QRectF(column.x, rect.top(), column.width - (column.merged ? 0 : 1), rect.height()),
                             QColor::fromRgb(cell_color(lane / 2, lane % 2, column)));
    }
    painter.restore();
}

void CacheView::paint_lane_marks(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const {
    painter.save();
    painter.setClipRect(frame.lanes.adjusted(-3, -3, 3, 3), Qt::IntersectClip);
    if (evictions_) paint_evicted(painter, layout);
    paint_just_written(painter, layout);
    painter.restore();
    paint_labels(painter, layout, frame);
    paint_kinds(painter, layout, frame);
    paint_axis(painter, layout, frame);
}

void CacheView::paint_evicted(QPainter& painter, const CacheMapLayout& layout) const {
    const Theme& t = theme();
    const int now = view_.facts->index;
    for (const CacheColumn& column : layout.columns()) {
        if (column.first >= filled()) break;
        std::optional<std::int32_t> above;  // what the layer above shows
        for (int layer = 0; layer < layout.layers(); ++layer) {
            const auto step = context_.recording->evicted_at(column.first, now, layer);
            const bool news = step != above;
            above = step;
            if (!step) continue;
            QColor ink = t.color(Role::QuietInk);
            ink.setAlphaF(std::max(0.3f, 0.9f - 0.03f * static_cast<float>(now - *step)));
            const QString number = QStringLiteral("%1").arg(*step);
            for (int lane = 0; lane < 2; ++lane) {
                const QRectF row = layout.lane_rect(layer, lane);
                const QRectF cell(column.x, row.top(), column.width - (column.merged ? 0 : 1), row.height());
                const bool with_number = news && lane == 0 && cell.width() >= text_width(t.note(), number) &&
                                         cell.height() >= text_height(t.note()) - 2;
                if (with_number) paint_text(painter, cell, Qt::AlignCenter, number, t.note(), t.color(Role::QuietInk));
                else paint_hatch(painter, cell, ink, 4);
            }
        }
    }
}

void CacheView::paint_just_written(QPainter& painter, const CacheMapLayout& layout) const {
    if (recomputes() || view_.row_limit <= view_.first_new) return;
    const int first = track_.position_of(view_.first_new), end = track_.position_of(view_.newest_row()) + 1;
    const auto span = extent(layout, first, end);
    if (!span) return;
    const double width = layout.lane_height() >= 10 ? 1.6 : 1;
    for (int layer = 0; layer < layout.layers(); ++layer) {
        for (int lane = 0; lane < 2; ++lane) {
            const QRectF row = layout.lane_rect(layer, lane);
            paint_ring(
                painter,
                QRectF(span->first, row.top(), span->second - span->first, row.height()).adjusted(0.5, 0.5, -0.5, -0.5),
                width);
        }
    }
}

void CacheView::paint_selection(QPainter& painter, const CacheMapLayout& layout) const {
    const SelectionPoint& point = selection_->effective();
    const int position = track_.position_of(point.position);
    const auto span = position < 0 || point.position >= view_.row_limit ? std::nullopt : layout.span_of(position);
    if (!span || layout.layers() == 0) return;
    painter.save();
    painter.setClipRect(frame_.lanes.adjusted(-4, -4, 4, 4), Qt::IntersectClip);
    const double width = std::max(3.0, span->second - 1);
    const QRectF column(span->first, layout.lane_rect(0, 0).top(), width, layout.content_height());
    paint_ring(painter, column.adjusted(-1, -1, 1, 1), 1, 3);
    const int layer = std::clamp(point.layer, 0, layout.layers() - 1);
    const QRectF pair = layout.lane_rect(layer, 0).united(layout.lane_rect(layer, 1));
    paint_ring(painter, QRectF(span->first, pair.top(), width, pair.height()), 2.6, 3);
    painter.restore();
}

void CacheView::paint_labels(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    const double height = text_height(t.note());
    const double block =
        layout.layers() > 1 ? layout.lane_rect(1, 0).top() - layout.lane_rect(0, 0).top() : 2 * layout.lane_height();
    const bool both = layout.lane_height() >= height - 4;
    const int every = std::max(1, static_cast<int>(std::ceil((height - 2) / block)));
    painter.save();
    painter.setClipRect(frame.labels.adjusted(0, -4, 6, 4), Qt::IntersectClip);
    const auto label = [&](const QRectF& row, const QString& text, Role role) {
        const QRectF place(frame.labels.left(), row.center().y() - height / 2, frame.labels.width(), height);
        paint_text(painter, place, Qt::AlignRight | Qt::AlignVCenter, text, t.note(), t.text(role));
    };
    for (int layer = 0; layer < layout.layers(); ++layer) {
        const QRectF k = layout.lane_rect(layer, 0), v = layout.lane_rect(layer, 1);
        if (both) {
            label(k, QStringLiteral("L%1 K").arg(layer), Role::K);
            label(v, QStringLiteral("V"), Role::V);
        } else if (layer % every == 0) {
            label(k.united(v), QStringLiteral("L%1").arg(layer), Role::QuietInk);
        }
    }
    painter.restore();
}

// How many rows each layer keeps. Where lines are too many for the height, the kind that is rarer comes first.
void CacheView::paint_kinds(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const {
    if (frame.kinds.isEmpty()) return;
    const Theme& t = theme();
    const double height = text_height(t.note());
    int local = 0;
    for (int layer = 0; layer < layout.layers(); ++layer) local += story_.is_local(layer) ? 1 : 0;
    const bool rare_is_local = local * 2 <= layout.layers();
    std::vector<double> taken;  // middles of what stands there
    painter.save();
    painter.setClipRect(frame.kinds.adjusted(0, -4, 2, 4), Qt::IntersectClip);
    for (const bool rare : {true, false})
        for (int layer = 0; layer < layout.layers(); ++layer) {
            if ((story_.is_local(layer) == rare_is_local) != rare) continue;
            const double middle = layout.lane_rect(layer, 0).united(layout.lane_rect(layer, 1)).center().y();
            const auto close = [&](double other) { return std::abs(other - middle) < height - 3; };
            if (std::any_of(taken.begin(), taken.end(), close)) continue;
            taken.push_back(middle);
            paint_text(painter, QRectF(frame.kinds.left(), middle - height / 2, frame.kinds.width(), height),
                       Qt::AlignLeft | Qt::AlignVCenter, story_.kind_label(view_, layer), t.note(),
                       t.color(story_.is_local(layer) ? Role::QuietInk : Role::Ink));
        }
    painter.restore();
}

void CacheView::paint_axis(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    const QColor quiet = t.color(Role::QuietInk);
    const QRectF name(frame.axis.left(), frame.axis.top(), frame.lanes.left() - frame.axis.left() - 6,
                      frame.axis.height());
    paint_text(painter, name, Qt::AlignRight | Qt::AlignVCenter, tr("position"), t.note(), quiet);
    const double room = text_width(t.note(), QStringLiteral("%1").arg(column_count())) + 18;
    double free_from = frame.lanes.left() - 14;
    const auto tick = [&](int position) {
        const auto span = layout.span_of(position);
        if (!span) return;
        const double x = span->first + span->second / 2;
        const QString text = QStringLiteral("%1").arg(position);
        const double half = text_width(t.note(), text) / 2 + 1;
        if (x - half < free_from || x + half > frame.lanes.right() + 3) return;
        painter.setPen(QPen(t.color(Role::Line), 1));
        painter.drawLine(QPointF(x, frame.axis.top() - 1), QPointF(x, frame.axis.top() + 2));
        paint_text(painter, QRectF(x - half, frame.axis.top() + 1, 2 * half, frame.axis.height()), Qt::AlignCenter,
                   text, t.note(), quiet);
        free_from = x + half + room / 2;
    };
    int step = 1;
    while (layout.fit_cell() * step < room) step *= 2;
    int last = -1;
    for (const CacheColumn& column : layout.columns()) {
        // In a strip the first position of a round number is the one that is named.
        const int coarse = column.merged ? std::max(step, 64) : step;
        const int round = (column.first + coarse - 1) / coarse * coarse;
        if (round < column.end && round != last) tick(last = round);
    }
}

void CacheView::paint_sentence(QPainter& painter, const QRectF& rect) const {
    const Theme& t = theme();
    double x = rect.left();
    const std::int64_t before = story_.slots_before(view_), after = view_.facts->kv.capacity_tokens;
    if (story_.kind() == CacheKind::Growing && view_.facts->kv.copied_bytes > 0 && after > 0 && rect.width() > 380) {
        // Old buffer, arrow, new buffer: lengths in proportion, the new slots outlined.
        const double full = 84 * t.type_scale(), height = 8, y = std::round(rect.center().y() - height / 2);
        const double old_width = std::max(2.0, full * static_cast<double>(before) / static_cast<double>(after));
        painter.fillRect(QRectF(x, y, old_width, height), QColor::fromRgb(t.shade(Role::K, 0.45f)));
        x += full + 4;
        paint_text(painter, QRectF(x, rect.top(), 16, rect.height()), Qt::AlignCenter, QStringLiteral("→"), t.body(),
                   t.color(Role::QuietInk));
        x += 20;
        painter.fillRect(QRectF(x, y, old_width, height), t.color(Role::K));
        paint_ring(
            painter,
            QRectF(x + old_width + 1, y, std::max(2.0, full - old_width - 1), height).adjusted(0.5, 0.5, -0.5, -0.5),
            1.2);
        x += full + t.grid();
    }
    const QColor ink = recomputes() ? t.text(Role::Recompute) : t.color(Role::Ink);
    paint_text(painter, QRectF(x, rect.top(), rect.right() - x, rect.height()), Qt::AlignLeft | Qt::AlignVCenter,
               story_.sentence(view_), t.note(), ink);
}

void CacheView::paint_legend_line(QPainter& painter, const QRectF& rect) const {
    const Theme& t = theme();
    using Kind = LegendItem::Kind;
    if (recomputes()) {
        paint_legend(painter, rect,
                     {{Kind::Fill, QColor::fromRgb(t.shade(Role::Recompute, 0.22f)),
                       tr("computed again in this step, not kept"), 1}});
        return;
    }
    std::vector<LegendItem> items = {
        {Kind::Fill, t.color(Role::K), tr("filled K"), 9},
        {Kind::Fill, t.color(Role::V), tr("filled V"), 9},
        {Kind::Ring, t.color(Role::Ring), tr("just written"), 8},
    };
    if (column_count() > filled()) items.push_back({Kind::Outline, t.color(Role::Reserved), tr("reserved, empty"), 7});
    if (evictions_) items.push_back({Kind::Hatch, t.color(Role::QuietInk), tr("evicted, with its step"), 6});
    const double used = paint_legend(painter, rect, items);
    const QString shade = tr("shade: RMS of the row, per layer");
    const double width = text_width(t.note(), shade);
    if (used + 2 * t.grid() + width < rect.width())
        paint_text(painter, QRectF(rect.right() - width - 1, rect.top(), width + 1, rect.height()),
                   Qt::AlignRight | Qt::AlignVCenter, shade, t.note(), t.color(Role::QuietInk));
}

void CacheView::paint_hover(QPainter& painter) const {
    const QStringList lines = facts_of(*hovered_);
    const QSizeF size = info_box_size(lines, std::min(320.0 * theme().type_scale(), width() - 8.0));
    const auto span = layout_.span_of(hovered_->position);
    const QRectF cell(span ? span->first : pointer_.x(), layout_.lane_rect(hovered_->layer, 0).top(),
                      span ? span->second : 1, 2 * layout_.lane_height());
    double x = cell.right() + 8, y = cell.top() - size.height() - 6;
    if (x + size.width() > width() - 2) x = cell.left() - 8 - size.width();
    if (y < 2) y = cell.bottom() + 8;
    x = std::clamp(x, 2.0, std::max(2.0, width() - size.width() - 2));
    y = std::clamp(y, 2.0, std::max(2.0, height() - size.height() - 2));
    paint_ring(painter, layout_.cell_rect(hovered_->layer, hovered_->lane, hovered_->position), 1.4);
    paint_info_box(painter, QRectF(QPointF(x, y), size), lines);
}

}  // namespace decodescope
