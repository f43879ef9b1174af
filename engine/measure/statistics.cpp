#include "engine/measure/statistics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace decodescope {

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {median, values.front(), values.back()};
}

Spread middle_half_of(std::vector<double> values) {
    Spread spread = spread_of(values);
    const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
    if (half == 0) return spread;
    std::sort(values.begin(), values.end());
    spread.lowest = spread_of({values.begin(), values.begin() + half}).median;
    spread.highest = spread_of({values.end() - half, values.end()}).median;
    return spread;
}

double rounded(double value, int digits) {
    if (!std::isfinite(value)) return value;
    const double scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}

Comparison compare_spreads(const Spread& first, const Spread& second) {
    Comparison result;
    if (!(first.lowest > 0) || !(second.lowest > 0)) {
        result.sentence = "n/a: there is no time to compare";
        return result;
    }
    result.ratio = rounded(first.median / second.median, kSpeedUpDigits);
    result.low = rounded(first.lowest / second.highest, kSpeedUpDigits);
    result.high = rounded(first.highest / second.lowest, kSpeedUpDigits);
    result.different = first.lowest > second.highest || second.lowest > first.highest;
    result.sentence = fmt::format("{}: {:.2f} ({:.2f} to {:.2f})",
                                  !result.different              ? "no difference"
                                  : first.median > second.median ? "slower"
                                                                 : "faster",
                                  result.ratio, result.low, result.high);
    return result;
}

}  // namespace decodescope
