// Numbers as text, whatever the locale says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decodescope {

// The whole text must be the number: no spaces, no sign '+', no thousands separators. Nothing for "1,5", "nan", "inf".
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_number(std::string_view text);

// Shortest text that reads back as the same value; '.' as decimal point.
std::string format_number(double value);
std::string format_number(float value);
// `digits` after the decimal point.
std::string format_fixed(double value, int digits);
// 1234567 -> "1,234,567".
std::string format_grouped(std::int64_t value);
// Powers of 1024 with their names, three significant digits: "36 KiB", "7.38 MiB", "2 GiB"; below 1024 "17 B".
std::string format_bytes(std::int64_t bytes);

}  // namespace decodescope
