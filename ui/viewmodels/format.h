// Numbers as the window writes them: the same on every machine, whatever its locale.
#pragma once

#include <QString>
#include <cstdint>

namespace decodescope {

QString format_bytes(std::int64_t bytes);        // "512 B", "63.0 KiB", "192 KiB", "6.2 MiB"
QString format_bytes_exact(std::int64_t bytes);  // "64,512 B"
QString format_count(std::int64_t count);        // "64,512"
QString format_micros(double micros);            // "640 µs", "34.8 ms", "9.1 s"; "n/a" when not finite
QString format_weight(double weight);            // "0.503"; "not captured" is the caller's word for NaN: here "n/a"
QString format_value(double value);              // "-1.24", signed, three digits that matter; for elements of K and V

}  // namespace decodescope
