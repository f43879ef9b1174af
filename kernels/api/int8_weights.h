// Weights as int8, in plain code. What a fast kernel reads must give these values.
//
// A row of a matrix is cut in blocks of 32 columns, each with a scale in f16 (the bytes per weight of GGUF's Q8_0, 34 for
// 32): first the codes of all blocks, the last one filled with zeros, then all scales.
//   scale = max |w| of the block / 127, rounded to f16 and never below what the largest weight needs;
//   code = w / scale rounded to nearest even, -127 .. 127; value = scale * code.
// A block whose scale would not be a finite f16 (weights beyond 8.3e6, or NaN) gets NaN: all of it reads as NaN, so that
// the pass fails the check for finite logits instead of going on with a number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/api/element_type.h"
#include "kernels/api/half.h"
#include "kernels/api/int8_row.h"

namespace decodescope {

constexpr std::int64_t kWeightBlock = 32;

constexpr std::int64_t weight_blocks(std::int64_t columns) { return (columns + kWeightBlock - 1) / kWeightBlock; }

// Bytes that 32 weights of a row take where they are kept in blocks; 0: they are not. Coded ones: the codes, and in f32
// a scale and a minimum, Q6 two scales.
constexpr std::int64_t weight_block_bytes(ElementType type) {
    switch (type) {
        case ElementType::I8: return kWeightBlock + 2;
        case ElementType::Q4: return kWeightBlock * 4 / 8 + 8;
        case ElementType::Q5: return kWeightBlock * 5 / 8 + 8;
        case ElementType::Q6: return kWeightBlock * 6 / 8 + 8;
        default: return 0;
    }
}

// Bytes of one row of a matrix.
constexpr std::int64_t weight_row_bytes(ElementType type, std::int64_t columns) {
    const std::int64_t block = weight_block_bytes(type);
    return block > 0 ? weight_blocks(columns) * block : columns * static_cast<std::int64_t>(element_bytes(type));
}

// Scales of a row: f16 [weight_blocks(columns)]
inline std::byte* weight_scales(std::byte* row, std::int64_t columns) {
    return row + weight_blocks(columns) * kWeightBlock;
}
inline const std::byte* weight_scales(const std::byte* row, std::int64_t columns) {
    return row + weight_blocks(columns) * kWeightBlock;
}

inline float int8_weight_scale(const std::byte* row, std::int64_t columns, std::int64_t block) {
    std::uint16_t bits;
    std::memcpy(&bits, weight_scales(row, columns) + block * 2, 2);
    return f16_to_f32(bits);
}

inline float int8_weight(const std::byte* row, std::int64_t columns, std::int64_t column) {
    return int8_weight_scale(row, columns, column / kWeightBlock) *
           static_cast<float>(static_cast<std::int8_t>(row[column]));
}

// w: [count], count 1 to 32, the weights of block `block` -> its codes and scale in `row`
inline void quantize_weight_block(const float* w, std::int64_t count, std::int64_t columns, std::int64_t block,
                                  std::byte* row) {
    const float wanted = largest_magnitude(w, count) / kInt8Levels;
    std::uint16_t bits = f32_to_f16(wanted);
    if (f16_to_f32(bits) < wanted) ++bits;  // the next larger one, so that no code is cut off
    float scale = f16_to_f32(bits);
    if (!std::isfinite(scale)) bits = f32_to_f16(scale = std::nanf(""));
    std::memcpy(weight_scales(row, columns) + block * 2, &bits, 2);
    std::byte* codes = row + block * kWeightBlock;
    std::memset(codes, 0, static_cast<std::size_t>(kWeightBlock));
    for (std::int64_t i = 0; i < count; ++i) codes[i] = static_cast<std::byte>(int8_code(w[i], scale));
}

}  // namespace decodescope
