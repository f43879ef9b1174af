// Device functions that several kernels share: reductions over a block, stored elements as floats, where a row lies.
#pragma once

#include <cstdint>

#include "kernels/api/element_type.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/device_view.h"

namespace decodescope::cuda {

constexpr unsigned kWholeWarp = 0xFFFFFFFFu;
constexpr int kTypeF32 = static_cast<int>(ElementType::F32);
constexpr int kTypeF16 = static_cast<int>(ElementType::F16);
constexpr int kTypeBf16 = static_cast<int>(ElementType::BF16);
constexpr int kTypeI8 = static_cast<int>(ElementType::I8);

__device__ inline float warp_sum(float x) {
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kWholeWarp, x, step);
    return x;
}
__device__ inline float warp_max(float x) {
    for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, step));
    return x;
}

// Every thread of the block takes part and gets the result. `room`: 32 floats, free again after the call.
__device__ inline float block_sum(float x, float* room) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = warp_sum(x);
    if (lane == 0) room[warp] = x;
    __syncthreads();
    x = warp_sum(lane < warps ? room[lane] : 0.0f);
    __syncthreads();
    return x;
}
__device__ inline float block_max(float x, float* room) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = warp_max(x);
    if (lane == 0) room[warp] = x;
    __syncthreads();
    x = warp_max(lane < warps ? room[lane] : -INFINITY);
    __syncthreads();
    return x;
}

__device__ inline float sigmoid(float x) {
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// 0.5 x (1 + erf(x / sqrt(2))) = 0.5 x erfc(-x / sqrt(2)), which keeps the digits of the tail.
__device__ inline float gelu_erf(float x) {
    const double wide = x;
    return static_cast<float>(0.5 * wide * erfc(-wide * 0.70710678118654752440));
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u). 2 u is formed in double: its error in f32 would show in the tail.
__device__ inline float gelu(float x) {
    const double wide = x;
    const double exponent = 1.5957691216057308 * wide * (1.0 + 0.044715 * wide * wide);
    const float high = static_cast<float>(exponent), low = static_cast<float>(exponent - static_cast<double>(high));
    const float s = sigmoid(high);
    return x * (s + s * sigmoid(-high) * low);
}

__device__ inline float half_bits_to_float(unsigned bits) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}
__device__ inline float bfloat_bits_to_float(unsigned bits) { return __uint_as_float(bits << 16); }
__device__ inline unsigned short float_to_half_bits(float x) { return __half_as_ushort(__float2half_rn(x)); }
// Nearest, ties to even; a NaN stays one.
__device__ inline unsigned short float_to_bfloat_bits(float x) {
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<unsigned short>((bits >> 16) | 0x40u);
    return static_cast<unsigned short>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// Element `index` of an array of f32, f16 or bf16.
__device__ inline float load_element(const void* data, int type, std::int64_t index) {
    if (type == kTypeF32) return static_cast<const float*>(data)[index];
    const unsigned bits = static_cast<const unsigned short*>(data)[index];
    return type == kTypeF16 ? half_bits_to_float(bits) : bfloat_bits_to_float(bits);
}

// A matrix in int8 as kernels/api/int8_weights.h lays it out: codes in blocks of 32 columns, then an f16 scale per block.
constexpr int kInt8Block = 32;
__device__ inline std::int64_t int8_blocks(int columns) { return (columns + kInt8Block - 1) / kInt8Block; }
__device__ inline std::int64_t int8_matrix_row_bytes(int columns) { return int8_blocks(columns) * (kInt8Block + 2); }
__device__ inline float int8_block_scale(const unsigned char* row, int columns, int column) {
    const auto* scales = reinterpret_cast<const unsigned short*>(row + int8_blocks(columns) * kInt8Block);
    return half_bits_to_float(scales[column / kInt8Block]);
}
__device__ inline float int8_matrix_element(const unsigned char* row, int columns, int column) {
    const float code = static_cast<float>(static_cast<signed char>(row[column]));
    return int8_block_scale(row, columns, column) * code;  // exact: 11 bits times 7
}

// A stored row of one head, wherever it lies.
struct StoredRow {
    const unsigned char* data;
    const float* channels;  // of a group: scales, centres; else null
    int type;
};

__device__ inline StoredRow locate(const DeviceSide& side, const DeviceView& view, int head, int entry) {
    if (entry >= side.tail_first)
        return {side.tail + head * side.tail_head_bytes + entry % side.tail_rows * side.tail_row_bytes, nullptr,
                kTypeF32};
    std::int64_t slot = entry;
    if (view.pages != nullptr)
        slot = (static_cast<std::int64_t>(view.pages[entry >> view.log2_page]) << view.log2_page) +
               (entry & ((1 << view.log2_page) - 1));
    if (slot >= view.staged_first)
        return {side.staged + head * side.staged_head_bytes + (slot - view.staged_first) * side.row_bytes, nullptr,
                side.type};
    const std::int64_t page = view.pages == nullptr ? 0 : slot >> view.log2_page;
    const std::int64_t within = slot - (page << view.log2_page);
    const unsigned char* head_data = side.data + page * side.page_bytes + head * side.head_bytes;
    if (side.group == 0) return {head_data + within * side.row_bytes, nullptr, side.type};
    const unsigned char* group = head_data + within / side.group * side.group_bytes;
    const std::int64_t codes = side.group_bytes - side.group * side.row_bytes;
    return {group + codes + within % side.group * side.row_bytes, reinterpret_cast<const float*>(group), side.type};
}

__device__ inline float int8_scale_of(const unsigned char* row, int head_dim) {
    return *reinterpret_cast<const float*>(row + (head_dim + 3) / 4 * 4);
}

__device__ inline bool aligned(const void* data, unsigned bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

// Loaders: elements i .. i + 3 of a row, 0 beyond head_dim. One load where the address allows it.
__device__ inline float4 load_four_floats(const unsigned char* row, int i, int head_dim) {
    const float* x = reinterpret_cast<const float*>(row) + i;
    if (i + 4 <= head_dim && aligned(x, 16)) return *reinterpret_cast<const float4*>(x);
    return make_float4(x[0], i + 1 < head_dim ? x[1] : 0.0f, i + 2 < head_dim ? x[2] : 0.0f,
                       i + 3 < head_dim ? x[3] : 0.0f);
}
template <class Convert>
__device__ float4 load_four_halves(const unsigned char* row, int i, int head_dim, Convert convert) {
    const unsigned short* x = reinterpret_cast<const unsigned short*>(row) + i;
    if (i + 4 <= head_dim && aligned(x, 8)) {
        const uint2 two = *reinterpret_cast<const uint2*>(x);
        return make_float4(convert(two.x & 0xFFFFu), convert(two.x >> 16), convert(two.y & 0xFFFFu),
                           convert(two.y >> 16));
    }
    return make_float4(convert(x[0]), i + 1 < head_dim ? convert(x[1]) : 0.0f, i + 2 < head_dim ? convert(x[2]) : 0.0f,
                       i + 3 < head_dim ? convert(x[3]) : 0.0f);
}
// Codes are padded to four, so that four can always be read.
__device__ inline float4 load_four_codes(const StoredRow& row, int i, int head_dim) {
    const char4 codes = *reinterpret_cast<const char4*>(row.data + i);
    const float x[4] = {static_cast<float>(codes.x), static_cast<float>(codes.y), static_cast<float>(codes.z),
                        static_cast<float>(codes.w)};
    float out[4];
    const float scale = row.channels == nullptr ? int8_scale_of(row.data, head_dim) : 0.0f;
    for (int j = 0; j < 4; ++j) {
        out[j] = 0.0f;
        if (i + j >= head_dim) continue;
        out[j] = row.channels == nullptr ? scale * x[j]
                                         : row.channels[head_dim + i + j] + row.channels[i + j] * x[j];
    }
    return make_float4(out[0], out[1], out[2], out[3]);
}
__device__ inline float4 load_four(const StoredRow& row, int i, int head_dim) {
    if (row.type == kTypeF32) return load_four_floats(row.data, i, head_dim);
    if (row.type == kTypeI8) return load_four_codes(row, i, head_dim);
    if (row.type == kTypeF16) return load_four_halves(row.data, i, head_dim, half_bits_to_float);
    return load_four_halves(row.data, i, head_dim, bfloat_bits_to_float);
}

__device__ inline int position_of(const DeviceView& view, int entry) {
    return view.positions == nullptr ? entry : view.positions[entry];
}
__device__ inline bool sees(const DeviceVisibility& row, int position) {
    return position <= row.position && (position >= row.window_first || position < row.sink_end);
}

}  // namespace decodescope::cuda
