#include "ui/viewmodels/cache_map_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace decodescope {
namespace {

constexpr double kSmallestLane = 3, kLargestLane = 28;
constexpr double kSegmentGap = 6;     // between the strip, the newest positions and the reserve
constexpr double kSmallestStrip = 32;

double whole_pixels(double value, double device_ratio) {
    return value * device_ratio >= 3 ? std::floor(value * device_ratio + 1e-9) / device_ratio : value;
}

}  // namespace

void CacheMapLayout::place_lanes(const QRectF& area, int layers, double device_ratio) {
    area_ = area;
    layers_ = std::max(0, layers);
    columns_.clear();
    if (layers_ == 0) return;
    const double block = area.height() / layers_;
    layer_gap_ = block >= 24 ? 6 : block >= 14 ? 3 : 1;
    lane_gap_ = block >= 14 ? 2 : 1;
    lane_height_ =
        std::clamp(whole_pixels((block - layer_gap_ - lane_gap_) / 2, device_ratio), kSmallestLane, kLargestLane);
    if (lane_height_ == kLargestLane && block > 2 * kLargestLane + 8)
        layer_gap_ = std::min(10.0, std::floor(block - 2 * kLargestLane - lane_gap_));
    top_ = std::clamp(top_, 0.0, std::max(0.0, content_height() - area.height()));
}

double CacheMapLayout::content_height() const {
    return layers_ * (2 * lane_height_ + lane_gap_ + layer_gap_) - (layers_ > 0 ? layer_gap_ : 0);
}

void CacheMapLayout::add_readable(int first, int end, double x, double cell) {
    for (int position = first; position < end; ++position, x += cell)
        columns_.push_back({position, position + 1, x, cell, false});
}

void CacheMapLayout::add_strip(int first, int end, double x, double width, double column) {
    const int count = end - first;
    if (count <= 0 || width <= 0) return;
    const int strips = std::clamp(static_cast<int>(width / column), 1, count);
    const double step = width / strips;
    for (int i = 0; i < strips; ++i) {
        const auto from = static_cast<int>(static_cast<std::int64_t>(count) * i / strips);
        const auto to = static_cast<int>(static_cast<std::int64_t>(count) * (i + 1) / strips);
        columns_.push_back({first + from, first + to, x + i * step, step, true});
    }
}

void CacheMapLayout::fit(const QRectF& area, int layers, int filled, int columns, const CacheMapOptions& options) {
    place_lanes(area, layers, options.device_ratio);
    columns = std::max(columns, 1);
    filled = std::clamp(filled, 0, columns);
    everything_readable_ = columns * options.readable <= area.width();
    if (everything_readable_) {
        fit_cell_ = whole_pixels(std::min(options.largest, area.width() / columns), options.device_ratio);
        add_readable(0, columns, area.left(), fit_cell_);
        return;
    }
    // More than the newest ones stay readable where there is room for them, at most six tenths of the width.
    const int newest = std::min(filled, static_cast<int>(area.width() * 0.6 / options.readable));
    const int older = filled - newest, reserve = columns - filled;
    const int gaps = (older > 0 && newest > 0) + (reserve > 0 && filled > 0);
    fit_cell_ = options.readable;
    double rest = area.width() - newest * fit_cell_ - gaps * kSegmentGap;
    // Each strip gets its share of the rest, neither less than can be seen nor more than its positions could fill.
    const auto strip_width = [&](int count, int other) {
        if (count <= 0) return 0.0;
        const double least = std::min(kSmallestStrip, rest / 2), share = rest * count / (count + other);
        return std::clamp(share, least, other > 0 ? std::max(least, rest - least) : rest);
    };
    double older_width = strip_width(older, reserve);
    older_width = std::min(older_width, older * fit_cell_);
    double reserve_width = reserve > 0 ? std::min(rest - older_width, reserve * fit_cell_) : 0.0;
    rest -= older_width + reserve_width;
    if (newest > 0 && rest > 0) {
        const double wider = whole_pixels(std::min(options.largest, fit_cell_ + rest / newest), options.device_ratio);
        fit_cell_ = std::max(fit_cell_, wider);
    }
    double x = area.left();
    add_strip(0, older, x, older_width, options.strip_column);
    x += older_width + (older > 0 && newest > 0 ? kSegmentGap : 0);
    add_readable(older, filled, x, fit_cell_);
    x += newest * fit_cell_ + (reserve > 0 && filled > 0 ? kSegmentGap : 0);
    add_strip(filled, columns, x, reserve_width, options.strip_column);
}

void CacheMapLayout::zoomed(const QRectF& area, int layers, int columns, double cell, double first_position,
                            const CacheMapOptions& options) {
    place_lanes(area, layers, options.device_ratio);
    columns = std::max(columns, 1);
    cell = std::max(cell, area.width() / columns);
    fit_cell_ = cell;
    everything_readable_ = cell >= options.readable;
    first_position = std::clamp(first_position, 0.0, std::max(0.0, columns - area.width() / cell));
    const int first = std::clamp(static_cast<int>(std::floor(first_position)), 0, columns);
    const int end =
        std::clamp(static_cast<int>(std::ceil(first_position + area.width() / cell - 1e-9)), first, columns);
    const double x = area.left() + (first - first_position) * cell;
    if (cell >= options.strip_column + 1) add_readable(first, end, x, cell);
    else add_strip(first, end, x, (end - first) * cell, options.strip_column);
}

std::optional<std::pair<double, double>> CacheMapLayout::span_of(int position) const {
    const auto at = std::upper_bound(columns_.begin(), columns_.end(), position,
                                     [](int value, const CacheColumn& column) { return value < column.end; });
    if (at == columns_.end() || position < at->first) return std::nullopt;
    return std::pair{at->x, at->width};
}

int CacheMapLayout::position_at(double x) const {
    const auto at = std::upper_bound(columns_.begin(), columns_.end(), x, [](double value, const CacheColumn& column) {
        return value < column.x + column.width;
    });
    if (at == columns_.end() || x < at->x) return -1;
    const int offset = static_cast<int>((x - at->x) / at->width * (at->end - at->first));
    return std::clamp(at->first + offset, at->first, at->end - 1);
}

QRectF CacheMapLayout::lane_rect(int layer, int lane) const {
    const double block = 2 * lane_height_ + lane_gap_ + layer_gap_;
    return {area_.left(), area_.top() - top_ + layer * block + lane * (lane_height_ + lane_gap_), area_.width(),
            lane_height_};
}

QRectF CacheMapLayout::cell_rect(int layer, int lane, int position) const {
    const auto span = span_of(position);
    if (!span) return {};
    const QRectF rect = lane_rect(layer, lane);
    return {span->first, rect.top(), span->second, rect.height()};
}

std::optional<CacheHit> CacheMapLayout::hit(const QPointF& point) const {
    if (!area_.contains(point) || layers_ == 0) return std::nullopt;
    const double block = 2 * lane_height_ + lane_gap_ + layer_gap_;
    const double y = point.y() - area_.top() + top_;
    const int layer = static_cast<int>(std::floor(y / block));
    const double within = y - layer * block;
    const int lane = within < lane_height_ + lane_gap_ ? 0 : 1;
    const int position = position_at(point.x());
    if (layer < 0 || layer >= layers_ || within > 2 * lane_height_ + lane_gap_ || position < 0) return std::nullopt;
    return CacheHit{layer, lane, position};
}

}  // namespace decodescope
