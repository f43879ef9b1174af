// What int8 gives back, written a second time in double: rows with one scale, and groups with a scale and a centre for
// each channel.
#pragma once

#include <cmath>

#include "tests/engine/decode/session_helpers.h"

namespace decodescope {

using Rows = std::vector<std::vector<double>>;  // [tokens][kv_heads * head_dim]

inline Rows rounded_rows(const Rows& rows, std::size_t head_dim) {
    Rows out = rows;
    for (auto& row : out) {
        for (std::size_t head = 0; head < row.size(); head += head_dim) {
            double largest = 0;
            for (std::size_t i = 0; i < head_dim; ++i) largest = std::max(largest, std::abs(row[head + i]));
            const double scale = largest / 127;
            for (std::size_t i = 0; i < head_dim && scale > 0; ++i)
                row[head + i] = std::nearbyint(row[head + i] / scale) * scale;
        }
    }
    return out;
}

inline Rows rounded_groups(const Rows& rows, std::size_t group) {
    Rows out = rows;
    for (std::size_t first = 0; first + group <= rows.size(); first += group) {
        for (std::size_t i = 0; i < rows[first].size(); ++i) {
            double low = rows[first][i], high = low;
            for (std::size_t r = first; r < first + group; ++r)
                low = std::min(low, rows[r][i]), high = std::max(high, rows[r][i]);
            const double centre = (low + high) / 2, scale = (high - low) / 254;
            for (std::size_t r = first; r < first + group; ++r)
                out[r][i] = scale > 0 ? centre + std::nearbyint((rows[r][i] - centre) / scale) * scale : centre;
        }
    }
    return out;
}

inline double rounded_half(double x) { return static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(x)))); }

// A cache of that format, as it is read by the row at each position: row i was computed with the state of i tokens.
inline OracleOptions format_oracle(const KvFormat& format, std::size_t head_dim) {
    OracleOptions options;
    options.stored = [format, head_dim](bool is_value, const Rows& rows) {
        const KvPart part = is_value ? KvPart::V : KvPart::K;
        if (format.is_grouped(part) && !is_value) return rounded_groups(rows, static_cast<std::size_t>(format.group));
        if (format.type(part) == ElementType::I8) return rounded_rows(rows, head_dim);
        Rows out = rows;
        if (format.type(part) == ElementType::F16)
            for (auto& row : out)
                for (double& x : row) x = rounded_half(x);
        return out;
    };
    options.reads_stored = [format](bool is_value, std::int64_t row, std::int64_t position) {
        if (!format.is_grouped(is_value ? KvPart::V : KvPart::K)) return true;
        const std::int64_t most = format.residual + format.group;
        return row >= most && position < row - format.residual - (row - format.residual) % format.group;
    };
    return options;
}

}  // namespace decodescope
