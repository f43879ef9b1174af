// Layers x positions on the screen: two lanes per layer (K above V), positions to the right. What does not fit is
// merged, except the newest positions, which stay readable.
#pragma once

#include <QRectF>
#include <optional>
#include <utility>
#include <vector>

namespace decodescope {

// One drawn column: a position, or positions [first, end) merged into a density strip.
struct CacheColumn {
    int first = 0, end = 0;
    double x = 0, width = 0;
    bool merged = false;  // stands for more than one position, or is too narrow to be outlined
};

struct CacheHit {
    int layer = 0, lane = 0;  // lane 0: K, 1: V
    int position = 0;
    bool operator==(const CacheHit&) const = default;
};

struct CacheMapOptions {
    double readable = 6;      // smallest width of a readable cell
    double largest = 22;
    double strip_column = 2;  // width of a merged column
    double device_ratio = 1;
};

class CacheMapLayout {
public:
    // Everything from 0 to columns in view; `filled` of them are written, the rest is reserved.
    void fit(const QRectF& area, int layers, int filled, int columns, const CacheMapOptions& options);
    // All positions at one width of a cell, from a (fractional) first position on.
    void zoomed(const QRectF& area, int layers, int columns, double cell, double first_position,
                const CacheMapOptions& options);

    const std::vector<CacheColumn>& columns() const { return columns_; }  // visible ones, left to right
    double fit_cell() const { return fit_cell_; }                         // of the readable part
    bool everything_readable() const { return everything_readable_; }
    // Left and width of a position, also where it is merged with others; nothing when it is out of view.
    std::optional<std::pair<double, double>> span_of(int position) const;
    int position_at(double x) const;                                      // -1: none
    int layers() const { return layers_; }
    double lane_height() const { return lane_height_; }
    QRectF lane_rect(int layer, int lane) const;                          // full width of the view
    QRectF cell_rect(int layer, int lane, int position) const;            // empty when out of view
    std::optional<CacheHit> hit(const QPointF& point) const;
    double content_height() const;                                        // of all lanes
    void scroll_to(double top) { top_ = top; }                            // when the lanes do not fit

private:
    void place_lanes(const QRectF& area, int layers, double device_ratio);
    void add_readable(int first, int end, double x, double cell);
    void add_strip(int first, int end, double x, double width, double column);

    QRectF area_;
    int layers_ = 0;
    double lane_height_ = 0, lane_gap_ = 1, layer_gap_ = 2, top_ = 0, fit_cell_ = 0;
    bool everything_readable_ = true;
    std::vector<CacheColumn> columns_;
};

}  // namespace decodescope
