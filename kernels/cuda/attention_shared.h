// What both attention kernels do with a few entries of the cache: find out which are seen, bring rows into shared memory
// as floats, turn queries back.
#pragma once

#include "kernels/cuda/device_math.h"
#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {

constexpr int kAttentionThreads = 128;
static_assert(kAttentionThreads == 2 * kSplitEntries, "two threads score an entry");

// The rows_few rows of the step; in attention_split.cu.
void launch_attention_split(const AttentionArgs& args, cudaStream_t stream);

__host__ __device__ inline int padded_four(int x) { return (x + 3) / 4 * 4; }

// Columns of a head that are in shared memory at a time: all of a head of up to `whole` columns, else pieces. What is
// summed over the columns is kept between the pieces.
__host__ __device__ inline int piece_columns(int head_dim, int whole, int piece) {
    return head_dim <= whole ? padded_four(head_dim) : piece;
}
constexpr int kWholeHead = 128;

// Columns `begin` to `end` - 1 of a head, multiples of four; the last ones may lie beyond head_dim and are 0.
struct Columns {
    int begin, end;
};
__device__ inline Columns columns_from(int begin, int head_dim, int piece) {
    return {begin, min(begin + piece, padded_four(head_dim))};
}

// Columns of `entries` entries from `first` on to `tile`, [entries, stride]; zeros where `seen` is 0, because 0 times a
// value that must not be seen could still be NaN.
__device__ inline void load_tile(const DeviceSide& side, const DeviceView& view, int head, int first, int entries,
                                 const int* seen, int head_dim, Columns columns, int stride, float* tile) {
    const int fours = (columns.end - columns.begin) / 4;
    for (int i = threadIdx.x; i < entries * fours; i += blockDim.x) {
        const int entry = i / fours, column = i % fours * 4;
        float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (seen[entry] != 0)
            x = load_four(locate(side, view, head, first + entry), columns.begin + column, head_dim);
        *reinterpret_cast<float4*>(tile + entry * stride + column) = x;
    }
}

// Columns of a query of one head, and the same turned back by `shift` positions where that is not 0.
__device__ inline void load_query(const AttentionArgs& a, int row, int head, int shift, Columns columns, float* q,
                                  float* turned) {
    const float* x = a.q + (static_cast<std::int64_t>(row) * a.heads + head) * a.head_dim;
    const int first = columns.begin + static_cast<int>(threadIdx.x % 32), half = a.rotary / 2;
    for (int i = first; i < columns.end; i += 32) q[i - columns.begin] = i < a.head_dim ? x[i] : 0.0f;
    if (shift == 0) return;
    const float* line = a.rotations + static_cast<std::int64_t>(shift) * a.rotary;
    for (int i = first; i < columns.end; i += 32) {
        float value = i < a.head_dim ? x[i] : 0.0f;
        if (i < half) value = x[i] * line[i] + x[i + half] * line[half + i];
        else if (i < a.rotary) value = x[i] * line[i - half] - x[i - half] * line[i];
        turned[i - columns.begin] = value;
    }
}

}  // namespace decodescope::cuda
