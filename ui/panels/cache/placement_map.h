// The cache map: the positions of the viewed sequence on top, memory below, bands between what belongs together.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/panels/panel.h"
#include "ui/viewmodels/placement_layout.h"
#include "ui/viewmodels/placement_text.h"

class QScrollBar;

namespace decodescope {

class PlacementMap : public QWidget {
    Q_OBJECT
public:
    PlacementMap(Selection* selection, QWidget* parent);
    void present(const PanelContext& context, unsigned changes);
    void zoom_by(double factor);
    void fit();
    // Everything but what follows the pointer; used for exports too.
    void paint_map(QPainter& painter, const QRectF& area);
    const CacheStory& story() const { return story_; }
    const ViewedStep& view() const { return view_; }
    const PlacementTrack& track() const { return track_; }
    const PlacementLayout& layout_now() const { return layout_; }

    QSize minimumSizeHint() const override;

Q_SIGNALS:
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
        QRectF labels, position_axis, sequence, groups, memory, sheets, pointer, slot_axis, sentence, legend;
    };
    Frame frame_for(const QRectF& area) const;
    PlacementOptions options(double device_ratio) const;
    int seen() const;
    std::optional<FormatMarks> marks() const;
    bool can_draw() const { return view_.facts && track_.state().known; }
    PlacementScene scene() const { return {*context_.recording, view_, tokens_, track_}; }
    void place();
    void keep_next_in_view();
    void describe();
    void select(const PlacementHit& hit, bool pin);
    void move_pin(int positions);
    // What is pointed at or pinned.
    std::optional<PlacementHit> marked() const;
    std::vector<RowRun> runs_of(const PlacementHit& hit) const;
    QString term_at(const QPoint& point) const;

    // Pieces of the picture.
    void paint_empty_state(QPainter& painter) const;
    void paint_whole(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_sequence(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_groups(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_evicted(QPainter& painter, const PlacementLayout& layout) const;
    void paint_bands(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_band(QPainter& painter, const PlacementBand& band, const Frame& frame, const QColor& color, float fill,
                    float line) const;
    void paint_memory(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_cell(QPainter& painter, const PlacementLayout& layout, const MemoryCell& cell) const;
    void paint_slots(QPainter& painter, const PlacementLayout& layout, const MemoryCell& cell, const QRectF& rect,
                     const QColor& ink) const;
    void paint_sheets(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_written(QPainter& painter, const PlacementLayout& layout) const;
    void paint_next(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_axes(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_marked(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const;
    void paint_legend_line(QPainter& painter, const QRectF& rect) const;
    void paint_hover(QPainter& painter) const;
    QColor own_color() const { return theme().sequence(track_.state().sequence); }

    Selection* selection_;
    PanelContext context_;
    ViewedStep view_;
    TokenTrack tokens_;
    CacheStory story_;
    PlacementTrack track_;
    PlacementLayout layout_;
    Frame frame_;
    QScrollBar* across_;
    bool fitted_ = true, following_ = true;
    double slot_width_ = 0, first_slot_ = 0;
    std::optional<PlacementHit> hovered_;
    QPointF pointer_;
};

}  // namespace decodescope
