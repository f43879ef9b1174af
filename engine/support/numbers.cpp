#include "engine/support/numbers.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace decodescope {
namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
    T value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_whole<std::int64_t>(text); }
std::optional<std::uint64_t> parse_unsigned(std::string_view text) { return parse_whole<std::uint64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
    const auto value = parse_whole<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string format_number(double value) { return fmt::format("{}", value); }
std::string format_number(float value) { return fmt::format("{}", value); }
std::string format_fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string format_grouped(std::int64_t value) {
    std::string digits = fmt::format("{}", value);
    const std::size_t first = value < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string format_bytes(std::int64_t bytes) {
    constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.5 would be written with four digits: it goes to the next unit.
    while (std::abs(value) >= 1023.5 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    const double size = std::abs(value);
    std::string text = fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return fmt::format("{} {}", text, units[unit]);
}

}  // namespace decodescope
