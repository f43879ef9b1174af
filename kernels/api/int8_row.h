// How K and V rows become int8, in plain code. What a fast kernel stores must be these bytes.
//
// Row on its own ("int8"): head_dim codes, up to three bytes of padding, one f32 scale;
//   scale = max |x| / 127, code = x / scale rounded to nearest even, -127 .. 127, value = scale * code.
// Group of rows, per channel (KIVI, Liu et al. 2024): scales [head_dim] and centres [head_dim] in f32, then the rows'
// codes; for channel i over the rows of the group
//   scale_i = (max x / 2 - min x / 2) / 127, centre_i = max x / 2 + min x / 2, value = centre_i + scale_i * code.
// Keys have channels that are far from zero in every token, which a scale of a whole row would have to cover.
//
// A range below 2^-100 is stored as a scale of 0 (values are then 0, or the centre): no division by zero, and nothing
// that overflows. A row or channel with a value that is not finite gets NaN for a scale: all of it reads as NaN, so
// that the pass that reads it fails the check for finite logits instead of going on with a number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/api/element_type.h"

namespace decodescope {

constexpr float kInt8Levels = 127.0f;
constexpr float kSmallestInt8Range = 0x1p-100f;

// Codes of a row with padding, so that the scales are aligned.
constexpr std::int64_t int8_code_bytes(std::int64_t head_dim) { return (head_dim + 3) / 4 * 4; }
constexpr std::int64_t int8_row_bytes(std::int64_t head_dim) { return int8_code_bytes(head_dim) + 4; }
constexpr std::int64_t int8_channel_bytes(std::int64_t head_dim) { return 8 * head_dim; }  // scales and centres
constexpr std::int64_t int8_group_bytes(std::int64_t head_dim, std::int64_t group) {
    return int8_channel_bytes(head_dim) + group * int8_code_bytes(head_dim);
}

// Bytes of one stored row of one head, its scale included.
constexpr std::int64_t kv_row_bytes(ElementType type, std::int64_t head_dim) {
    return type == ElementType::I8 ? int8_row_bytes(head_dim)
                                   : head_dim * static_cast<std::int64_t>(element_bytes(type));
}

// From what 127 codes must cover on either side of the middle.
inline float int8_scale(float half_range) {
    if (!std::isfinite(half_range)) return std::numeric_limits<float>::quiet_NaN();
    if (half_range < kSmallestInt8Range) return 0.0f;
    const float scale = half_range / kInt8Levels;
    return std::isfinite(scale * kInt8Levels) ? scale : std::nextafter(scale, 0.0f);  // near the largest f32
}

// `scale` as given by int8_scale. A scale of 0 or NaN decides the value alone.
inline std::int8_t int8_code(float distance, float scale) {
    if (!(scale > 0.0f)) return 0;
    return static_cast<std::int8_t>(std::clamp(std::nearbyint(distance / scale), -kInt8Levels, kInt8Levels));
}

// NaN when one of the values is not finite.
inline float largest_magnitude(const float* x, std::int64_t count, std::int64_t stride = 1) {
    float largest = 0.0f;
    for (std::int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(x[i * stride])) return std::numeric_limits<float>::quiet_NaN();
        largest = std::max(largest, std::abs(x[i * stride]));
    }
    return largest;
}

inline float int8_row_scale(const std::byte* row, std::int64_t head_dim) {
    float scale;
    std::memcpy(&scale, row + int8_code_bytes(head_dim), 4);
    return scale;
}

// x: [head_dim] -> row: [int8_row_bytes(head_dim)]
inline void quantize_row(const float* x, std::int64_t head_dim, std::byte* row) {
    const float scale = int8_scale(largest_magnitude(x, head_dim));
    std::memset(row, 0, static_cast<std::size_t>(int8_code_bytes(head_dim)));
    for (std::int64_t i = 0; i < head_dim; ++i) row[i] = static_cast<std::byte>(int8_code(x[i], scale));
    std::memcpy(row + int8_code_bytes(head_dim), &scale, 4);
}

inline float int8_value(const std::byte* row, std::int64_t head_dim, std::int64_t i) {
    return int8_row_scale(row, head_dim) * static_cast<float>(static_cast<std::int8_t>(row[i]));
}

// x: [group, head_dim] -> to: [int8_group_bytes(head_dim, group)]
inline void quantize_group(const float* x, std::int64_t group, std::int64_t head_dim, std::byte* to) {
    std::memset(to, 0, static_cast<std::size_t>(int8_group_bytes(head_dim, group)));
    std::byte* codes = to + int8_channel_bytes(head_dim);
    for (std::int64_t i = 0; i < head_dim; ++i) {
        float low = x[i], high = x[i];
        for (std::int64_t r = 1; r < group; ++r) {
            low = std::min(low, x[r * head_dim + i]);
            high = std::max(high, x[r * head_dim + i]);
        }
        float centre = high / 2 + low / 2, scale = int8_scale(high / 2 - low / 2);
        if (std::isnan(largest_magnitude(x + i, group, head_dim))) centre = scale = std::nanf("");
        std::memcpy(to + i * 4, &scale, 4);
        std::memcpy(to + (head_dim + i) * 4, &centre, 4);
        for (std::int64_t r = 0; r < group; ++r) {
            codes[r * int8_code_bytes(head_dim) + i] =
                static_cast<std::byte>(int8_code(x[r * head_dim + i] - centre, scale));
        }
    }
}

// channels: scales [head_dim], centres [head_dim]
inline float int8_group_value(const std::byte* codes, const float* channels, std::int64_t head_dim, std::int64_t i) {
    return channels[head_dim + i] + channels[i] * static_cast<float>(static_cast<std::int8_t>(codes[i]));
}

}  // namespace decodescope
