// Rotary embedding and the cache store in one launch: a block takes one head of one row, a query, a key or a value.
#include "kernels/api/int8_row.h"
#include "kernels/cuda/device_math.h"
#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

constexpr int kThreads = 64;

// Pairs (i, i + rotary / 2) of x, into `out` and into `kept`; what is not rotated is copied.
__device__ void rotate(const RotateStoreArgs& a, int row, const float* x, float* out, float* kept) {
    const int half = a.rotary / 2;
    const float* line = a.rotations + static_cast<std::int64_t>(a.tables.positions[row]) * a.rotary;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        const float c = line[i], s = line[half + i], first = x[i], second = x[i + half];
        out[i] = kept[i] = first * c - second * s;
        out[i + half] = kept[i + half] = second * c + first * s;
    }
    for (int i = a.rotary + threadIdx.x; i < a.head_dim; i += blockDim.x) out[i] = kept[i] = x[i];
}

// The scale that 127 codes need, as kernels/api/int8_row.h has it. largest: NaN when a value is not finite.
__device__ float scale_of(float largest) {
    if (!(largest <= 3.402823466e38f)) return __uint_as_float(0x7FC00000u);
    if (largest < kSmallestInt8Range) return 0.0f;
    const float scale = largest / kInt8Levels;
    return scale * kInt8Levels <= 3.402823466e38f ? scale : nextafterf(scale, 0.0f);
}

__device__ void store_int8(unsigned char* row, const float* x, int head_dim, float* room) {
    float largest = 0.0f, broken = 0.0f;
    for (int i = threadIdx.x; i < head_dim; i += blockDim.x) {
        if (!(fabsf(x[i]) <= 3.402823466e38f)) broken = 1.0f;
        largest = fmaxf(largest, fabsf(x[i]));
    }
    largest = block_max(largest, room);
    broken = block_max(broken, room);
    const float scale = scale_of(broken > 0.0f ? INFINITY : largest);
    const int code_bytes = (head_dim + 3) / 4 * 4;
    for (int i = threadIdx.x; i < code_bytes; i += blockDim.x) {
        float code = 0.0f;
        if (i < head_dim && scale > 0.0f) code = fminf(fmaxf(rintf(x[i] / scale), -kInt8Levels), kInt8Levels);
        row[i] = static_cast<unsigned char>(static_cast<signed char>(code));
    }
    if (threadIdx.x == 0) *reinterpret_cast<float*>(row + code_bytes) = scale;
}

__device__ void store(const DeviceSide& side, const DeviceView& view, int head, int entry, const float* x, int head_dim,
                      float* room) {
    const StoredRow to = locate(side, view, head, entry);
    unsigned char* row = const_cast<unsigned char*>(to.data);
    if (to.type == kTypeI8) return store_int8(row, x, head_dim, room);
    for (int i = threadIdx.x; i < head_dim; i += blockDim.x) {
        if (to.type == kTypeF32) reinterpret_cast<float*>(row)[i] = x[i];
        else if (to.type == kTypeF16) reinterpret_cast<unsigned short*>(row)[i] = float_to_half_bits(x[i]);
        else reinterpret_cast<unsigned short*>(row)[i] = float_to_bfloat_bits(x[i]);
    }
}

__global__ void rotate_and_store(RotateStoreArgs a) {
    DS_DYNAMIC_SHARED(float, kept);
    DS_SHARED(float, room, 32);
    const int row = blockIdx.x, d = a.head_dim;
    int head = blockIdx.y;
    if (head < a.q_heads) {
        const std::int64_t at = (static_cast<std::int64_t>(row) * a.q_heads + head) * d;
        rotate(a, row, a.q_in + at, a.q_out + at, kept);
        return;
    }
    head -= a.q_heads;
    const bool is_value = head >= a.kv_heads;
    if (is_value) head -= a.kv_heads;
    const std::int64_t at = (static_cast<std::int64_t>(row) * a.kv_heads + head) * d;
    const float* x = (is_value ? a.v_in : a.k_in) + at;
    if (!is_value && a.k_out != nullptr) rotate(a, row, x, a.k_out + at, kept);
    else
        for (int i = threadIdx.x; i < d; i += blockDim.x) kept[i] = x[i];
    if (a.views == nullptr) return;
    __syncthreads();
    const DeviceView& view = a.views[a.tables.sequence_of[row]];
    const int index = row - view.first_row;
    const int entry = view.store_entries != nullptr ? view.store_entries[index] : view.count - view.row_count + index;
    store(is_value ? view.v : view.k, view, head, entry, kept, d, room);
}

}  // namespace

void launch_rotate_store(const RotateStoreArgs& args, cudaStream_t stream) {
    const int heads = args.q_heads + (args.k_in != nullptr ? args.kv_heads : 0) + (args.v_in != nullptr ? args.kv_heads : 0);
    DS_LAUNCH(rotate_and_store, dim3(static_cast<unsigned>(args.rows), static_cast<unsigned>(heads)), kThreads,
              static_cast<std::size_t>(args.head_dim) * sizeof(float), stream, args);
}

}  // namespace decodescope::cuda
