// Attention of many new rows: a block takes a tile of rows of one head and goes through the entries a tile at a time,
// with a running maximum and sum per row. No matrix of all scores is ever formed. What a row does not see is never
// multiplied. Written-out weights need the final maximum and sum, so they are computed in a second pass that changes
// nothing of the first.
#include "kernels/cuda/attention_shared.h"

namespace decodescope::cuda {
namespace {

constexpr int kTileEntries = 32;
constexpr int kRowGroups = kAttentionThreads / kTileEntries;  // threads that share an entry
constexpr int kGroupRows = kTileRows / kRowGroups;            // rows of such a thread
constexpr int kLanesPerRow = kAttentionThreads / kTileRows;

constexpr int kPiece = 64;  // columns of a large head: beside a whole row of results

__host__ __device__ int row_width(int head_dim) { return piece_columns(head_dim, kWholeHead, kPiece); }
__host__ __device__ int row_stride(int head_dim) { return row_width(head_dim) + 4; }

struct TileShared {
    float *stored, *q, *turned;        // [entries, stride], [rows, row_width] each
    float* out;                        // [rows, head_dim padded]
    float* scores;                     // [rows, entries]
    float *largest, *sums, *factors;   // [rows]
    int *positions, *seen;             // [entries]; seen: by some row
    DeviceVisibility* visibility;      // [rows]
};

__device__ TileShared divide(float* memory, int head_dim) {
    const int width = row_width(head_dim);
    TileShared s;
    s.stored = memory;
    s.q = s.stored + kTileEntries * row_stride(head_dim);
    s.turned = s.q + kTileRows * width;
    s.out = s.turned + kTileRows * width;
    s.scores = s.out + kTileRows * padded_four(head_dim);
    s.largest = s.scores + kTileRows * kTileEntries;
    s.sums = s.largest + kTileRows;
    s.factors = s.sums + kTileRows;
    s.positions = reinterpret_cast<int*>(s.factors + kTileRows);
    s.seen = s.positions + kTileEntries;
    s.visibility = reinterpret_cast<DeviceVisibility*>(s.seen + kTileEntries);
    return s;
}

// Which of the entries some row sees; false when none is seen.
__device__ bool find_seen(const DeviceView& view, const TileShared& s, int first, int rows) {
    int any = 0;
    const int e = threadIdx.x;
    if (e < kTileEntries) {
        if (first + e < view.count) {
            s.positions[e] = position_of(view, first + e);
            for (int r = 0; r < rows; ++r) any |= sees(s.visibility[r], s.positions[e]) ? 1 : 0;
        }
        s.seen[e] = any;
    }
    return __syncthreads_or(any) != 0;
}

// scores[r][e], -infinity where row r does not see entry e; sums of products until the last columns are there. A thread
// takes one entry and kGroupRows rows.
__device__ void score_columns(const AttentionArgs& a, const TileShared& s, int rows, Columns columns) {
    const int e = threadIdx.x % kTileEntries, first = threadIdx.x / kTileEntries * kGroupRows;
    const int width = row_width(a.head_dim), fours = (columns.end - columns.begin) / 4;
    const bool last = columns.end == padded_four(a.head_dim);
    const float4* key = reinterpret_cast<const float4*>(s.stored + e * row_stride(a.head_dim));
    const float4* q[kGroupRows];
    bool seen[kGroupRows];
    float sums[kGroupRows] = {};
    for (int r = 0; r < kGroupRows; ++r) {
        const int row = first + r < rows ? first + r : 0;
        const DeviceVisibility visibility = s.visibility[row];
        seen[r] = first + r < rows && s.seen[e] != 0 && sees(visibility, s.positions[e]);
        const bool turned = seen[r] && visibility.sink_shift != 0 && s.positions[e] < visibility.sink_end;
        q[r] = reinterpret_cast<const float4*>((turned ? s.turned : s.q) + row * width);
    }
    for (int i = 0; i < fours; ++i) {
        const float4 k = key[i];
        for (int r = 0; r < kGroupRows; ++r) {
            const float4 x = q[r][i];
            sums[r] += x.x * k.x + x.y * k.y + x.z * k.z + x.w * k.w;
        }
    }
    for (int r = 0; r < kGroupRows; ++r) {
        float& score = s.scores[(first + r) * kTileEntries + e];
        const float sum = columns.begin > 0 ? score + sums[r] : sums[r];
        score = !last ? sum : seen[r] ? sum * a.scale : -INFINITY;
    }
}

__device__ void load_queries(const AttentionArgs& a, const RowTile& tile, int head, const TileShared& s,
                             Columns columns) {
    const int width = row_width(a.head_dim);
    for (int r = threadIdx.x / 32; r < tile.row_count; r += kAttentionThreads / 32)
        load_query(a, tile.first_row + r, head, a.visibility[tile.first_row + r].sink_shift, columns, s.q + r * width,
                   s.turned + r * width);
}

// Scores of the entries from `first` on. Whole queries stay where they are; pieces are read again.
__device__ void score(const AttentionArgs& a, const DeviceView& view, const RowTile& tile, int head, int kv_head,
                      int first, const TileShared& s) {
    const int width = row_width(a.head_dim);
    for (int column = 0; column < a.head_dim; column += width) {
        const Columns columns = columns_from(column, a.head_dim, width);
        if (width < a.head_dim) load_queries(a, tile, head, s, columns);
        load_tile(view.k, view, kv_head, first, kTileEntries, s.seen, a.head_dim, columns, row_stride(a.head_dim),
                  s.stored);
        __syncthreads();
        score_columns(a, s, tile.row_count, columns);
        __syncthreads();
    }
}

// Scores become exp(score - largest so far); what was summed before is to be multiplied by factors[row].
__device__ void advance(const TileShared& s) {
    const int row = threadIdx.x / kLanesPerRow, lane = threadIdx.x % kLanesPerRow;
    float* line = s.scores + row * kTileEntries;
    const float before = s.largest[row];
    float largest = before, sum = 0.0f;
    for (int e = lane; e < kTileEntries; e += kLanesPerRow) largest = fmaxf(largest, line[e]);
    for (int step = kLanesPerRow / 2; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, step));
    for (int e = lane; e < kTileEntries; e += kLanesPerRow) {
        const float weight = line[e] == -INFINITY ? 0.0f : expf(line[e] - largest);
        line[e] = weight;
        sum += weight;
    }
    for (int step = kLanesPerRow / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, step);
    __syncwarp();  // every lane has read what the first one now replaces
    if (lane != 0) return;
    const float factor = before == -INFINITY ? 0.0f : expf(before - largest);
    s.factors[row] = factor;
    s.sums[row] = s.sums[row] * factor + sum;
    s.largest[row] = largest;
}

// out[r] = out[r] * factor[r] + sum_e weight[r][e] value[e]. A weight of 0 is left out: the value may be one that the row
// must not see.
__device__ void mix(const AttentionArgs& a, const TileShared& s, Columns columns) {
    const int width = padded_four(a.head_dim), stride = row_stride(a.head_dim), count = columns.end - columns.begin;
    for (int item = threadIdx.x; item < count * kRowGroups; item += kAttentionThreads) {
        const int within = item % count, i = columns.begin + within, first = item / count * kGroupRows;
        float sums[kGroupRows];
        for (int r = 0; r < kGroupRows; ++r) sums[r] = s.out[(first + r) * width + i] * s.factors[first + r];
        for (int e = 0; e < kTileEntries; ++e) {
            const float value = s.stored[e * stride + within];
            for (int r = 0; r < kGroupRows; ++r) {
                const float weight = s.scores[(first + r) * kTileEntries + e];
                sums[r] = weight == 0.0f ? sums[r] : sums[r] + weight * value;
            }
        }
        for (int r = 0; r < kGroupRows; ++r) s.out[(first + r) * width + i] = sums[r];
    }
}

__device__ void begin_tile(const AttentionArgs& a, const RowTile& tile, int head, const TileShared& s) {
    const int width = padded_four(a.head_dim);
    for (int r = threadIdx.x; r < kTileRows; r += kAttentionThreads) {
        s.largest[r] = -INFINITY;
        s.sums[r] = 0.0f;
        if (r < tile.row_count) s.visibility[r] = a.visibility[tile.first_row + r];
    }
    for (int i = threadIdx.x; i < kTileRows * width; i += kAttentionThreads) s.out[i] = 0.0f;
    if (width == row_width(a.head_dim)) load_queries(a, tile, head, s, {0, width});
    __syncthreads();
}

__device__ void write_weights(const AttentionArgs& a, const DeviceView& view, const RowTile& tile, int head, int kv_head,
                              const TileShared& s) {
    for (int first = 0; first < view.count; first += kTileEntries) {
        if (!find_seen(view, s, first, tile.row_count)) continue;
        score(a, view, tile, head, kv_head, first, s);
        for (int item = threadIdx.x; item < tile.row_count * kTileEntries; item += kAttentionThreads) {
            const int r = item / kTileEntries, e = item % kTileEntries;
            if (first + e >= view.count) continue;
            const float score = s.scores[item];
            const std::int64_t line = static_cast<std::int64_t>(tile.first_row + r) * a.heads + head;
            a.weights[line * a.weights_stride + first + e] =
                score == -INFINITY ? 0.0f : expf(score - s.largest[r]) * (1.0f / s.sums[r]);
        }
        __syncthreads();
    }
}

// Grid: (heads, tiles).
__global__ void __launch_bounds__(kAttentionThreads) attend_tile(AttentionArgs a) {
    DS_DYNAMIC_SHARED(float, memory);
    const RowTile tile = a.tables.tiles[blockIdx.y];
    const DeviceView& view = a.views[tile.sequence];
    const int head = blockIdx.x, kv_head = head / (a.heads / a.kv_heads), width = padded_four(a.head_dim);
    const int piece = row_width(a.head_dim);
    const TileShared s = divide(memory, a.head_dim);
    begin_tile(a, tile, head, s);
    for (int first = 0; first < view.count; first += kTileEntries) {
        if (!find_seen(view, s, first, tile.row_count)) continue;
        score(a, view, tile, head, kv_head, first, s);
        for (int column = 0; column < a.head_dim; column += piece) {
            const Columns columns = columns_from(column, a.head_dim, piece);
            load_tile(view.v, view, kv_head, first, kTileEntries, s.seen, a.head_dim, columns, row_stride(a.head_dim),
                      s.stored);
            if (column == 0) advance(s);
            __syncthreads();
            mix(a, s, columns);
            __syncthreads();
        }
    }
    for (int item = threadIdx.x; item < tile.row_count * a.head_dim; item += kAttentionThreads) {
        const int r = item / a.head_dim, i = item % a.head_dim;
        a.out[(static_cast<std::int64_t>(tile.first_row + r) * a.heads + head) * a.head_dim + i] =
            s.sums[r] == 0.0f ? 0.0f : s.out[r * width + i] * (1.0f / s.sums[r]);
    }
    if (a.weights != nullptr) write_weights(a, view, tile, head, kv_head, s);
}

std::size_t tile_shared_bytes(int head_dim) {
    const int floats = kTileEntries * row_stride(head_dim) +
                       kTileRows * (2 * row_width(head_dim) + padded_four(head_dim) + kTileEntries + 3);
    return static_cast<std::size_t>(floats + 2 * kTileEntries) * 4 + kTileRows * sizeof(DeviceVisibility);
}

}  // namespace

void launch_attention(const AttentionArgs& args, cudaStream_t stream) {
    if (args.rows_few > 0) launch_attention_split(args, stream);
    if (args.tiles == 0) return;
    DS_LAUNCH(attend_tile, dim3(static_cast<unsigned>(args.heads), static_cast<unsigned>(args.tiles)), kAttentionThreads,
              tile_shared_bytes(args.head_dim), stream, args);
}

}  // namespace decodescope::cuda
