// The strip of chips: draws what is visible of it, and nothing else.
#pragma once

#include <QHash>
#include <QWidget>
#include <vector>

#include "ui/panels/panel.h"
#include "ui/viewmodels/pooled_map.h"
#include "ui/viewmodels/ribbon_layout.h"
#include "ui/viewmodels/token_text.h"
#include "ui/viewmodels/viewed_step.h"

class QScrollBar;

namespace decodescope {

class RibbonView : public QWidget {
    Q_OBJECT
public:
    RibbonView(Selection* selection, QWidget* parent);
    void present(const PanelContext& context, unsigned changes);
    int chips_drawn() const { return chips_drawn_; }  // by the last paint, for tests of cost
    QString legend() const;

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
    void restart();
    void take_rows();
    void take_weights();
    int query_row() const;
    void place();
    void scroll_to(double offset);
    void follow(unsigned changes);
    int row_at(const QPointF& point) const;
    SelectionPoint point_of(int row) const;
    void describe();
    void paint_captions(QPainter& painter) const;
    void paint_chip(QPainter& painter, int row) const;
    void paint_bar(QPainter& painter, int row) const;
    void paint_note(QPainter& painter) const;

    Selection* selection_;
    PanelContext context_;
    ViewedStep view_;
    TokenTrack track_;
    RibbonLayout layout_;
    std::vector<TokenLabel> labels_;    // [rows]
    QHash<QString, double> widths_;
    std::vector<MapValue> weights_;     // of the query row, by position
    QScrollBar* bar_;
    double offset_ = 0;
    bool following_ = true;
    int shown_newest_ = -1;
    double strip_width_ = 0, note_width_ = 0;
    double caption_top_ = 0, chip_top_ = 0, chip_height_ = 0, bar_top_ = 0, bar_height_ = 0;
    int chips_drawn_ = 0;
};

}  // namespace decodescope
