// Where the cells of a matrix lie on the screen: values <-> pixels, in double precision, without a widget.
#pragma once

#include <QPointF>
#include <QRectF>
#include <optional>

namespace decodescope {

struct HeatCell {
    int row = 0, column = 0;
    bool operator==(const HeatCell&) const = default;
};

struct IndexRange {
    int first = 0, end = 0;  // [first, end)
    int count() const { return end - first; }
};

// Square cells; rows go down, columns go right; the first visible row and column may be fractions while panning.
struct HeatmapLayout {
    QRectF area;  // the view
    int rows = 0, columns = 0;
    double cell = 1;
    double first_row = 0, first_column = 0;  // at the view's top and left

    // Side of a cell at which everything fits: at most max_cell, whole device pixels from 3 on so that all cells are
    // alike.
    double fit_cell(double max_cell, double device_ratio) const;
    void fit(double max_cell, double device_ratio);
    // Zooms by a factor around a point of the view that keeps its cell; never below the size that fits.
    void zoom(const QPointF& anchor, double factor, double smallest, double largest);
    void pan(double dx, double dy);   // in pixels; the content follows the pointer
    void reveal(int row, int column); // scrolls as little as needed
    void clamp();

    QRectF cell_rect(int row, int column) const;
    QRectF map_rect() const;          // of the whole matrix, may be larger than the view
    QRectF visible_rect() const;      // of what is drawn
    std::optional<HeatCell> hit(const QPointF& point) const;
    IndexRange visible_rows() const;
    IndexRange visible_columns() const;
    // Cells are merged 2^level x 2^level so that no more than two of them share a device pixel.
    int level(double device_ratio, int highest) const;
};

}  // namespace decodescope
