#include "ui/viewmodels/format.h"

#include <fmt/format.h>

#include <cmath>

namespace decodescope {
namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }

// One decimal below 100, none from 100 on: "63.0", "192".
std::string three_digits(double value) {
    return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

QString format_count(std::int64_t count) {
    std::string digits = fmt::format("{}", count);
    const std::size_t first = digits[0] == '-' ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
    return text(digits);
}

QString format_bytes(std::int64_t bytes) {
    constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
    if (std::abs(bytes) < 1024) return text(fmt::format("{} B", bytes));
    double value = static_cast<double>(bytes) / 1024.0;
    int unit = 0;
    while (std::abs(value) >= 1023.95 && unit < 3) value /= 1024.0, ++unit;
    const bool negative = value < 0;
    return text(fmt::format("{}{} {}", negative ? "-" : "", three_digits(std::abs(value)), kUnits[unit]));
}

QString format_bytes_exact(std::int64_t bytes) { return format_count(bytes) + QStringLiteral(" B"); }

QString format_micros(double micros) {
    if (!std::isfinite(micros)) return QStringLiteral("n/a");
    if (micros < 999.5) return text(fmt::format("{:.0f} µs", micros));
    if (micros < 9.995e3) return text(fmt::format("{:.2f} ms", micros / 1e3));
    if (micros < 999.5e3) return text(fmt::format("{} ms", three_digits(micros / 1e3)));
    return text(fmt::format("{:.1f} s", micros / 1e6));
}

QString format_weight(double weight) {
    if (!std::isfinite(weight)) return QStringLiteral("n/a");
    return text(fmt::format("{:.3f}", weight));
}

QString format_value(double value) {
    if (!std::isfinite(value))
        return std::isnan(value) ? QStringLiteral("NaN") : value > 0 ? QStringLiteral("Inf") : QStringLiteral("-Inf");
    const double size = std::abs(value);
    if (size != 0 && (size >= 1e4 || size < 5e-3)) return text(fmt::format("{:.0e}", value));
    return text(size >= 99.95   ? fmt::format("{:.0f}", value)
                : size >= 9.995 ? fmt::format("{:.1f}", value)
                                : fmt::format("{:.2f}", value));
}

}  // namespace decodescope
