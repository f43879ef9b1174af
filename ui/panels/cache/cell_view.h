// K and V of one cached token in one layer as heat strips with numbers, one strip per KV head.
#pragma once

#include <QWidget>

#include "ui/session/session_controller.h"

class QToolButton;

namespace decodescope {

class CellView : public QWidget {
    Q_OBJECT
public:
    explicit CellView(QWidget* parent);
    // The token's text for the heading; kv_head: the one that is shown when there is no room for all.
    void show_cell(const InspectedCell& cell, const QString& token, int kv_head);
    bool shows(int layer, int position) const { return layer == cell_.layer && position == cell_.position; }
    void set_available_height(int height);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {200, 40}; }

Q_SIGNALS:
    void closed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    struct Plan {
        bool all_heads = true, numbers = true;
        int per_line = 1, lines = 1;   // elements per line, lines per head and side
        double cell = 0, line_height = 0, height = 0;
    };
    Plan plan_for(double width) const;
    int heads_shown(const Plan& plan) const;
    QRectF element_rect(const Plan& plan, int side, int head_index, int element) const;
    void paint_side(QPainter& painter, const Plan& plan, int side) const;
    float value(int side, int head, int element) const;
    float largest(int side) const;

    InspectedCell cell_;
    QString token_;
    int kv_head_ = 0, available_height_ = 160;
    QToolButton* close_;
    int hover_side_ = -1, hover_head_ = 0, hover_element_ = 0;
    QPointF pointer_;
};

}  // namespace decodescope
