// Medians with their spread, ratios with theirs, and the sentence that a comparison deserves.
#pragma once

#include <string>
#include <vector>

namespace decodescope {

constexpr int kMillisecondDigits = 4;  // digits after the point of milliseconds in files: tenths of a microsecond
constexpr int kSpeedUpDigits = 2;
constexpr double kLeastGain = 1.05;  // below it there is no benefit worth the name

struct Spread {
    double median = 0, lowest = 0, highest = 0;
};
// Of an even number of values the median is the mean of the middle two. All 0 for no values.
Spread spread_of(std::vector<double> values);

// Median with the lower and the upper quartile: the medians of both halves, the middle value left out of an odd number.
Spread middle_half_of(std::vector<double> values);

// To `digits` after the decimal point, halves away from zero.
double rounded(double value, int digits);

// Whether two measurements differ: they do when their ranges lie apart.
struct Comparison {
    bool different = false;
    double ratio = 0, low = 0, high = 0;  // first / second, from medians and from the extremes; 0 without a time
    std::string sentence;                 // "no difference: 1.01 (0.93 to 1.10)"
};
Comparison compare_spreads(const Spread& first, const Spread& second);

}  // namespace decodescope
