// Reading and writing one stored element, whatever its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/api/element_type.h"
#include "kernels/api/half.h"
#include "kernels/api/int8_row.h"
#include "kernels/api/kv_view.h"

namespace decodescope {

// Element `index` of an array of f32, f16 or bf16.
inline float load_element(const void* data, ElementType type, std::int64_t index) {
    if (type == ElementType::F32) {
        float value;
        std::memcpy(&value, static_cast<const std::byte*>(data) + index * 4, 4);
        return value;
    }
    std::uint16_t bits;
    std::memcpy(&bits, static_cast<const std::byte*>(data) + index * 2, 2);
    return type == ElementType::F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

// Stores `value` rounded to nearest even.
inline void store_element(void* data, ElementType type, std::int64_t index, float value) {
    if (type == ElementType::F32) {
        std::memcpy(static_cast<std::byte*>(data) + index * 4, &value, 4);
        return;
    }
    const std::uint16_t bits = type == ElementType::F16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(static_cast<std::byte*>(data) + index * 2, &bits, 2);
}

// Element `index` of a stored row of head_dim elements.
inline float load_kv(const KvRow& row, std::int64_t head_dim, std::int64_t index) {
    if (row.type != ElementType::I8) return load_element(row.data, row.type, index);
    if (row.channels != nullptr) return int8_group_value(row.data, row.channels, head_dim, index);
    return int8_value(row.data, head_dim, index);
}

// A row of head_dim elements; a row of a group cannot be stored by itself.
inline void store_kv(const KvRow& row, const float* x, std::int64_t head_dim) {
    if (row.type == ElementType::I8) return quantize_row(x, head_dim, row.data);
    for (std::int64_t i = 0; i < head_dim; ++i) store_element(row.data, row.type, i, x[i]);
}

}  // namespace decodescope
