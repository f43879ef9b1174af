// Maps as pictures: one pixel per (merged) cell, coloured by a palette.
#pragma once

#include <QImage>
#include <array>
#include <vector>

#include "ui/viewmodels/attention_pyramid.h"
#include "ui/viewmodels/heatmap_layout.h"

namespace decodescope {

// Colour of every map value. Weights below the threshold look like weight 0.
class HeatmapPalette {
public:
    HeatmapPalette() : HeatmapPalette({}, 0, 0, 0, 0.0f) {}
    HeatmapPalette(const std::array<QRgb, 256>& scale, QRgb outside, QRgb not_captured, QRgb evicted, float threshold);
    QRgb color(MapValue value) const {
        return table_[value < 0 ? 0 : value > kOneWeight ? std::size_t{kOneWeight} : static_cast<std::size_t>(value)];
    }

private:
    std::vector<QRgb> table_;
};

// Any matrix [rows, columns] given row by row; `columns` may be any number, rows shorter than it end in kOutside.
QImage paint_matrix(const std::vector<std::vector<MapValue>>& matrix, int columns, const HeatmapPalette& palette);
QImage paint_map(const PooledMap& map, const HeatmapPalette& palette);
// Repaints the rows from first_row on, enlarging the picture when the map grew.
void repaint_map(QImage& image, const PooledMap& map, const HeatmapPalette& palette, int first_row);

struct HeatmapPicture {
    QImage image;         // one pixel per merged cell of the visible part; null when nothing is visible
    QRectF target;  // where it goes, in the layout's coordinates; may reach over the view by less than one merged cell
    int level = 0;
};
// Only what the layout shows is read.
HeatmapPicture paint_view(const AttentionPyramid& pyramid, const HeatmapLayout& layout, double device_ratio,
                          const HeatmapPalette& palette);

}  // namespace decodescope
