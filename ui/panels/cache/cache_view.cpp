#include "ui/panels/cache/cache_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/viewmodels/format.h"
#include "ui/viewmodels/token_text.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/view_events.h"

namespace decodescope {

constexpr int kFadeMillis = 150;
constexpr double kLargestCell = 40;

CacheView::CacheView(Selection* selection, QWidget* parent)
    : QWidget(parent),
      selection_(selection),
      across_(new QScrollBar(Qt::Horizontal, this)),
      down_(new QScrollBar(Qt::Vertical, this)) {
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);  // what lies below is not painted 30 times a second
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("KV cache: layers down, positions right"));
    setAccessibleDescription(
        tr("Arrow keys move the pinned cell, Enter shows its numbers, plus and minus zoom, 0 fits, Esc clears"));
    for (QScrollBar* bar : {across_, down_}) {
        bar->setFocusPolicy(Qt::NoFocus);
        bar->hide();
    }
    connect(across_, &QScrollBar::valueChanged, this, [this](int value) {
        if (fitted_ || std::abs(value - first_position_) < 0.5) return;
        first_position_ = value;
        following_ = value >= across_->maximum();
        lay_out(layout_, frame_.lanes, devicePixelRatioF());
        update();
    });
    connect(down_, &QScrollBar::valueChanged, this, [this](int value) {
        layout_.scroll_to(value);
        update();
    });
}

QSize CacheView::minimumSizeHint() const { return {260, static_cast<int>(110 * theme().type_scale())}; }

int CacheView::filled() const {
    if (!view_.facts) return 0;
    const auto seen = static_cast<int>(view_.facts->kv.tokens_seen);
    return std::min(seen > 0 ? seen : view_.row_limit, track_.positions());
}

int CacheView::column_count() const {
    if (!view_.facts || recomputes()) return std::max(filled(), 1);
    const KvFacts& kv = view_.facts->kv;
    return std::max<int>(
        filled() + static_cast<int>(std::clamp<std::int64_t>(kv.capacity_tokens - kv.tokens_stored, 0, 1 << 20)), 1);
}

CacheMapOptions CacheView::options(double device_ratio) const {
    CacheMapOptions options;
    options.readable = 6;
    options.largest = 28 * theme().type_scale();
    options.device_ratio = device_ratio;
    return options;
}

CacheView::Frame CacheView::frame_for(const QRectF& area) const {
    const Theme& t = theme();
    const double note = text_height(t.note()), label = std::ceil(std::max(text_width(t.note(), QStringLiteral("L00 K")),
                                                                          text_width(t.note(), tr("position")))) +
                                                       8;
    Frame frame;
    const double legend_height = note + 4, sentence_height = note + 8, axis_height = note + 2;
    double bottom = area.bottom();
    frame.legend = QRectF(area.left() + label, bottom - legend_height, area.width() - label, legend_height);
    bottom -= legend_height;
    frame.sentence = QRectF(area.left() + label, bottom - sentence_height, area.width() - label, sentence_height);
    bottom -= sentence_height;
    frame.axis = QRectF(area.left(), bottom - axis_height, area.width(), axis_height);
    bottom -= axis_height + 1;
    frame.labels = QRectF(area.left(), area.top(), label - 6, bottom - area.top());
    frame.lanes = QRectF(area.left() + label, area.top() + 2, area.width() - label - 2, bottom - area.top() - 2);
    if (const double kinds = kinds_width(); kinds > 0) {
        frame.lanes.setRight(frame.lanes.right() - kinds);
        frame.kinds = QRectF(frame.lanes.right() + 8, frame.lanes.top(), kinds - 8, frame.lanes.height());
    }
    return frame;
}

// Room for "2,048 global" at the right of every layer, where the layers of the model are not all alike.
double CacheView::kinds_width() const {
    double widest = 0;
    for (int layer = 0; story_.has_local() && layer < context_.recording->facts().config.layers; ++layer)
        widest = std::max(widest, text_width(theme().note(), story_.kind_label(view_, layer)));
    return widest > 0 ? std::ceil(widest) + 18 : 0;
}

void CacheView::lay_out(CacheMapLayout& layout, const QRectF& lanes, double device_ratio) const {
    const int layers = context_.recording ? static_cast<int>(context_.recording->facts().config.layers) : 0;
    if (fitted_) layout.fit(lanes, layers, filled(), column_count(), options(device_ratio));
    else layout.zoomed(lanes, layers, column_count(), cell_, first_position_, options(device_ratio));
}

void CacheView::place() {
    frame_ = frame_for(QRectF(rect()));
    if (!fitted_) {
        cell_ = std::clamp(cell_, frame_.lanes.width() / column_count(), kLargestCell);
        frame_.lanes.setBottom(frame_.lanes.bottom() - 8);
    }
    lay_out(layout_, frame_.lanes, devicePixelRatioF());
    const double shown = fitted_ ? column_count() : frame_.lanes.width() / cell_;
    const int most = static_cast<int>(std::ceil(std::max(0.0, column_count() - shown)));
    across_->setVisible(!fitted_ && most > 0);
    across_->setGeometry(static_cast<int>(frame_.lanes.left()), static_cast<int>(frame_.lanes.bottom()),
                         static_cast<int>(frame_.lanes.width()), 8);
    across_->setPageStep(std::max(1, static_cast<int>(shown)));
    across_->setRange(0, most);
    const int hidden = static_cast<int>(std::ceil(layout_.content_height() - frame_.lanes.height()));
    down_->setVisible(hidden > 0);
    down_->setGeometry(width() - 8, static_cast<int>(frame_.lanes.top()), 8, static_cast<int>(frame_.lanes.height()));
    down_->setPageStep(std::max(1, static_cast<int>(frame_.lanes.height())));
    down_->setRange(0, std::max(0, hidden));
    keep_newest_in_view();
}

void CacheView::keep_newest_in_view() {
    if (fitted_) return;
    const double shown = frame_.lanes.width() / cell_, most = std::max(0.0, column_count() - shown);
    if (following_) first_position_ = std::max(first_position_, filled() + 2 - shown);
    if (following_ && filled() < first_position_) first_position_ = filled() - shown / 2;
    first_position_ = std::clamp(first_position_, 0.0, most);
    across_->setValue(static_cast<int>(std::lround(first_position_)));
    lay_out(layout_, frame_.lanes, devicePixelRatioF());
}

void CacheView::present(const PanelContext& context, unsigned changes) {
    const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
    context_ = context;
    if (replaced) {
        fitted_ = following_ = true;
        faded_step_ = -1;
        hovered_.reset();
    }
    track_.update(context_.recording.get());
    shades_.update(context_.recording.get());
    story_.update(context_.recording.get());
    view_ = viewed_step(context_.recording.get(), context_.step);
    evictions_ = story_.some_left(view_);
    start_fade(replaced ? changes | NewRecording : changes);
    place();
    if ((changes & SelectionMoved) && !selection_->hovering()) describe();
    update();
}

// What a screen reader says of the pinned cell.
void CacheView::describe() {
    const SelectionPoint& pinned = selection_->pinned();
    const int position = track_.position_of(pinned.position);
    if (!view_.facts || position < 0)
        return setAccessibleDescription(
            tr("Arrow keys move the pinned cell, Enter shows its numbers, plus and minus zoom, 0 fits, Esc clears"));
    setAccessibleDescription(facts_of({pinned.layer, 0, position}).join(QStringLiteral(", ")));
}

void CacheView::start_fade(unsigned changes) {
    const int step = view_.facts ? view_.facts->index : -1;
    const bool new_step = step > faded_step_;
    faded_step_ = step;
    if (!new_step || !(changes & (NewSteps | NewRecording)) || !animations_welcome()) return;
    const bool running = fading_;
    fading_ = true;
    fade_.start();
    if (running) return;
    auto* timer = new QTimer(this);
    connect(timer, &QTimer::timeout, this, [this, timer] {
        if (fade_.elapsed() >= kFadeMillis) {
            fading_ = false;
            timer->deleteLater();
        }
        update(frame_.lanes.toAlignedRect().adjusted(-3, -3, 3, 3));
    });
    timer->start(30);
}

void CacheView::zoom_by(double factor) {
    if (!view_.facts) return;
    const double before = fitted_ ? std::max(layout_.fit_cell(), frame_.lanes.width() / column_count()) : cell_;
    const double after = std::clamp(before * factor, frame_.lanes.width() / column_count(), kLargestCell);
    const double x =
        frame_.lanes.contains(pointer_) && underMouse() ? pointer_.x() - frame_.lanes.left() : frame_.lanes.width();
    const int anchor = layout_.position_at(frame_.lanes.left() + x);
    const double at = anchor >= 0 && !(x >= frame_.lanes.width()) ? anchor + 0.5 : filled() + 2;
    if (factor < 1 && after <= frame_.lanes.width() / column_count() * 1.01) return fit();
    fitted_ = false;
    cell_ = after;
    first_position_ = at - x / cell_;
    following_ = first_position_ + frame_.lanes.width() / cell_ >= filled();
    place();
    update();
}

void CacheView::fit() {
    fitted_ = following_ = true;
    place();
    update();
}

bool CacheView::is_evicted(int layer, int position) const {
    return evictions_ && context_.recording->evicted_at(position, view_.facts->index, layer).has_value();
}

SelectionPoint CacheView::point_of(const CacheHit& hit) const {
    SelectionPoint point = selection_->pinned();
    point.layer = hit.layer;
    const int heads = context_.recording ? static_cast<int>(context_.recording->facts().config.heads) : 1;
    point.head = std::clamp(point.head, 0, std::max(0, heads - 1));
    point.position = track_.row_of(hit.position);
    return point;
}

QStringList CacheView::facts_of(const CacheHit& hit) const {
    const RunRecording& recording = *context_.recording;
    const int row = track_.row_of(hit.position);
    const QString lane = hit.lane == 0 ? QStringLiteral("K") : QStringLiteral("V");
    const QString place = tr("L%1 %2 · position %3").arg(hit.layer).arg(lane).arg(hit.position);
    if (row < 0 || row >= view_.row_limit) {
        if (hit.position >= story_.rows_room(view_, hit.layer) && story_.is_local(hit.layer))
            return {place, tr("no room here: this layer keeps the last %1 tokens")
                               .arg(story_.rows_room(view_, hit.layer))};
        return {place, tr("reserved, empty: a later token goes here")};
    }
    const TokenRow& token = recording.row(row);
    QStringList lines{place + QStringLiteral(" · ") + token_label(recording.row_display(row), token.special).spoken};
    const float rms = hit.lane == 0 ? recording.k_rms(row, hit.layer) : recording.v_rms(row, hit.layer);
    const QString size = std::isfinite(rms) ? tr("RMS %1 [measured]").arg(format_value(rms)) : tr("RMS not recorded");
    if (recomputes()) {
        lines << size << tr("computed again in every step, then thrown away");
        return lines;
    }
    lines << size + QStringLiteral(" · ") +
                 (token.step == 0 ? tr("written by the prefill") : tr("written in step %1").arg(token.step));
    const int left =
        evictions_ ? recording.evicted_at(hit.position, view_.facts->index, hit.layer).value_or(-1) : -1;
    if (story_.has_local())
        lines << (story_.is_local(hit.layer) ? tr("local layer: %1 of %2 tokens kept, its window is %3")
                                             : tr("global layer: %1 of %2 tokens kept"))
                     .arg(story_.rows_kept(view_, hit.layer))
                     .arg(view_.facts->kv.tokens_seen);
    if (story_.is_local(hit.layer)) lines.last() = lines.last().arg(recording.facts().config.window);
    if (left < 0) return lines << tr("click shows the numbers, Esc clears");
    if (const auto score = eviction_score(recording, left, hit.layer, hit.position))
        lines << tr("least attended to in this layer: %1 in all [measured]").arg(format_value(*score));
    lines << tr("evicted in step %1: no later token reads it").arg(left);
    return lines;
}

// ---- pointer and keys

void CacheView::mouseMoveEvent(QMouseEvent* event) {
    pointer_ = event->position();
    hovered_ = view_.facts ? layout_.hit(pointer_) : std::nullopt;
    const bool cell =
        hovered_ && track_.row_of(hovered_->position) >= 0 && track_.row_of(hovered_->position) < view_.row_limit;
    setCursor(cell ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (cell) selection_->hover(point_of(*hovered_));
    else selection_->end_hover();
    update();
}

void CacheView::mousePressEvent(QMouseEvent* event) {
    const auto hit = view_.facts ? layout_.hit(event->position()) : std::nullopt;
    if (event->button() != Qt::LeftButton || !hit) return;
    const int row = track_.row_of(hit->position);
    if (row < 0 || row >= view_.row_limit) return;
    selection_->pin(point_of(*hit));
    Q_EMIT cell_chosen(hit->layer, hit->position);
}

void CacheView::leaveEvent(QEvent*) {
    hovered_.reset();
    selection_->end_hover();
    update();
}

void CacheView::resizeEvent(QResizeEvent*) { place(); }

void CacheView::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & Qt::ControlModifier) {
        pointer_ = event->position();
        zoom_by(wheel_zoom(*event));
        return event->accept();
    }
    const QPointF moved = wheel_distance(*event);
    const double x = moved.x(), y = moved.y();
    if (!fitted_ && across_->isVisible() && (x != 0 || !down_->isVisible() || (event->modifiers() & Qt::ShiftModifier)))
        across_->setValue(across_->value() - static_cast<int>(std::lround((x != 0 ? x : y) / cell_)));
    else if (down_->isVisible()) down_->setValue(down_->value() - static_cast<int>(y));
    else return event->ignore();
    event->accept();
}

void CacheView::move_pin(int layers, int positions) {
    if (!view_.facts || view_.row_limit == 0) return;
    const SelectionPoint& pinned = selection_->pinned();
    const int from = track_.position_of(pinned.position);
    CacheHit hit;
    hit.layer = std::clamp(pinned.layer + (from < 0 ? 0 : layers), 0, layout_.layers() - 1);
    hit.position = from < 0 ? filled() - 1 : std::clamp(from + positions, 0, filled() - 1);
    selection_->pin(point_of(hit));
    if (fitted_) return;
    const double shown = frame_.lanes.width() / cell_;
    first_position_ = std::clamp(first_position_, hit.position + 1 - shown, static_cast<double>(hit.position));
    following_ = false;
    place();
    update();
}

void CacheView::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Left: return move_pin(0, -1);
        case Qt::Key_Right: return move_pin(0, 1);
        case Qt::Key_Up: return move_pin(-1, 0);
        case Qt::Key_Down: return move_pin(1, 0);
        case Qt::Key_Plus:
        case Qt::Key_Equal: return zoom_by(kZoomStep);
        case Qt::Key_Minus: return zoom_by(1 / kZoomStep);
        case Qt::Key_0: return fit();
        case Qt::Key_Escape:
            selection_->clear();
            Q_EMIT cleared();
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter: {
            const int position = track_.position_of(selection_->pinned().position);
            if (position >= 0) Q_EMIT cell_chosen(selection_->pinned().layer, position);
            return;
        }
        default: QWidget::keyPressEvent(event);
    }
}

bool CacheView::event(QEvent* event) {
    if (keeps_arrow_keys(event)) return true;
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QString term;
        if (frame_.labels.contains(help->pos())) term = QStringLiteral("layer");
        else if (frame_.axis.contains(help->pos())) term = QStringLiteral("position");
        else if (frame_.legend.contains(help->pos()))
            term = recomputes() ? QStringLiteral("recompute") : QStringLiteral("rms");
        else if (frame_.sentence.contains(help->pos()))
            term = recomputes()                          ? QStringLiteral("recompute")
                   : story_.kind() == CacheKind::Growing ? QStringLiteral("growing")
                                                         : QStringLiteral("reserved");
        show_term(*help, this, term);
        return true;
    }
    return QWidget::event(event);
}

}  // namespace decodescope
