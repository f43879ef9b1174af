// Attention of a few new rows over a long cache. A block reads one range of entries of one key-value head, once for all
// query heads that share it; ranges have a fixed length, so what a row gets does not depend on what else is in the step.
// A second kernel puts the ranges together by their maxima and sums.
#include "kernels/cuda/attention_shared.h"

namespace decodescope::cuda {
namespace {

// Two threads take the fours of a row in turns: with rows eight floats apart no two of them meet in a bank.
__host__ __device__ int row_width(int head_dim) { return piece_columns(head_dim, kWholeHead, kWholeHead); }
__host__ __device__ int row_stride(int head_dim) { return row_width(head_dim) + 8; }

struct RangeShared {
    float *tile, *q, *turned, *scores, *largest, *sums;
    int* seen;
};

__device__ RangeShared divide(float* memory, int head_dim) {
    RangeShared s;
    s.tile = memory;
    s.q = s.tile + kSplitEntries * row_stride(head_dim);
    s.turned = s.q + kHeadsPerBlock * row_width(head_dim);
    s.scores = s.turned + kHeadsPerBlock * row_width(head_dim);
    s.largest = s.scores + kHeadsPerBlock * kSplitEntries;
    s.sums = s.largest + kHeadsPerBlock;
    s.seen = reinterpret_cast<int*>(s.sums + kHeadsPerBlock);
    return s;
}

// scores[h][e] = scale * (q_h . key_e), -infinity where not seen; sums of products until the last columns are there.
__device__ void score(const AttentionArgs& a, const RangeShared& s, int heads, Columns columns) {
    const int fours = (columns.end - columns.begin) / 4, width = row_width(a.head_dim);
    const bool last = columns.end == padded_four(a.head_dim);
    const int part = threadIdx.x % 2;
    const int e = threadIdx.x / 2, seen = s.seen[e];
    const float4* key = reinterpret_cast<const float4*>(s.tile + e * row_stride(a.head_dim));
    for (int h = 0; h < heads; ++h) {
        float sum = 0.0f;
        if (seen != 0) {
            const float4* q = reinterpret_cast<const float4*>((seen == 2 ? s.turned : s.q) + h * width);
            for (int i = part; i < fours; i += 2)
                sum += q[i].x * key[i].x + q[i].y * key[i].y + q[i].z * key[i].z + q[i].w * key[i].w;
        }
        sum += __shfl_xor_sync(kWholeWarp, sum, 1);
        if (part != 0) continue;
        float& score = s.scores[h * kSplitEntries + e];
        if (columns.begin > 0) sum += score;
        score = !last ? sum : seen != 0 ? sum * a.scale : -INFINITY;
    }
}

// Scores of each head become exp(score - largest); a warp takes a head.
__device__ void exponentials(const RangeShared& s, int heads) {
    const int lane = threadIdx.x % 32;
    for (int h = threadIdx.x / 32; h < heads; h += kAttentionThreads / 32) {
        float largest = -INFINITY, sum = 0.0f;
        for (int e = lane; e < kSplitEntries; e += 32) largest = fmaxf(largest, s.scores[h * kSplitEntries + e]);
        largest = warp_max(largest);
        for (int e = lane; e < kSplitEntries; e += 32) {
            const float score = s.scores[h * kSplitEntries + e];
            const float weight = score == -INFINITY ? 0.0f : expf(score - largest);
            s.scores[h * kSplitEntries + e] = weight;
            sum += weight;
        }
        sum = warp_sum(sum);
        if (lane == 0) s.largest[h] = largest, s.sums[h] = sum;
    }
}

__device__ void mix(const AttentionArgs& a, const RangeShared& s, int row, int first_head, int heads, Columns columns) {
    const int d = a.head_dim, stride = row_stride(d), width = min(columns.end, d) - columns.begin;
    const bool alone = a.splits == 1;
    for (int item = threadIdx.x; item < heads * width; item += kAttentionThreads) {
        const int h = item / width, within = item % width, i = columns.begin + within;
        const float* weights = s.scores + h * kSplitEntries;
        float sum = 0.0f;
        for (int e = 0; e < kSplitEntries; ++e) sum += weights[e] * s.tile[e * stride + within];
        const std::int64_t head_row = static_cast<std::int64_t>(row) * a.heads + first_head + h;
        if (alone) {
            a.out[head_row * d + i] = s.sums[h] == 0.0f ? 0.0f : sum * (1.0f / s.sums[h]);
            continue;
        }
        float* part = a.partials +
                      ((static_cast<std::int64_t>(blockIdx.z) * a.heads + first_head + h) * a.splits + blockIdx.x) * (d + 2);
        part[2 + i] = sum;
        if (i == 0) part[0] = s.largest[h], part[1] = s.sums[h];
    }
}

__device__ void write_weights(const AttentionArgs& a, const RangeShared& s, int row, int first_head, int heads,
                              int begin, int entries) {
    for (int item = threadIdx.x; item < heads * entries; item += kAttentionThreads) {
        const int h = item / entries, e = item % entries;
        float weight = s.scores[h * kSplitEntries + e];
        if (a.splits == 1 && s.sums[h] != 0.0f) weight *= 1.0f / s.sums[h];
        a.weights[(static_cast<std::int64_t>(row) * a.heads + first_head + h) * a.weights_stride + begin + e] = weight;
    }
}

// Grid: (ranges, key-value heads x groups of their query heads, rows). Shared memory allows some four blocks of the
// largest heads at a time: told so, the compiler spills no register for the sake of more.
__global__ void __launch_bounds__(kAttentionThreads, 4) attend_range(AttentionArgs a) {
    DS_DYNAMIC_SHARED(float, memory);
    const int row = a.tables.few_rows[blockIdx.z];
    const DeviceView& view = a.views[a.tables.sequence_of[row]];
    const int begin = blockIdx.x * kSplitEntries, entries = min(kSplitEntries, view.count - begin);
    if (entries <= 0) return;
    const int shared_by = a.heads / a.kv_heads, groups = (shared_by + kHeadsPerBlock - 1) / kHeadsPerBlock;
    const int kv_head = blockIdx.y / groups, skipped = blockIdx.y % groups * kHeadsPerBlock;
    const int first_head = kv_head * shared_by + skipped, heads = min(kHeadsPerBlock, shared_by - skipped);
    const DeviceVisibility visibility = a.visibility[row];
    const RangeShared s = divide(memory, a.head_dim);
    for (int e = threadIdx.x; e < kSplitEntries; e += kAttentionThreads) {
        int seen = 0;
        if (e < entries) {
            const int position = position_of(view, begin + e);
            if (sees(visibility, position))
                seen = visibility.sink_shift != 0 && position < visibility.sink_end ? 2 : 1;
        }
        s.seen[e] = seen;
    }
    const int stride = row_stride(a.head_dim), width = row_width(a.head_dim);
    for (int column = 0; column < a.head_dim; column += width) {
        const Columns columns = columns_from(column, a.head_dim, width);
        for (int h = threadIdx.x / 32; h < heads; h += kAttentionThreads / 32)
            load_query(a, row, first_head + h, visibility.sink_shift, columns, s.q + h * width, s.turned + h * width);
        if (column == 0) __syncthreads();  // what is seen
        load_tile(view.k, view, kv_head, begin, kSplitEntries, s.seen, a.head_dim, columns, stride, s.tile);
        __syncthreads();
        score(a, s, heads, columns);
        __syncthreads();
    }
    for (int column = 0; column < a.head_dim; column += width) {
        const Columns columns = columns_from(column, a.head_dim, width);
        if (column > 0) __syncthreads();
        load_tile(view.v, view, kv_head, begin, kSplitEntries, s.seen, a.head_dim, columns, stride, s.tile);
        if (column == 0) exponentials(s, heads);
        __syncthreads();
        mix(a, s, row, first_head, heads, columns);
    }
    if (a.weights != nullptr) write_weights(a, s, row, first_head, heads, begin, entries);
}

// Grid: (heads, rows). A row's own number of ranges decides the order of the sums, not the grid's.
__global__ void __launch_bounds__(kAttentionThreads) merge_ranges(AttentionArgs a) {
    DS_DYNAMIC_SHARED(float, factors);
    DS_SHARED(float, room, 32);
    const int head = blockIdx.x, row = a.tables.few_rows[blockIdx.y], d = a.head_dim;
    const DeviceView& view = a.views[a.tables.sequence_of[row]];
    const int ranges = (view.count + kSplitEntries - 1) / kSplitEntries;
    const float* parts = a.partials + (static_cast<std::int64_t>(blockIdx.y) * a.heads + head) * a.splits * (d + 2);
    float largest = -INFINITY, sum = 0.0f;
    for (int r = threadIdx.x; r < ranges; r += kAttentionThreads) largest = fmaxf(largest, parts[r * (d + 2)]);
    largest = block_max(largest, room);
    for (int r = threadIdx.x; r < ranges; r += kAttentionThreads) {
        const float own = parts[r * (d + 2)], own_sum = parts[r * (d + 2) + 1];
        const float factor = own_sum == 0.0f ? 0.0f : expf(own - largest);
        factors[r] = factor;
        sum += factor * own_sum;
    }
    sum = block_sum(sum, room);  // its barriers also order the factors
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    float* out = a.out + (static_cast<std::int64_t>(row) * a.heads + head) * d;
    for (int i = threadIdx.x; i < d; i += kAttentionThreads) {
        float mixed = 0.0f;
        for (int r = 0; r < ranges; ++r) mixed += parts[r * (d + 2) + 2 + i] * factors[r];
        out[i] = mixed * inverse;
    }
    if (a.weights == nullptr) return;
    float* weights = a.weights + (static_cast<std::int64_t>(row) * a.heads + head) * a.weights_stride;
    for (int e = threadIdx.x; e < view.count; e += kAttentionThreads) weights[e] *= factors[e / kSplitEntries] * inverse;
}

std::size_t range_shared_bytes(int head_dim) {
    const int floats = kSplitEntries * row_stride(head_dim) + 2 * kHeadsPerBlock * row_width(head_dim) +
                       kHeadsPerBlock * kSplitEntries + 2 * kHeadsPerBlock;
    return static_cast<std::size_t>(floats + kSplitEntries) * 4;
}

}  // namespace

void launch_attention_split(const AttentionArgs& a, cudaStream_t stream) {
    const int shared_by = a.heads / a.kv_heads, groups = (shared_by + kHeadsPerBlock - 1) / kHeadsPerBlock;
    const auto rows = static_cast<unsigned>(a.rows_few), splits = static_cast<unsigned>(a.splits);
    DS_LAUNCH(attend_range, dim3(splits, static_cast<unsigned>(a.kv_heads * groups), rows), kAttentionThreads,
              range_shared_bytes(a.head_dim), stream, a);
    if (a.splits == 1) return;
    DS_LAUNCH(merge_ranges, dim3(static_cast<unsigned>(a.heads), rows), kAttentionThreads, splits * sizeof(float),
              stream, a);
}

}  // namespace decodescope::cuda
