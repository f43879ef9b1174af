// The nine stages of a step as chips; one may be lit. Click, or Tab and the arrow keys, to choose one.
#pragma once

#include <QWidget>

#include "ui/viewmodels/stage_walk.h"

namespace decodescope {

class StageChips : public QWidget {
    Q_OBJECT
public:
    explicit StageChips(QWidget* parent = nullptr);
    void set_lit(int stage);  // -1: none
    int lit() const { return lit_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void chosen(int stage);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    std::vector<QRectF> boxes() const;
    int chip_at(const QPointF& at) const;

    int lit_ = -1, hovered_ = -1;
};

}  // namespace decodescope
