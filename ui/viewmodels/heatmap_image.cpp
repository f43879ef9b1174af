#include "ui/viewmodels/heatmap_image.h"

#include <algorithm>

namespace decodescope {

HeatmapPalette::HeatmapPalette(const std::array<QRgb, 256>& scale, QRgb outside, QRgb not_captured, QRgb evicted,
                               float threshold) {
    table_.resize(std::size_t{kOneWeight} + 1);
    table_[kOutside] = outside;
    table_[kNotCaptured] = not_captured;
    table_[kEvicted] = evicted;
    for (std::size_t value = kZeroWeight; value < table_.size(); ++value) {
        const float weight = weight_of(static_cast<MapValue>(value));
        table_[value] = scale[weight < threshold ? 0 : static_cast<std::size_t>(weight * 255.0f + 0.5f)];
    }
}

namespace {

// scanLine() knows the stride; nothing here assumes that a row of the picture ends where the next begins.
void paint_row(QImage& image, int y, std::span<const MapValue> cells, const HeatmapPalette& palette) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    const int width = image.width(), have = std::min(width, static_cast<int>(cells.size()));
    for (int x = 0; x < have; ++x) line[x] = palette.color(cells[static_cast<std::size_t>(x)]);
    std::fill(line + have, line + width, palette.color(kOutside));
}

}  // namespace

QImage paint_matrix(const std::vector<std::vector<MapValue>>& matrix, int columns, const HeatmapPalette& palette) {
    if (matrix.empty() || columns <= 0) return {};
    QImage image(columns, static_cast<int>(matrix.size()), QImage::Format_RGB32);
    for (int y = 0; y < image.height(); ++y) paint_row(image, y, matrix[static_cast<std::size_t>(y)], palette);
    return image;
}

QImage paint_map(const PooledMap& map, const HeatmapPalette& palette) {
    QImage image;
    repaint_map(image, map, palette, 0);
    return image;
}

void repaint_map(QImage& image, const PooledMap& map, const HeatmapPalette& palette, int first_row) {
    const int side = map.side();
    if (side == 0) {
        image = {};
        return;
    }
    if (image.width() != side) {
        image = QImage(side, side, QImage::Format_RGB32);
        first_row = 0;
    }
    for (int y = std::max(0, first_row); y < side; ++y) paint_row(image, y, map.merged_row(y), palette);
}

HeatmapPicture paint_view(const AttentionPyramid& pyramid, const HeatmapLayout& layout, double device_ratio,
                          const HeatmapPalette& palette) {
    HeatmapPicture picture;
    picture.level = layout.level(device_ratio, AttentionPyramid::kHighestLevel);
    const int shift = picture.level;
    const IndexRange rows = layout.visible_rows(), columns = layout.visible_columns();
    if (rows.count() <= 0 || columns.count() <= 0) return picture;
    const int first_row = rows.first >> shift, end_row = ((rows.end - 1) >> shift) + 1;
    const int first_column = columns.first >> shift, end_column = ((columns.end - 1) >> shift) + 1;
    picture.image = QImage(end_column - first_column, end_row - first_row, QImage::Format_RGB32);
    std::vector<MapValue> cells;
    for (int row = first_row; row < end_row; ++row) {
        pyramid.read(shift, row, first_column, end_column, cells);
        paint_row(picture.image, row - first_row, cells, palette);
    }
    const double merged = layout.cell * (1 << shift);
    picture.target = QRectF(layout.area.left() + ((first_column << shift) - layout.first_column) * layout.cell,
                            layout.area.top() + ((first_row << shift) - layout.first_row) * layout.cell,
                            picture.image.width() * merged, picture.image.height() * merged);
    return picture;
}

}  // namespace decodescope
