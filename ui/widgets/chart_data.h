// What a chart shows, and the arithmetic before anything is drawn: ranges that are always finite, and down-sampling to
// pixel columns, so that what cannot be seen is not drawn. Nothing here needs a display.
#pragma once

#include <QString>
#include <limits>
#include <vector>

#include "ui/widgets/theme.h"

namespace decodescope {

struct ChartSeries {
    enum class Mark { None, Round, Square };

    QString label = {};  // written at the right end of the series; empty: none
    Role role = Role::Cached;
    Mark mark = Mark::None;
    bool line = false;  // joined by a thin line
    bool dashed = false;
    bool fill = false;                        // area down to `base`
    std::vector<double> x = {}, y = {};       // x ascending; what is not finite is a gap
    std::vector<double> base = {};            // fill: lower edge, same length as y; empty: zero
    std::vector<double> low = {}, high = {};  // spread, same length as y; empty: none
    std::vector<bool> hollow = {};            // marks drawn as outlines, same length as y; empty: all filled
};

struct ChartSpec {
    QString x_title, y_title;
    QString x_title_short;  // where x_title does not fit; empty: x_title is cut
    bool log_x = false, log_y = false;
    std::vector<ChartSeries> series;
    double marker_x = std::numeric_limits<double>::quiet_NaN();  // where the viewed step is
    QString empty_text;  // what will appear and how, while there is nothing to draw
};

struct AxisRange {
    double lower = 0, upper = 1;
    bool operator==(const AxisRange&) const = default;
};

// Beyond this magnitude a value is a gap: axes of such a width have no steps between their ends.
constexpr double kLargestDrawn = 1e200;
// Whether a value has a place on an axis: finite, and positive when the axis is logarithmic.
bool drawable(double value, bool log);

// Ranges that hold everything drawable, with a little room; finite and not empty for any data. Linear y starts at 0
// unless there are negative values.
AxisRange x_range(const ChartSpec& spec);
AxisRange y_range(const ChartSpec& spec);

// Indices to draw of a series whose x are ascending: per pixel column the first, lowest, highest and last point. Gaps
// between drawable points are kept as one index of a point that is not drawable.
std::vector<int> thin_out(const ChartSeries& series, const AxisRange& range, bool log_x, bool log_y, int columns);

// Indices of marks: those nearer than `spacing` pixels to the mark before are left out, and those that come back to a
// place with a mark.
std::vector<int> thin_out_marks(const ChartSeries& series, const AxisRange& x, const AxisRange& y, bool log_x,
                                bool log_y, int columns, int rows, double spacing);

// Moves label centres apart so that each has `height` and all lie within [top, bottom]; keeps their order.
std::vector<double> spread_labels(std::vector<double> centres, double height, double top, double bottom);

}  // namespace decodescope
