// A line chart: measured points, thin expected lines, areas; linear or logarithmic axes; labels at the ends of the
// lines instead of a box over the data. Draws into a cached image on screen and into any painter at any size for
// export.
#pragma once

#include <QPixmap>
#include <QWidget>
#include <functional>
#include <memory>

#include "ui/widgets/chart_data.h"

namespace decodescope {

class ChartPlotter;

class ChartView : public QWidget {
    Q_OBJECT
public:
    explicit ChartView(QWidget* parent = nullptr);
    ~ChartView() override;

    void set_spec(ChartSpec spec);
    const ChartSpec& spec() const { return spec_; }
    // Text for the strip above the plot while the pointer is at x (in data units).
    void set_readout(std::function<QString(double x)> readout) { readout_ = std::move(readout); }
    void set_marker(double x);  // the viewed step; NaN: none
    void theme_changed();

    // Draws the chart into `area`, in the theme in force. Sizes of type are those of the theme, in units of the
    // painter.
    void paint(QPainter& painter, const QRectF& area) const;
    // Points handed to the plotter by the last drawing, after thinning out.
    int drawn_points() const { return drawn_points_; }
    // Plot area within the widget, after the first drawing.
    QRectF plot_area() const;
    QSize sizeHint() const override { return {480, 240}; }
    QSize minimumSizeHint() const override { return {160, 90}; }

Q_SIGNALS:
    void hovered(double x);
    void hover_ended();
    void clicked(double x);

protected:
    void paintEvent(QPaintEvent*) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void draw_overlay(QPainter& painter) const;
    double x_at(double pixel) const;

    ChartSpec spec_;
    std::function<QString(double)> readout_;
    std::unique_ptr<ChartPlotter> plotter_;
    QPixmap image_;
    bool stale_ = true;
    double hover_x_ = std::numeric_limits<double>::quiet_NaN();
    mutable int drawn_points_ = 0;
};

}  // namespace decodescope
