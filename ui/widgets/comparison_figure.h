// A comparison as one figure: a row for each configuration; time, memory, copies and logits beside each other, every
// value written under its bar. On screen as a widget, and into any painter at any size.
#pragma once

#include <QWidget>
#include <memory>

#include "engine/measure/compare.h"

class QPainter;

namespace decodescope {

// In the theme in force; sizes of type in units of the painter.
void paint_comparison(QPainter& painter, const QRectF& area, const CompareResult& result);
// Height that the figure wants for a width.
double comparison_height(double width, const CompareResult& result);

class ComparisonFigure : public QWidget {
    Q_OBJECT
public:
    explicit ComparisonFigure(QWidget* parent = nullptr);
    void set_result(std::shared_ptr<const CompareResult> result);
    QSize sizeHint() const override { return {480, heightForWidth(480)}; }
    QSize minimumSizeHint() const override { return {240, 80}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    std::shared_ptr<const CompareResult> result_;  // null: nothing compared yet
};

}  // namespace decodescope
