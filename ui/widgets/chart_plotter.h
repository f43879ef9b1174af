// Lays out and draws a chart with QCustomPlot, whose header is seen by the .cpp alone. Never shown itself: it draws
// into whatever device it is given.
#pragma once

#include <QPaintDevice>
#include <QRectF>
#include <memory>

#include "ui/widgets/chart_data.h"

namespace decodescope {

class ChartPlotter {
public:
    enum class Target { Screen, Drawing };  // a drawing keeps each line one path

    ChartPlotter();
    ~ChartPlotter();
    // Returns the points that were handed to the library, after thinning out.
    int draw(const ChartSpec& spec, const QSizeF& size, QPaintDevice& device, Target target);
    // Of the last drawing: the plot area, and x between data and pixels.
    QRectF area() const;
    double to_x(double pixel) const;
    double from_x(double x) const;

private:
    struct Private;
    std::unique_ptr<Private> d_;
};

}  // namespace decodescope
