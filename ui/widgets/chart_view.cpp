#include "ui/widgets/chart_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <cmath>

#include "ui/widgets/chart_plotter.h"
#include "ui/widgets/paint_relay.h"

namespace decodescope {

ChartView::ChartView(QWidget* parent) : QWidget(parent), plotter_(std::make_unique<ChartPlotter>()) {
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

ChartView::~ChartView() = default;

void ChartView::set_spec(ChartSpec spec) {
    spec_ = std::move(spec);
    stale_ = true;
    update();
}

void ChartView::set_marker(double x) {
    spec_.marker_x = x;
    update();
}

void ChartView::theme_changed() {
    stale_ = true;
    update();
}

QRectF ChartView::plot_area() const { return plotter_->area(); }

void ChartView::paint(QPainter& painter, const QRectF& area) const {
    painter.save();
    painter.translate(area.topLeft());
    ChartPlotter plotter;  // apart from the one on screen, whose layout the overlay reads
    {
        PaintRelay relay(painter, area.size(), PaintRelay::Text::AsText);
        drawn_points_ = plotter.draw(spec_, area.size(), relay, ChartPlotter::Target::Drawing);
    }
    painter.restore();
}

void ChartView::paintEvent(QPaintEvent*) {
    const qreal ratio = devicePixelRatioF();
    const QSize wanted = size() * ratio;
    if (stale_ || image_.size() != wanted) {
        image_ = QPixmap(wanted);
        image_.setDevicePixelRatio(ratio);
        image_.fill(Qt::transparent);
        drawn_points_ = plotter_->draw(spec_, size(), image_, ChartPlotter::Target::Screen);
        stale_ = false;
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, image_);
    draw_overlay(painter);
}

void ChartView::draw_overlay(QPainter& painter) const {
    if (drawn_points_ == 0) return;
    const QRectF area = plot_area();
    const auto vertical = [&](double x, const QPen& pen) {
        const double pixel = std::floor(plotter_->from_x(x)) + 0.5;
        if (!std::isfinite(pixel) || pixel < area.left() || pixel > area.right() + 1) return;
        painter.setPen(pen);
        painter.drawLine(QPointF(pixel, area.top()), QPointF(pixel, area.bottom()));
    };
    if (std::isfinite(spec_.marker_x)) vertical(spec_.marker_x, QPen(theme().color(Role::Ring), 1));
    if (!std::isfinite(hover_x_)) return;
    vertical(hover_x_, QPen(theme().color(Role::QuietInk), 1, Qt::DotLine));
    if (!readout_) return;
    painter.setFont(theme().note());
    painter.setPen(theme().color(Role::Ink));
    painter.drawText(QRectF(0, 0, width(), area.top()), Qt::AlignRight | Qt::AlignTop, readout_(hover_x_));
}

double ChartView::x_at(double pixel) const {
    const QRectF area = plot_area();
    if (drawn_points_ == 0 || pixel < area.left() - 4 || pixel > area.right() + 4)
        return std::numeric_limits<double>::quiet_NaN();
    return plotter_->to_x(pixel);
}

void ChartView::mouseMoveEvent(QMouseEvent* event) {
    const double before = hover_x_;
    hover_x_ = x_at(event->position().x());
    if (std::isfinite(hover_x_)) Q_EMIT hovered(hover_x_);
    else if (std::isfinite(before)) Q_EMIT hover_ended();
    update();
}

void ChartView::mousePressEvent(QMouseEvent* event) {
    const double x = x_at(event->position().x());
    if (event->button() == Qt::LeftButton && std::isfinite(x)) Q_EMIT clicked(x);
}

void ChartView::leaveEvent(QEvent*) {
    if (!std::isfinite(hover_x_)) return;
    hover_x_ = std::numeric_limits<double>::quiet_NaN();
    Q_EMIT hover_ended();
    update();
}

void ChartView::resizeEvent(QResizeEvent*) { stale_ = true; }

}  // namespace decodescope
