#include "ui/panels/attention/map_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/viewmodels/token_text.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/view_events.h"

namespace decodescope {

// Cells per presentation: 1 to 3 ms, whatever the run. What is left is taken over by the next ones.
constexpr std::int64_t kBudget = 1'500'000;
constexpr double kLargestCell = 96;

MapView::MapView(Selection* selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);  // what lies below is not painted 30 times a second
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(
        tr("Attention of the chosen head: rows are tokens being computed, columns the tokens they read from"));
    setAccessibleDescription(tr("Arrow keys move the pinned cell, plus and minus zoom, 0 fits, Esc clears"));
    make_palette();
}

void MapView::make_palette() {
    const Theme& t = theme();
    palette_ = HeatmapPalette(attention_scale(), t.color(Role::Card).rgb(), t.not_captured().rgb(),
                              t.color(Role::Reserved).rgb(), threshold_);
    mark_stale();
}

void MapView::set_mean(bool mean) {
    mean_ = mean;
    refresh();
}

void MapView::set_threshold(float threshold) {
    threshold_ = threshold;
    make_palette();
    update();
}

void MapView::present(const PanelContext& context, unsigned changes) {
    const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
    context_ = context;
    if (replaced) {
        fitted_ = following_ = true;
        hovered_.reset();
    }
    if (changes & ThemeChanged) make_palette();
    track_.update(context_.recording.get());
    view_ = viewed_step(context_.recording.get(), context_.step);
    refresh();
    if ((changes & SelectionMoved) && !selection_->hovering()) describe();
}

// What a screen reader says of the pinned cell.
void MapView::describe() {
    const auto cell = selection_->position_pinned() ? shown_cell() : std::nullopt;
    setAccessibleDescription(cell ? facts_of(*cell).join(QStringLiteral(", "))
                                  : tr("Arrow keys move the pinned cell, plus and minus zoom, 0 fits, Esc clears"));
}

void MapView::refresh() {
    const SelectionPoint& point = selection_->effective();
    const int rows = pyramid_.rows(), layer = pyramid_.layer(), head = pyramid_.head();
    pyramid_.select(context_.recording, point.layer, mean_ ? AttentionPyramid::kMeanOfHeads : point.head);
    std::int64_t budget = kBudget;
    const bool complete = pyramid_.advance(budget);
    if (pyramid_.layer() != layer || pyramid_.head() != head) mark_stale();
    else if (pyramid_.rows() != rows) mark_stale(true);
    if (!complete && !waiting_) {
        waiting_ = true;
        QTimer::singleShot(15, this, [this] {
            waiting_ = false;
            refresh();
        });
    }
    place();
    update();
}

void MapView::place() {
    frame_ = frame_for(QRectF(rect()));
    lay_out();
}

void MapView::lay_out() {
    const HeatmapLayout before = layout_;
    layout_.area = frame_.map;
    layout_.rows = view_.row_limit;
    layout_.columns = std::min(track_.positions(), std::max(0, track_.position_of(view_.newest_row()) + 1));
    if (fitted_) {
        layout_.fit(kLargestCell / 2 * theme().type_scale(), devicePixelRatioF());
    } else {
        if (following_ && layout_.rows != before.rows) layout_.reveal(layout_.rows - 1, -1);
        layout_.clamp();
    }
    const bool same = before.area == layout_.area && before.rows == layout_.rows && before.columns == layout_.columns &&
                      before.cell == layout_.cell && before.first_row == layout_.first_row &&
                      before.first_column == layout_.first_column;
    const bool grew = fitted_ && before.area == layout_.area && before.rows <= layout_.rows && before.rows > 0;
    if (!same) mark_stale(grew);
}

void MapView::mark_stale(bool only_grew) {
    only_grew_ = only_grew && (only_grew_ || !cells_stale_);
    cells_stale_ = true;
}

// Where several cells share a pixel, a new row moves nothing by a whole one: in a fast run the picture follows 8 times
// a second.
bool MapView::may_wait() {
    constexpr int kPeriodMillis = 120;
    const bool merged = layout_.cell * devicePixelRatioF() < 1.5;
    if (!only_grew_ || !merged || cells_.isNull() || !since_drawn_.isValid() || since_drawn_.elapsed() >= kPeriodMillis)
        return false;
    if (redraw_waiting_) return true;
    redraw_waiting_ = true;
    QTimer::singleShot(kPeriodMillis, this, [this] {
        redraw_waiting_ = false;
        update();
    });
    return true;
}

void MapView::zoom_by(double factor) {
    if (layout_.rows == 0) return;
    const double smallest = layout_.fit_cell(kLargestCell / 2 * theme().type_scale(), devicePixelRatioF());
    const QPointF anchor = underMouse() && frame_.map.contains(pointer_)
                               ? pointer_
                               : layout_.cell_rect(layout_.rows - 1, layout_.columns - 1).center();
    fitted_ = false;
    layout_.zoom(anchor, factor, smallest, kLargestCell);
    if (factor < 1 && layout_.cell <= smallest * 1.001) fitted_ = true;
    following_ = layout_.visible_rows().end >= layout_.rows;
    mark_stale();
    place();
    update();
}

void MapView::fit() {
    fitted_ = following_ = true;
    mark_stale();
    place();
    update();
}

QString MapView::label_of(int row) const {
    if (row < 0 || row >= track_.rows()) return {};
    return token_label(context_.recording->row_display(row), context_.recording->row(row).special).text;
}

std::optional<HeatCell> MapView::shown_cell() const {
    if (hovered_) return hovered_;
    const SelectionPoint& point = selection_->effective();
    const int column = track_.position_of(point.position);
    const int row = point.query >= 0 ? point.query : view_.newest_row();
    if (column < 0 || row < 0 || row >= layout_.rows || column >= layout_.columns) return std::nullopt;
    return HeatCell{row, column};
}

QStringList MapView::facts_of(const HeatCell& cell) const {
    const RunRecording& recording = *context_.recording;
    const QString reader = label_of(cell.row), read = label_of(track_.row_of(cell.column));
    const SelectionPoint& point = selection_->effective();
    const QString head = mean_ ? tr("L%1, mean of %2 heads").arg(point.layer).arg(recording.facts().config.heads)
                               : QStringLiteral("L%1 H%2").arg(point.layer).arg(point.head);
    const QString where = tr("%1, step %2 [measured]").arg(head).arg(recording.row(cell.row).step);
    const MapValue value = pyramid_.value(cell.row, cell.column);
    if (cell.column > track_.position_of(cell.row))
        return {tr("%1 cannot read %2").arg(reader, read), tr("%1 comes later").arg(read)};
    if (is_weight(value))
        return {tr("%1 reads %2: %3").arg(reader, read, format_weight(weight_of(value))), where,
                tr("click pins, Esc clears")};
    if (value == kEvicted)
        return {tr("%1 cannot read %2").arg(reader, read), tr("its K and V had left the cache"), where};
    const bool budget = recording.attention_left_out(cell.row);
    return {tr("%1 reads %2: not captured").arg(reader, read),
            budget ? tr("left out: the history's byte budget is used up")
                   : tr("computed, but not recorded: capture was off")};
}

SelectionPoint MapView::point_of(const HeatCell& cell) const {
    SelectionPoint point = selection_->pinned();
    point.position = track_.row_of(cell.column);
    point.query = cell.row;
    return point;
}

// ---- pointer and keys

void MapView::mouseMoveEvent(QMouseEvent* event) {
    pointer_ = event->position();
    if (pressing_ && !dragging_ && !fitted_ && (pointer_ - pressed_).manhattanLength() > 5) dragging_ = true;
    if (dragging_) {
        layout_.pan(pointer_.x() - pressed_.x(), pointer_.y() - pressed_.y());
        following_ = layout_.visible_rows().end >= layout_.rows;
        pressed_ = pointer_;
        mark_stale();
        setCursor(Qt::ClosedHandCursor);
        return update();
    }
    hovered_ = layout_.hit(pointer_);
    const bool readable = hovered_ && hovered_->column <= track_.position_of(hovered_->row);
    setCursor(readable ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (readable) selection_->hover(point_of(*hovered_));
    else selection_->end_hover();
    update();
}

void MapView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    pressing_ = true;
    pressed_ = event->position();
}

void MapView::mouseReleaseEvent(QMouseEvent* event) {
    const auto hit = layout_.hit(event->position());
    if (pressing_ && !dragging_ && hit && hit->column <= track_.position_of(hit->row)) selection_->pin(point_of(*hit));
    pressing_ = dragging_ = false;
}

void MapView::leaveEvent(QEvent*) {
    hovered_.reset();
    selection_->end_hover();
    update();
}

void MapView::resizeEvent(QResizeEvent*) {
    mark_stale();
    place();
}

void MapView::wheelEvent(QWheelEvent* event) {
    pointer_ = event->position();
    if (event->modifiers() & Qt::ControlModifier) {
        zoom_by(wheel_zoom(*event));
        return event->accept();
    }
    if (fitted_) return event->ignore();
    QPointF moved = wheel_distance(*event);
    if (event->modifiers() & Qt::ShiftModifier) moved = moved.transposed();
    layout_.pan(moved.x(), moved.y());
    following_ = layout_.visible_rows().end >= layout_.rows;
    mark_stale();
    update();
    event->accept();
}

void MapView::move_pin(int rows, int columns) {
    if (layout_.rows == 0) return;
    const SelectionPoint& pinned = selection_->pinned();
    HeatCell cell{pinned.query >= 0 ? pinned.query : view_.newest_row(), track_.position_of(pinned.position)};
    if (cell.column < 0) cell.column = track_.position_of(cell.row);
    else cell = {cell.row + rows, cell.column + columns};
    cell.row = std::clamp(cell.row, 0, layout_.rows - 1);
    cell.column = std::clamp(cell.column, 0, std::max(0, track_.position_of(cell.row)));
    selection_->pin(point_of(cell));
    if (fitted_) return;
    layout_.reveal(cell.row, cell.column);
    mark_stale();
    update();
}

void MapView::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Left: return move_pin(0, -1);
        case Qt::Key_Right: return move_pin(0, 1);
        case Qt::Key_Up: return move_pin(-1, 0);
        case Qt::Key_Down: return move_pin(1, 0);
        case Qt::Key_Plus:
        case Qt::Key_Equal: return zoom_by(kZoomStep);
        case Qt::Key_Minus: return zoom_by(1 / kZoomStep);
        case Qt::Key_0: return fit();
        case Qt::Key_Escape: return selection_->clear();
        default: QWidget::keyPressEvent(event);
    }
}

bool MapView::event(QEvent* event) {
    if (keeps_arrow_keys(event)) return true;
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const bool axis = frame_.scale.contains(help->pos()) || frame_.row_axis.contains(help->pos()) ||
                          frame_.column_axis.contains(help->pos());
        show_term(*help, this, axis ? QStringLiteral("attention") : QString());
        return true;
    }
    return QWidget::event(event);
}

}  // namespace decodescope
