#include "ui/panels/attention/overview_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/session/session_controller.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/thread_clock.h"
#include "ui/widgets/view_events.h"

namespace decodescope {

// Units of work per presentation: 1 to 3 ms, whatever the run. What is left is taken over by the next ones.
constexpr std::int64_t kBudget = 700'000;
// In a fast run the small maps follow 8 times a second; a single step is shown at once.
constexpr int kPeriodMillis = 120;
constexpr double kSmallestCell = 10;
// While tokens flood in, catching up takes at most a fiftieth of this thread.
constexpr double kIdlePerBusy = 50;
constexpr int kCatchUpMillis = 15, kLongestPauseMillis = 250;

OverviewView::OverviewView(Selection* selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);  // what lies below is not painted 30 times a second
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Attention of all heads: layers down, heads to the right"));
    setAccessibleDescription(tr("Arrow keys choose a head"));
    make_palette();
}

void OverviewView::make_palette() {
    const Theme& t = theme();
    palette_ = HeatmapPalette(attention_scale(), t.color(Role::Background).rgb(), t.not_captured().rgb(),
                              t.color(Role::Reserved).rgb(), threshold_);
}

void OverviewView::set_mean(bool mean) {
    mean_ = mean;
    update();
}

void OverviewView::set_threshold(float threshold) {
    threshold_ = threshold;
    make_palette();
    refresh(true);
}

void OverviewView::present(const PanelContext& context, unsigned changes) {
    const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
    context_ = context;
    if (replaced) maps_.select(context.recording);
    if (changes & ThemeChanged) make_palette();
    refresh(replaced || (changes & ThemeChanged));
    if (changes & ~unsigned{NewSteps | ViewMoved}) update();
}

void OverviewView::refresh_later(int millis) {
    if (waiting_) return;
    waiting_ = true;
    QTimer::singleShot(millis, this, [this] {
        waiting_ = false;
        refresh(false);
    });
}

void OverviewView::refresh(bool everything) {
    if (waiting_ && !everything && in_flood()) return;
    const double began = thread_millis();
    const bool complete = take_rows(everything);
    if (complete) return;
    const double pause = in_flood() ? kIdlePerBusy * (thread_millis() - began) : 0;
    refresh_later(static_cast<int>(std::clamp<double>(pause, kCatchUpMillis, kLongestPauseMillis)));
}

bool OverviewView::in_flood() const { return context_.session != nullptr && context_.session->playing(); }

// True when nothing is left to do.
bool OverviewView::take_rows(bool everything) {
    const int rows = maps_.rows();
    std::int64_t budget = kBudget;
    const bool complete = maps_.advance(budget);
    if (maps_.rows() != rows) drawn_ = false;
    if (!everything && (drawn_ || (since_refresh_.isValid() && since_refresh_.elapsed() < kPeriodMillis)))
        return complete && drawn_;
    draw_maps(everything);
    return complete;
}

void OverviewView::draw_maps(bool everything) {
    drawn_ = true;
    since_refresh_.start();
    const std::size_t count = static_cast<std::size_t>(maps_.layers()) * static_cast<std::size_t>(maps_.heads());
    if (images_.size() != count) {
        images_.assign(count, QImage());
        everything = true;
    }
    const int changed = maps_.take_changed();
    for (std::size_t i = 0; i < count; ++i) {
        const PooledMap& map = maps_.map(static_cast<int>(i) / maps_.heads(), static_cast<int>(i) % maps_.heads());
        if (everything || changed < map.side()) repaint_map(images_[i], map, palette_, everything ? 0 : changed);
    }
    update();
}

OverviewView::Grid OverviewView::grid_for(const QRectF& area) const {
    const Theme& t = theme();
    Grid grid;
    if (maps_.layers() == 0 || maps_.heads() == 0) return grid;
    const double note = text_height(t.note());
    const double labels = std::ceil(text_width(t.note(), QStringLiteral("L%1").arg(maps_.layers() - 1))) + 5;
    grid.left = area.left() + labels;
    grid.top = area.top() + note + 2;
    grid.gap = maps_.heads() > 12 ? 2 : 4;
    const double across = (area.right() - 3 - grid.left + grid.gap) / maps_.heads() - grid.gap;
    const double down = (area.bottom() - 3 - grid.top + grid.gap) / maps_.layers() - grid.gap;
    grid.cell = std::floor(std::clamp(std::min(across, down), std::min(kSmallestCell, across), 44 * t.type_scale()));
    grid.cell = std::max(grid.cell, 2.0);
    return grid;
}

double OverviewView::grid_height(double width) const {
    const Grid grid = grid_for(QRectF(0, 0, width, 100000));
    return grid.top + maps_.layers() * grid.pitch() + 3;
}

void OverviewView::paint_grid(QPainter& painter, const QRectF& area) const {
    const Theme& t = theme();
    const Grid grid = grid_for(area);
    const double note = text_height(t.note());
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    const int every =
        std::max(1, static_cast<int>(std::ceil((text_width(t.note(), QStringLiteral("H00")) + 2) / grid.pitch())));
    for (int head = 0; head < maps_.heads(); head += every)
        paint_text(painter, QRectF(grid.left + head * grid.pitch() - 10, area.top(), grid.cell + 20, note),
                   Qt::AlignCenter, QStringLiteral("H%1").arg(head), t.note(), t.color(Role::QuietInk));
    for (int layer = 0; layer < maps_.layers(); ++layer) {
        const double y = grid.top + layer * grid.pitch() - scroll_;
        if (y + grid.cell < grid.top - 1 || y > area.bottom()) continue;
        if (grid.pitch() >= note - 1 || layer % 2 == 0)
            paint_text(painter, QRectF(area.left(), y + grid.cell / 2 - note / 2, grid.left - area.left() - 5, note),
                       Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("L%1").arg(layer), t.note(),
                       t.color(Role::QuietInk));
        for (int head = 0; head < maps_.heads(); ++head) {
            const QRectF cell(grid.left + head * grid.pitch(), y, grid.cell, grid.cell);
            painter.fillRect(cell, t.color(Role::Background));
            const QImage& image = images_[static_cast<std::size_t>(layer * maps_.heads() + head)];
            // Doubling some rows and not others would bend straight lines.
            painter.setRenderHint(QPainter::SmoothPixmapTransform, image.width() * 1.6 > grid.cell);
            if (!image.isNull()) painter.drawImage(cell, image);
            painter.setPen(QPen(t.color(Role::Line), 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(cell.adjusted(-0.5, -0.5, 0.5, 0.5));
        }
    }
}

void OverviewView::paint_whole(QPainter& painter, const QRectF& area) {
    std::int64_t budget = std::int64_t{1} << 40;
    maps_.advance(budget);
    refresh(true);
    paint_grid(painter, area);
}

void OverviewView::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.fillRect(event->rect(), theme().color(Role::Card));
    if (images_.empty()) return;
    const QRectF area(rect());
    const Grid grid = grid_for(area);
    scroll_ = std::clamp(scroll_, 0.0, std::max(0.0, grid.top + maps_.layers() * grid.pitch() - area.bottom()));
    paint_grid(painter, area);
    const SelectionPoint& point = selection_->effective();
    const double y = grid.top + point.layer * grid.pitch() - scroll_;
    const QRectF one(grid.left + point.head * grid.pitch(), y, grid.cell, grid.cell);
    const QRectF all(grid.left, y, maps_.heads() * grid.pitch() - grid.gap, grid.cell);
    paint_ring(painter, mean_ ? all : one, 2, 2);
    if (focus_visible(this)) paint_focus(painter, area);
}

bool OverviewView::head_at(const QPointF& point, int& layer, int& head) const {
    const Grid grid = grid_for(QRectF(rect()));
    if (grid.cell <= 0 || point.x() < grid.left || point.y() < grid.top) return false;
    head = static_cast<int>((point.x() - grid.left) / grid.pitch());
    layer = static_cast<int>((point.y() - grid.top + scroll_) / grid.pitch());
    return head < maps_.heads() && layer < maps_.layers();
}

void OverviewView::mouseMoveEvent(QMouseEvent* event) {
    SelectionPoint point = selection_->pinned();
    const bool inside = head_at(event->position(), point.layer, point.head);
    setCursor(inside ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (inside) selection_->hover(point);
    else selection_->end_hover();
}

void OverviewView::mousePressEvent(QMouseEvent* event) {
    int layer = 0, head = 0;
    if (event->button() == Qt::LeftButton && head_at(event->position(), layer, head))
        selection_->set_layer_head(layer, head);
}

void OverviewView::leaveEvent(QEvent*) { selection_->end_hover(); }

void OverviewView::wheelEvent(QWheelEvent* event) {
    const Grid grid = grid_for(QRectF(rect()));
    if (grid.top + maps_.layers() * grid.pitch() <= height()) return event->ignore();
    scroll_ -= event->angleDelta().y() * 0.4;
    update();
    event->accept();
}

void OverviewView::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) return selection_->clear();
    const int dx = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    const int dy = event->key() == Qt::Key_Up ? -1 : event->key() == Qt::Key_Down ? 1 : 0;
    if ((dx == 0 && dy == 0) || maps_.layers() == 0) return QWidget::keyPressEvent(event);
    const SelectionPoint& pinned = selection_->pinned();
    selection_->set_layer_head(std::clamp(pinned.layer + dy, 0, maps_.layers() - 1),
                               std::clamp(pinned.head + dx, 0, maps_.heads() - 1));
}

bool OverviewView::event(QEvent* event) {
    if (keeps_arrow_keys(event)) return true;
    if (event->type() == QEvent::ToolTip) {
        show_term(*static_cast<QHelpEvent*>(event), this, QStringLiteral("head"));
        return true;
    }
    return QWidget::event(event);
}

}  // namespace decodescope
