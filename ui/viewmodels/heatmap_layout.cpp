#include "ui/viewmodels/heatmap_layout.h"

#include <algorithm>
#include <cmath>

namespace decodescope {
namespace {

IndexRange visible(double first, double extent, double cell, int count) {
    if (count <= 0 || cell <= 0 || extent <= 0) return {};
    const int from = std::clamp(static_cast<int>(std::floor(first)), 0, count);
    const int end = std::clamp(static_cast<int>(std::ceil(first + extent / cell - 1e-9)), from, count);
    return {from, end};
}

double clamp_first(double first, double extent, double cell, int count) {
    return std::clamp(first, 0.0, std::max(0.0, count - extent / cell));
}

double reveal_first(double first, double extent, double cell, int index) {
    if (index < first) return index;
    return std::max(first, index + 1 - extent / cell);
}

}  // namespace

double HeatmapLayout::fit_cell(double max_cell, double device_ratio) const {
    if (rows <= 0 || columns <= 0 || area.width() <= 0 || area.height() <= 0) return std::max(max_cell, 1e-6);
    double side = std::min({area.width() / columns, area.height() / rows, max_cell});
    if (side * device_ratio >= 3) side = std::floor(side * device_ratio + 1e-9) / device_ratio;
    return std::max(side, 1e-6);
}

void HeatmapLayout::fit(double max_cell, double device_ratio) {
    cell = fit_cell(max_cell, device_ratio);
    first_row = first_column = 0;
}

void HeatmapLayout::zoom(const QPointF& anchor, double factor, double smallest, double largest) {
    if (!(factor > 0) || !std::isfinite(factor)) return;
    const double next = std::clamp(cell * factor, smallest, std::max(smallest, largest));
    const double x = anchor.x() - area.left(), y = anchor.y() - area.top();
    first_column += x / cell - x / next;
    first_row += y / cell - y / next;
    cell = next;
    clamp();
}

void HeatmapLayout::pan(double dx, double dy) {
    first_column -= dx / cell;
    first_row -= dy / cell;
    clamp();
}

void HeatmapLayout::reveal(int row, int column) {
    if (row >= 0) first_row = reveal_first(first_row, area.height(), cell, row);
    if (column >= 0) first_column = reveal_first(first_column, area.width(), cell, column);
    clamp();
}

void HeatmapLayout::clamp() {
    first_row = clamp_first(first_row, area.height(), cell, rows);
    first_column = clamp_first(first_column, area.width(), cell, columns);
}

QRectF HeatmapLayout::cell_rect(int row, int column) const {
    return {area.left() + (column - first_column) * cell, area.top() + (row - first_row) * cell, cell, cell};
}

QRectF HeatmapLayout::map_rect() const {
    return {area.left() - first_column * cell, area.top() - first_row * cell, columns * cell, rows * cell};
}

QRectF HeatmapLayout::visible_rect() const { return map_rect().intersected(area); }

std::optional<HeatCell> HeatmapLayout::hit(const QPointF& point) const {
    if (!area.contains(point)) return std::nullopt;
    const int column = static_cast<int>(std::floor((point.x() - area.left()) / cell + first_column));
    const int row = static_cast<int>(std::floor((point.y() - area.top()) / cell + first_row));
    if (row < 0 || row >= rows || column < 0 || column >= columns) return std::nullopt;
    return HeatCell{row, column};
}

IndexRange HeatmapLayout::visible_rows() const { return visible(first_row, area.height(), cell, rows); }
IndexRange HeatmapLayout::visible_columns() const { return visible(first_column, area.width(), cell, columns); }

int HeatmapLayout::level(double device_ratio, int highest) const {
    int level = 0;
    while (level < highest && cell * device_ratio * (1 << level) < 0.5) ++level;
    return level;
}

}  // namespace decodescope
