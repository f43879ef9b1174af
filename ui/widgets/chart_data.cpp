#include "ui/widgets/chart_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace decodescope {

namespace {

// Position of a drawable value between the ends of the range, 0..1 when inside.
double fraction(double value, const AxisRange& range, bool log) {
    if (!log) return (value - range.lower) / (range.upper - range.lower);
    return std::log(value / range.lower) / std::log(range.upper / range.lower);
}

struct Extent {
    double lower = std::numeric_limits<double>::infinity();
    double upper = -std::numeric_limits<double>::infinity();
    void add(double value, bool log) {
        if (!drawable(value, log)) return;
        lower = std::min(lower, value);
        upper = std::max(upper, value);
    }
    void add(const std::vector<double>& values, bool log) {
        for (double value : values) add(value, log);
    }
    bool empty() const { return lower > upper; }
};

AxisRange log_range(const Extent& extent) {
    if (extent.empty()) return {1, 10};
    double lower = extent.lower, upper = extent.upper;
    if (std::log(upper / lower) < 1e-9) return {lower / 2, upper * 2};
    const double room = std::pow(upper / lower, 0.05);
    return {std::max(lower / room, 1e-300), upper * room};
}

}  // namespace

bool drawable(double value, bool log) {
    return std::isfinite(value) && std::abs(value) < kLargestDrawn && (!log || value > 1 / kLargestDrawn);
}

AxisRange x_range(const ChartSpec& spec) {
    Extent extent;
    for (const ChartSeries& s : spec.series)
        for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i)
            if (drawable(s.y[i], spec.log_y)) extent.add(s.x[i], spec.log_x);
    if (spec.log_x) return log_range(extent);
    if (extent.empty()) return {0, 1};
    // From zero on, unless a third of the axis and more would be empty.
    const bool from_zero = extent.lower >= 0 && extent.lower < extent.upper / 3;
    if (extent.upper - extent.lower <= std::abs(extent.upper) * 1e-12) return {extent.lower - 1, extent.upper + 1};
    const double room = (extent.upper - (from_zero ? 0.0 : extent.lower)) * 0.03;  // for the marks at the ends
    return {from_zero ? 0.0 : extent.lower - room, extent.upper + room};
}

AxisRange y_range(const ChartSpec& spec) {
    Extent extent;
    for (const ChartSeries& s : spec.series) {
        extent.add(s.y, spec.log_y);
        extent.add(s.low, spec.log_y);
        extent.add(s.high, spec.log_y);
    }
    if (spec.log_y) return log_range(extent);
    if (extent.empty()) return {0, 1};
    const double lower = std::min(extent.lower, 0.0);
    if (extent.upper - lower <= 0) return {lower, lower + 1};
    return {lower, std::max(extent.upper, 0.0) + (extent.upper - lower) * 0.06};
}

namespace {

// First, lowest, highest and last drawable index of one pixel column.
class Column {
public:
    Column(const std::vector<double>& y, std::vector<int>& out) : y_(y), out_(out) {}
    void add(int index) {
        if (first_ < 0) first_ = low_ = high_ = index;
        last_ = index;
        if (y_[index] < y_[low_]) low_ = index;
        if (y_[index] > y_[high_]) high_ = index;
    }
    void flush() {
        if (first_ < 0) return;
        int kept[4] = {first_, low_, high_, last_};
        std::sort(kept, kept + 4);
        for (int i = 0; i < 4; ++i)
            if (i == 0 || kept[i] != kept[i - 1]) out_.push_back(kept[i]);
        first_ = -1;
    }

private:
    const std::vector<double>& y_;
    std::vector<int>& out_;
    int first_ = -1, low_ = -1, high_ = -1, last_ = -1;
};

}  // namespace

std::vector<int> thin_out(const ChartSeries& series, const AxisRange& range, bool log_x, bool log_y, int columns) {
    std::vector<int> indices;
    const int count = static_cast<int>(std::min(series.x.size(), series.y.size()));
    Column column(series.y, indices);
    int current = std::numeric_limits<int>::min();
    bool gap = false;
    for (int i = 0; i < count; ++i) {
        if (!drawable(series.x[i], log_x) || !drawable(series.y[i], log_y)) {
            column.flush();
            if (!gap && !indices.empty()) indices.push_back(i);
            gap = true;
            current = std::numeric_limits<int>::min();
            continue;
        }
        gap = false;
        const double place = std::clamp(fraction(series.x[i], range, log_x), -1.0, 2.0);
        const int here = static_cast<int>(std::floor(place * std::max(columns, 1)));
        if (here != current) {
            column.flush();
            current = here;
        }
        column.add(i);
    }
    column.flush();
    return indices;
}

std::vector<int> thin_out_marks(const ChartSeries& series, const AxisRange& x, const AxisRange& y, bool log_x,
                                bool log_y, int columns, int rows, double spacing) {
    std::vector<int> indices;
    const int count = static_cast<int>(std::min(series.x.size(), series.y.size()));
    std::unordered_set<std::int64_t> taken;
    double last_x = -std::numeric_limits<double>::infinity(), last_y = last_x;
    for (int i = 0; i < count; ++i) {
        if (!drawable(series.x[i], log_x) || !drawable(series.y[i], log_y)) continue;
        const double px = std::clamp(fraction(series.x[i], x, log_x), -1.0, 2.0) * columns;
        const double py = std::clamp(fraction(series.y[i], y, log_y), -1.0, 2.0) * rows;
        const bool near = std::abs(px - last_x) < spacing && std::abs(py - last_y) < spacing;
        if (near && i + 1 < count) continue;
        // A series that jumps up and down comes back to where there is a mark already.
        const auto cell_x = static_cast<std::int64_t>(std::floor(px * 2 / spacing));
        const auto cell_y = static_cast<std::int64_t>(std::floor(py * 2 / spacing));
        if (!taken.insert((cell_x << 32) ^ (cell_y & 0xFFFFFFFF)).second) continue;
        last_x = px;
        last_y = py;
        indices.push_back(i);
    }
    return indices;
}

std::vector<double> spread_labels(std::vector<double> centres, double height, double top, double bottom) {
    std::vector<int> order(centres.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return centres[a] < centres[b]; });
    double floor = top + height / 2;
    for (int i : order) {
        centres[i] = std::max(centres[i], floor);
        floor = centres[i] + height;
    }
    double ceiling = bottom - height / 2;
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        centres[*i] = std::min(centres[*i], ceiling);
        ceiling = centres[*i] - height;
    }
    return centres;
}

}  // namespace decodescope
