// How the large map is drawn: cells from a cached picture, then what must stay sharp on top of it.
#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/panels/attention/map_view.h"
#include "ui/widgets/painting.h"

namespace decodescope {
namespace {

// The staircase below which a row can read, clipped to the view; at most two corners per pixel row.
QPainterPath staircase(const HeatmapLayout& layout, const TokenTrack& track) {
    QPainterPath path;
    const IndexRange rows = layout.visible_rows();
    if (rows.count() <= 0) return path;
    const QRectF area = layout.area;
    const int step = std::max(1, static_cast<int>(1.0 / layout.cell));
    const auto x_of = [&](int row) {
        return std::clamp(layout.cell_rect(row, track.position_of(row) + 1).left(), area.left(), area.right());
    };
    const auto y_of = [&](int row) { return std::clamp(layout.cell_rect(row, 0).top(), area.top(), area.bottom()); };
    path.moveTo(area.left(), y_of(rows.first));
    for (int row = rows.first; row < rows.end; row += step) {
        path.lineTo(x_of(row), y_of(row));
        path.lineTo(x_of(row), y_of(std::min(row + step, rows.end)));
    }
    path.lineTo(area.left(), y_of(rows.end));
    path.closeSubpath();
    return path;
}

double label_width(const QString& text, double most) { return std::min(most, text_width(theme().note(), text)); }

}  // namespace

double MapView::largest_label(int rows) const {
    const double most = 76 * theme().type_scale();
    double widest = 20;
    const int from = std::max(0, rows - 64);  // no more than are ever named at once
    for (int row = from; row < rows && widest < most; ++row)
        widest = std::max(widest, label_width(label_of(row), most));
    return std::ceil(widest);
}

MapView::Frame MapView::frame_for(const QRectF& area) const {
    const Theme& t = theme();
    const double note = text_height(t.note()), s = t.type_scale();
    const int rows = std::max(1, view_.row_limit);
    Frame frame;
    const double notes = area.width() >= 430 * s ? 182 * s : 50 * s;
    const double guess = fitted_ ? std::min(area.width() - notes - 60, area.height() - 60) / rows : layout_.cell;
    frame.tokens_down = guess >= note - 4;
    const double widest = frame.tokens_down ? largest_label(rows) : text_width(t.note(), QStringLiteral("0000"));
    frame.tokens_across = frame.tokens_down;
    frame.upright = frame.tokens_across && widest <= guess - 3;
    const double axis = note + 2;
    const double below = frame.tokens_across && !frame.upright ? std::ceil(widest * 0.82 + note * 0.6) : note;
    const double left = axis + widest + 12, bottom = below + 4 + axis;
    const double side =
        std::max(20.0, std::min(area.width() - left - notes - 4, area.height() - bottom - note / 2 - 1));
    const double spare = std::max(0.0, area.width() - left - side - notes - 16);
    const double x = area.left() + left + std::floor(std::min(spare * 0.4, 80.0));
    frame.map = QRectF(x, area.top() + std::ceil(note / 2), side, side);
    frame.row_labels = QRectF(x - widest - 6, frame.map.top(), widest, side);
    frame.row_axis = QRectF(x - left, frame.map.top(), axis, side);
    frame.column_labels = QRectF(x, frame.map.bottom() + 4, side, below);
    frame.column_axis = QRectF(x, frame.map.bottom() + 4 + below, side, axis);
    const double right = frame.map.right() + (notes > 100 * s ? 20 * s : 10);
    frame.scale = QRectF(right, frame.map.top() + 1, 13 * s, std::min(side - 2, std::max(60.0, side * 0.55)));
    frame.notes = notes > 100 * s ? QRectF(right, frame.scale.bottom() + note, area.right() - right,
                                           area.bottom() - frame.scale.bottom() - note)
                                  : QRectF();
    return frame;
}

QPixmap MapView::draw_cells(const HeatmapLayout& layout, double device_ratio) const {
    const QSize size = (layout.area.size() * device_ratio).toSize().expandedTo(QSize(1, 1));
    QPixmap pixmap(size);
    pixmap.setDevicePixelRatio(device_ratio);
    pixmap.fill(theme().color(Role::Card));
    const HeatmapPicture picture = paint_view(pyramid_, layout, device_ratio, palette_);
    if (picture.image.isNull()) return pixmap;
    QPainter painter(&pixmap);
    painter.translate(-layout.area.topLeft());
    painter.setClipRect(layout.visible_rect());
    painter.setRenderHint(QPainter::SmoothPixmapTransform, layout.cell * device_ratio < 3);
    painter.drawImage(picture.target, picture.image);
    if (layout.cell < 7) return pixmap;
    const double line = 1;
    const IndexRange rows = layout.visible_rows(), columns = layout.visible_columns();
    for (int row = rows.first; row <= rows.end; ++row)
        painter.fillRect(QRectF(layout.area.left(), layout.cell_rect(row, 0).top() - line, layout.area.width(), line),
                         theme().color(Role::Card));
    for (int column = columns.first; column <= columns.end; ++column)
        painter.fillRect(
            QRectF(layout.cell_rect(0, column).left() - line, layout.area.top(), line, layout.area.height()),
            theme().color(Role::Card));
    return pixmap;
}

// The same for a page of any size: every cell a rectangle, or, where there are too many, one pixel per cell.
void MapView::paint_cells(QPainter& painter, const HeatmapLayout& layout) const {
    constexpr int kMostRectangles = 256;  // per side
    const double device_ratio = layout.rows > kMostRectangles ? 8 : 1;
    const HeatmapPicture picture = paint_view(pyramid_, layout, device_ratio, palette_);
    if (picture.image.isNull()) return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (picture.image.height() > kMostRectangles || picture.level > 0) {
        painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
        painter.drawImage(picture.target, picture.image);
    } else {
        const QRgb card = theme().color(Role::Card).rgb();
        const double gap = layout.cell >= 7 ? 1 : 0;
        for (int y = 0; y < picture.image.height(); ++y)
            for (int x = 0; x < picture.image.width(); ++x)
                if (picture.image.pixel(x, y) != card)
                    painter.fillRect(layout.cell_rect(y, x).adjusted(0, 0, -gap, -gap),
                                     QColor::fromRgb(picture.image.pixel(x, y)));
    }
    painter.restore();
}

void MapView::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), theme().color(Role::Card));
    if (view_.row_limit == 0) {
        paint_empty(painter, QRectF(rect()), tr("What each token reads from appears here, a row per token."),
                    tr("Space plays, → makes one step."));
        if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
        return;
    }
    if ((cells_stale_ && !may_wait()) || cells_.devicePixelRatio() != devicePixelRatioF()) {
        cells_ = draw_cells(layout_, devicePixelRatioF());
        cells_stale_ = only_grew_ = false;
        since_drawn_.start();
    }
    painter.drawPixmap(layout_.area.topLeft(), cells_);
    paint_evicted(painter, layout_);
    paint_rows_not_captured(painter, layout_);
    paint_outline(painter, layout_);
    paint_row_labels(painter, layout_, frame_);
    paint_column_labels(painter, layout_, frame_);
    paint_axes(painter, layout_, frame_);
    paint_scale(painter, frame_);
    paint_marks(painter, layout_, true);
    paint_facts(painter);
    if (focus_visible(this)) paint_focus(painter, QRectF(rect()));
}

void MapView::paint_whole(QPainter& painter, const QRectF& area) {
    std::int64_t budget = std::int64_t{1} << 40;
    pyramid_.advance(budget);
    const bool fitted = fitted_;
    fitted_ = true;
    const Frame frame = frame_for(area);
    fitted_ = fitted;
    HeatmapLayout layout = layout_;
    layout.area = frame.map;
    layout.fit(48, 1);
    paint_cells(painter, layout);
    paint_evicted(painter, layout);
    paint_rows_not_captured(painter, layout);
    paint_outline(painter, layout);
    paint_row_labels(painter, layout, frame);
    paint_column_labels(painter, layout, frame);
    paint_axes(painter, layout, frame);
    paint_scale(painter, frame);
    paint_marks(painter, layout, false);
}

void MapView::paint_rows_not_captured(QPainter& painter, const HeatmapLayout& layout) const {
    const IndexRange visible = layout.visible_rows();
    if (pyramid_.rows_not_captured().empty()) return;
    const Theme& t = theme();
    const QPainterPath steps = staircase(layout, track_);
    for (const IndexRange& run : pyramid_.rows_not_captured()) {
        const int first = std::max(run.first, visible.first), end = std::min(run.end, visible.end);
        if (first >= end) continue;
        const double top = layout.cell_rect(first, 0).top(), bottom = layout.cell_rect(end, 0).top();
        const QRectF band =
            QRectF(layout.area.left(), top, layout.area.width(), bottom - top).intersected(layout.visible_rect());
        painter.save();
        painter.setClipPath(steps, Qt::IntersectClip);
        paint_hatch(painter, band, t.color(Role::QuietInk), 6);
        painter.restore();
        const QString words =
            context_.recording->attention_left_out(first) ? tr("not captured: byte budget") : tr("not captured");
        const double width = text_width(t.note(), words) + 10, height = text_height(t.note());
        const double middle = band.top() + band.height() * (band.height() > 5 * height ? 0.7 : 0.5);
        const auto at = layout.hit(QPointF(layout.visible_rect().left() + 1, middle - height / 2));
        const double reach = at ? layout.cell_rect(at->row, track_.position_of(at->row)).right() - band.left() : 0;
        if (band.height() < height || reach < width + 8) continue;
        const QRectF plate(band.left() + std::min(12.0, (reach - width) / 2), std::round(middle - height / 2), width,
                           height);
        painter.fillRect(plate, t.color(Role::Card));
        paint_text(painter, plate, Qt::AlignCenter, words, t.note(), t.color(Role::Ink));
    }
}

void MapView::paint_evicted(QPainter& painter, const HeatmapLayout& layout) const {
    const KvFacts& kv = view_.facts->kv;
    if (layout.cell < 4 || kv.tokens_stored >= kv.tokens_seen || kv.tokens_stored == 0) return;
    const IndexRange rows = layout.visible_rows(), columns = layout.visible_columns();
    std::vector<MapValue> cells;
    QColor ink = theme().color(Role::QuietInk);
    ink.setAlphaF(0.55f);
    painter.save();
    painter.setClipRect(layout.visible_rect(), Qt::IntersectClip);
    for (int row = rows.first; row < rows.end; ++row) {
        pyramid_.read(0, row, columns.first, columns.end, cells);
        for (int i = 0; i < columns.count();) {
            int end = i;
            while (end < columns.count() && cells[static_cast<std::size_t>(end)] == kEvicted) ++end;
            if (end > i)
                paint_hatch(
                    painter,
                    layout.cell_rect(row, columns.first + i).united(layout.cell_rect(row, columns.first + end - 1)),
                    ink, 4);
            i = std::max(end, i + 1);
        }
    }
    painter.restore();
}

void MapView::paint_outline(QPainter& painter, const HeatmapLayout& layout) const {
    painter.save();
    painter.setClipRect(layout.area.adjusted(-2, -2, 2, 2), Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme().color(Role::Line), 1));
    painter.drawPath(staircase(layout, track_).translated(-0.5, -0.5));
    painter.restore();
}

void MapView::paint_row_labels(QPainter& painter, const HeatmapLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    const IndexRange rows = layout.visible_rows();
    const double height = text_height(t.note());
    const auto cell = shown_cell();
    int step = 1;
    if (!frame.tokens_down)
        while (layout.cell * step < height * 1.6) step *= 2;
    const int newest = view_.newest_row();
    for (int row = rows.first; row < rows.end; ++row) {
        const bool marked = row == newest || (cell && cell->row == row);
        const bool round = track_.position_of(row) % step == 0 && std::abs(row - newest) * layout.cell >= height * 0.9;
        if (!round && !(row == newest || frame.tokens_down)) continue;
        const QRectF place = layout.cell_rect(row, 0);
        if (place.center().y() < layout.area.top() || place.center().y() > layout.area.bottom()) continue;
        const QString text = frame.tokens_down ? label_of(row) : QStringLiteral("%1").arg(track_.position_of(row));
        paint_text(painter,
                   QRectF(frame.row_labels.left(), place.center().y() - height / 2, frame.row_labels.width(), height),
                   Qt::AlignRight | Qt::AlignVCenter, text, t.note(), t.color(marked ? Role::Ink : Role::QuietInk));
    }
}

void MapView::paint_column_labels(QPainter& painter, const HeatmapLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    const IndexRange columns = layout.visible_columns();
    const double height = text_height(t.note()), top = layout.visible_rect().bottom() + 4;
    const auto cell = shown_cell();
    int step = 1;
    if (!frame.tokens_across)
        while (layout.cell * step < text_width(t.note(), QStringLiteral("%1").arg(layout.columns)) + 14) step *= 2;
    for (int column = columns.first; column < columns.end; ++column) {
        if (column % step != 0) continue;
        const double x = layout.cell_rect(0, column).center().x();
        if (x < layout.area.left() || x > layout.area.right()) continue;
        const QColor color = t.color(cell && cell->column == column ? Role::Ink : Role::QuietInk);
        if (!frame.tokens_across || frame.upright) {
            const QString text = frame.upright ? label_of(track_.row_of(column)) : QStringLiteral("%1").arg(column);
            paint_text(painter, QRectF(x - 40, top, 80, height), Qt::AlignHCenter | Qt::AlignTop, text, t.note(),
                       color);
            continue;
        }
        painter.save();
        painter.translate(x - 2, top + 1);
        painter.rotate(55);
        paint_text(painter, QRectF(0, -height / 2, frame.row_labels.width() + 2, height),
                   Qt::AlignLeft | Qt::AlignVCenter, label_of(track_.row_of(column)), t.note(), color);
        painter.restore();
    }
}

void MapView::paint_axes(QPainter& painter, const HeatmapLayout& layout, const Frame& frame) const {
    const Theme& t = theme();
    const QColor quiet = t.color(Role::QuietInk);
    painter.save();
    const QRectF shown = layout.visible_rect();
    const double length = frame.row_axis.height(), height = frame.row_axis.width();
    const double middle = std::max(
        shown.center().y(), std::min(frame.row_axis.center().y(),
                                     frame.row_axis.top() + text_width(t.note(), tr("token being computed")) / 2));
    painter.translate(frame.row_axis.left() + height / 2, middle);
    painter.rotate(-90);
    paint_text(painter, QRectF(-length / 2, -height / 2, length, height), Qt::AlignCenter, tr("token being computed"),
               t.note(), quiet);
    painter.restore();
    const QString words = tr("reads from");
    const double least = text_width(t.note(), words) + 4, below = frame.column_axis.top() - frame.map.bottom();
    const QRectF place(shown.left(), shown.bottom() + below, std::max(least, shown.width()),
                       frame.column_axis.height());
    paint_text(painter, place, Qt::AlignCenter, words, t.note(), quiet);
}

void MapView::paint_scale(QPainter& painter, const Frame& frame) const {
    paint_attention_scale(painter, frame.scale);
    if (frame.notes.isEmpty() || threshold_ <= 0) return;
    // Below the threshold everything looks like 0: a line on the scale says where.
    const Theme& t = theme();
    const double y = frame.scale.bottom() - static_cast<double>(threshold_) * frame.scale.height();
    painter.setPen(QPen(t.color(Role::Ink), 1));
    painter.drawLine(QPointF(frame.scale.left() - 3, y), QPointF(frame.scale.right() + 1, y));
}

void MapView::paint_marks(QPainter& painter, const HeatmapLayout& layout, bool with_selection) const {
    painter.save();
    painter.setClipRect(layout.area.adjusted(-4, -4, 4, 4), Qt::IntersectClip);
    const int newest = view_.newest_row();
    const double right = layout.visible_rect().right(), left = layout.area.left();
    const QRectF row = layout.cell_rect(newest, 0);
    if (row.bottom() > layout.area.top() && row.top() < layout.area.bottom() + 1)
        paint_ring(painter,
                   QRectF(left, row.top(), right - left, std::max(2.0, row.height() - (layout.cell >= 7 ? 1 : 0))),
                   layout.cell >= 4 ? 1.8 : 1, 2);
    const auto cell = with_selection ? shown_cell() : std::nullopt;
    if (cell) {
        const QRectF place = layout.cell_rect(cell->row, cell->column);
        if (cell->row != newest && layout.cell >= 3)
            paint_ring(painter, QRectF(left, place.top(), right - left, place.height() - 1), 1, 2);
        const double least = std::max(5.0, layout.cell - 1);
        const QRectF mark(place.center().x() - least / 2 - (layout.cell > 5 ? 0.5 : 0),
                          place.center().y() - least / 2 - (layout.cell > 5 ? 0.5 : 0), least, least);
        paint_ring(painter, mark, 2.6, 2);
    }
    painter.restore();
}

void MapView::paint_facts(QPainter& painter) const {
    const Theme& t = theme();
    const auto cell = shown_cell();
    if (!cell) {
        if (!frame_.notes.isEmpty())
            paint_text(painter, frame_.notes.adjusted(0, 0, -4, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                       tr("point at a cell for its number"), t.note(), t.color(Role::QuietInk));
        return;
    }
    const QStringList lines = facts_of(*cell);
    if (!frame_.notes.isEmpty()) {
        const QSizeF size = info_box_size(lines, frame_.notes.width());
        const double y = std::clamp(frame_.notes.top(), 0.0, std::max(0.0, height() - size.height() - 1));
        return paint_info_box(painter, QRectF(frame_.notes.left(), y, size.width(), size.height()), lines);
    }
    if (!hovered_) return;
    const QSizeF size = info_box_size(lines, std::min(width() - 8.0, 260 * t.type_scale()));
    double x = pointer_.x() + 14, y = pointer_.y() - size.height() - 8;
    if (x + size.width() > width()) x = pointer_.x() - 14 - size.width();
    if (y < 0) y = pointer_.y() + 16;
    paint_info_box(
        painter, QRectF(QPointF(std::max(0.0, x), std::min(y, std::max(0.0, height() - size.height()))), size), lines);
}

}  // namespace decodescope
