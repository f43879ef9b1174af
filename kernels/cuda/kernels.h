// The launchers: what the host code knows of the kernels. Shapes are row-major; all activations are f32. Each call puts
// work into the stream and returns at once; whether the launch was accepted is asked of the runtime afterwards.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/device_view.h"

namespace decodescope::cuda {

constexpr int kFewRows = 8;            // products of up to so many rows are ours, others go to cuBLAS
constexpr int kMostProducts = 3;       // products of one input in one launch
constexpr int kLargestHead = 256;      // elements: what fits into the shared memory that every device has
constexpr int kSplitRows = 4;          // sequences of up to so many rows have their attention split over the length
constexpr int kSplitEntries = 64;      // entries that one block of the split reads
constexpr int kTileRows = 16;          // rows of a tile in the attention of long steps
constexpr int kHeadsPerBlock = 8;      // query heads of one key-value head that a block computes together

// out[r] = table[indices[r]] * scale, plus in[r] where `in` is not null. table: [*, width] of an ElementType
struct LookupArgs {
    const void* table;
    int type;
    const std::int32_t* indices;
    const float* in;
    float* out;
    int rows, width;
    float scale;
};
void launch_lookup(const LookupArgs& args, cudaStream_t stream);

// bias null: RMS norm; else layer norm.
struct NormArgs {
    const float *in, *weight, *bias;
    float* out;
    float epsilon;
    int rows, width;
};
void launch_norm(const NormArgs& args, cudaStream_t stream);

// What follows a product on its outputs; the last two only as work of their own.
enum class Epilogue : int { None, Gelu, SwiGlu, Residual, GeluErf, GeGlu };

// One product: out[r, o] = sum_i x[r, i] weight[o, i] (+ bias[o])
struct Product {
    const void* weight;  // [width, columns]
    const float* bias;   // [width] or null
    float* out;          // [rows, width]
    int width;
};

// Products of the same input. SwiGlu takes the first two, of one width; the others the first.
struct ProductsArgs {
    Product products[kMostProducts];
    int count;
    int type;  // ElementType of all weights
    const float* x;
    int rows, columns;
    Epilogue epilogue;
    const float* other;  // Residual: what is added, [rows, width]
    float* result;       // of the epilogue, [rows, width]
    bool swapped;        // SwiGlu: the second product is the gate
};
void launch_products(const ProductsArgs& args, cudaStream_t stream);

// Rows of an int8 matrix as f16: out [rows, columns]. For cuBLAS, which has no products with scales per block.
void launch_widen(const void* weights, int rows, int columns, void* out, cudaStream_t stream);

// out = f(a) or f(a, b), [rows, width]; bias_a and bias_b, [width], are added to a and b before and kept there.
struct PointwiseArgs {
    Epilogue function;
    float *a, *b;
    const float *bias_a, *bias_b;
    float* out;
    int rows, width;
};
void launch_pointwise(const PointwiseArgs& args, cudaStream_t stream);

// out = x rounded to f16 or bf16, `count` elements.
void launch_round(const float* x, void* out, int type, std::int64_t count, cudaStream_t stream);

// out[r] = in[rows_wanted[r]]
void launch_select(const float* in, const std::int32_t* rows_wanted, float* out, int rows, int width,
                   cudaStream_t stream);

// Rotates queries and keys and stores keys and values: any of the three may be absent.
struct RotateStoreArgs {
    StepTables tables;
    const DeviceView* views;       // of the layer, [sequences]; null: nothing is stored
    const float *q_in, *k_in, *v_in;
    float *q_out, *k_out;          // null: not rotated
    const float* rotations;        // [positions, 2, rotary / 2]: cosines, sines; null: nothing is rotated
    int rotary;
    int q_heads, kv_heads, head_dim, rows;
};
void launch_rotate_store(const RotateStoreArgs& args, cudaStream_t stream);

struct AttentionArgs {
    StepTables tables;
    const DeviceView* views;              // of the layer, [sequences]
    const DeviceVisibility* visibility;   // of the layer, [rows]
    const float* q;                       // [rows, heads, head_dim]
    float* out;                           // [rows, heads, head_dim]
    float* partials;                      // [few rows, heads, splits, head_dim + 2]
    float* weights;                       // [rows, heads, weights_stride] or null; zeroed
    const float* rotations;               // of sink_shift; null: no query is turned back
    std::int64_t weights_stride;
    float scale;
    int rotary;
    int heads, kv_heads, head_dim;
    int rows_few, tiles;                  // how many rows and tiles there are
    int splits;                           // blocks over the length of the longest sequence: a power of two
};
void launch_attention(const AttentionArgs& args, cudaStream_t stream);

// sums[r, e] = sum_h weights[first_row + r, h, e], e < view's count
struct SumHeadsArgs {
    const float* weights;
    std::int64_t weights_stride;
    float* sums;  // [rows, entries]
    int first_row, rows, heads, entries;
};
void launch_sum_heads(const SumHeadsArgs& args, cudaStream_t stream);

// Writes what it is told: whether this device runs our kernels at all.
void launch_self_test(std::int32_t* out, std::int32_t value, cudaStream_t stream);

}  // namespace decodescope::cuda
