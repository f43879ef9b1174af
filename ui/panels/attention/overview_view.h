// Small maps of all heads, layers down, heads to the right: click to choose one.
#pragma once

#include <QElapsedTimer>
#include <QImage>
#include <QWidget>
#include <vector>

#include "ui/panels/panel.h"
#include "ui/viewmodels/attention_pyramid.h"
#include "ui/viewmodels/heatmap_image.h"

class QScrollBar;

namespace decodescope {

class OverviewView : public QWidget {
    Q_OBJECT
public:
    OverviewView(Selection* selection, QWidget* parent);
    void present(const PanelContext& context, unsigned changes);
    void set_mean(bool mean);
    void set_threshold(float threshold);
    void paint_whole(QPainter& painter, const QRectF& area);  // for exports
    QSize sizeHint() const override { return {200, 210}; }
    QSize minimumSizeHint() const override { return {90, 60}; }
    // Height that the grid takes at a width.
    double grid_height(double width) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Grid {
        double left = 0, top = 0, cell = 0, gap = 4;
        double pitch() const { return cell + gap; }
    };
    Grid grid_for(const QRectF& area) const;
    void paint_grid(QPainter& painter, const QRectF& area) const;
    void refresh(bool everything);
    bool in_flood() const;
    bool take_rows(bool everything);
    void draw_maps(bool everything);
    void refresh_later(int millis);
    void make_palette();
    bool head_at(const QPointF& point, int& layer, int& head) const;

    Selection* selection_;
    PanelContext context_;
    AttentionOverview maps_;
    HeatmapPalette palette_;
    std::vector<QImage> images_;  // [layers * heads]
    float threshold_ = 0;
    bool mean_ = false, waiting_ = false;
    bool drawn_ = false;  // all rows taken so far are in the images
    double scroll_ = 0;
    QElapsedTimer since_refresh_;
};

}  // namespace decodescope
