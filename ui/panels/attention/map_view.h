// The chosen head's map, large: rows are tokens being computed, columns the tokens they read from.
#pragma once

#include <QElapsedTimer>
#include <QPixmap>
#include <QWidget>
#include <optional>

#include "ui/panels/panel.h"
#include "ui/viewmodels/attention_pyramid.h"
#include "ui/viewmodels/heatmap_image.h"
#include "ui/viewmodels/heatmap_layout.h"
#include "ui/viewmodels/viewed_step.h"

namespace decodescope {

class MapView : public QWidget {
    Q_OBJECT
public:
    MapView(Selection* selection, QWidget* parent);
    void present(const PanelContext& context, unsigned changes);
    void set_mean(bool mean);
    void set_threshold(float threshold);
    bool mean() const { return mean_; }
    const ViewedStep& view() const { return view_; }
    void zoom_by(double factor);
    void fit();
    // The whole map with labels and scale, for exports.
    void paint_whole(QPainter& painter, const QRectF& area);
    QSize sizeHint() const override { return {420, 330}; }
    QSize minimumSizeHint() const override { return {170, 130}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Frame {
        QRectF map, row_labels, column_labels, row_axis, column_axis, scale, notes;
        bool tokens_down = false, tokens_across = false, upright = false;  // tokens are named, not numbered
    };
    Frame frame_for(const QRectF& area) const;
    double largest_label(int rows) const;
    void refresh();
    void mark_stale(bool only_grew = false);
    bool may_wait();
    void place();
    void lay_out();
    void make_palette();
    QPixmap draw_cells(const HeatmapLayout& layout, double device_ratio) const;
    void paint_cells(QPainter& painter, const HeatmapLayout& layout) const;
    void describe();
    QString label_of(int row) const;

    void paint_rows_not_captured(QPainter& painter, const HeatmapLayout& layout) const;
    void paint_evicted(QPainter& painter, const HeatmapLayout& layout) const;
    void paint_outline(QPainter& painter, const HeatmapLayout& layout) const;
    void paint_row_labels(QPainter& painter, const HeatmapLayout& layout, const Frame& frame) const;
    void paint_column_labels(QPainter& painter, const HeatmapLayout& layout, const Frame& frame) const;
    void paint_axes(QPainter& painter, const HeatmapLayout& layout, const Frame& frame) const;
    void paint_scale(QPainter& painter, const Frame& frame) const;
    void paint_marks(QPainter& painter, const HeatmapLayout& layout, bool with_selection) const;
    void paint_facts(QPainter& painter) const;

    std::optional<HeatCell> shown_cell() const;  // hovered, else pinned
    QStringList facts_of(const HeatCell& cell) const;
    SelectionPoint point_of(const HeatCell& cell) const;
    void move_pin(int rows, int columns);

    Selection* selection_;
    PanelContext context_;
    ViewedStep view_;
    TokenTrack track_;
    AttentionPyramid pyramid_;
    HeatmapPalette palette_;
    HeatmapLayout layout_;
    Frame frame_;
    QPixmap cells_;
    bool cells_stale_ = true, waiting_ = false;
    bool only_grew_ = false;      // nothing but new rows made the picture stale
    bool redraw_waiting_ = false;
    QElapsedTimer since_drawn_;
    bool fitted_ = true, mean_ = false, following_ = true;
    float threshold_ = 0;
    std::optional<HeatCell> hovered_;
    QPointF pointer_, pressed_;
    bool pressing_ = false, dragging_ = false;
};

}  // namespace decodescope
