// Layers x positions: two lanes per layer, drawn from one strip of pixels per lane.
#pragma once

#include <QElapsedTimer>
#include <QImage>
#include <QWidget>
#include <optional>

#include "ui/panels/panel.h"
#include "ui/viewmodels/cache_map_layout.h"
#include "ui/viewmodels/cache_shades.h"
#include "ui/viewmodels/cache_story.h"

class QScrollBar;

namespace decodescope {

class CacheView : public QWidget {
    Q_OBJECT
public:
    CacheView(Selection* selection, QWidget* parent);
    void present(const PanelContext& context, unsigned changes);
    const CacheStory& story() const { return story_; }
    const ViewedStep& view() const { return view_; }
    int row_of(int position) const { return track_.row_of(position); }
    int position_of(int row) const { return track_.position_of(row); }
    void zoom_by(double factor);
    void fit();
    // Everything but what follows the pointer; used for exports too.
    void paint_map(QPainter& painter, const QRectF& area);

    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void cell_chosen(int layer, int position);
    void cleared();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Frame {
        QRectF labels, lanes, axis, sentence, legend;
        QRectF kinds;  // "512 local" at the right of each layer; empty where all layers see everything
    };
    Frame frame_for(const QRectF& area) const;
    double kinds_width() const;
    CacheMapOptions options(double device_ratio) const;
    int column_count() const;
    int filled() const;
    bool recomputes() const { return story_.kind() == CacheKind::Recompute; }
    void lay_out(CacheMapLayout& layout, const QRectF& lanes, double device_ratio) const;
    void place();
    void keep_newest_in_view();
    void start_fade(unsigned changes);
    void describe();

    // Pieces of the picture.
    QImage make_lanes(const CacheMapLayout& layout, const QRectF& lanes, double device_ratio) const;
    QRgb cell_color(int layer, int lane, const CacheColumn& column) const;
    void paint_lanes(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const;
    void paint_lane_marks(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const;
    void paint_labels(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const;
    void paint_kinds(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const;
    void paint_axis(QPainter& painter, const CacheMapLayout& layout, const Frame& frame) const;
    void paint_evicted(QPainter& painter, const CacheMapLayout& layout) const;
    void paint_just_written(QPainter& painter, const CacheMapLayout& layout) const;
    void paint_selection(QPainter& painter, const CacheMapLayout& layout) const;
    void paint_sentence(QPainter& painter, const QRectF& rect) const;
    void paint_legend_line(QPainter& painter, const QRectF& rect) const;
    void paint_hover(QPainter& painter) const;
    QStringList facts_of(const CacheHit& hit) const;

    bool is_evicted(int layer, int position) const;
    SelectionPoint point_of(const CacheHit& hit) const;
    void move_pin(int layers, int positions);

    Selection* selection_;
    PanelContext context_;
    ViewedStep view_;
    TokenTrack track_;
    CacheShades shades_;
    CacheStory story_;
    CacheMapLayout layout_;
    Frame frame_;
    QScrollBar *across_, *down_;
    bool fitted_ = true, following_ = true, evictions_ = false;
    double cell_ = 0, first_position_ = 0;
    std::optional<CacheHit> hovered_;
    QPointF pointer_;
    QElapsedTimer fade_;
    bool fading_ = false;
    int faded_step_ = -1;
};

}  // namespace decodescope
