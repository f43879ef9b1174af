// The functions of one instruction set. Chosen once when a backend starts; tests run every one that the machine has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/api/element_type.h"
#include "kernels/cpu/panel_layout.h"

namespace decodescope {

// K or V of one head as a list of rows: row e is at base + e * stride, or at base + offsets[e] when offsets is given.
// All in bytes. Both ways of finding a row lead to the same arithmetic, so storage layout never changes a result.
struct KvRows {
    const std::byte* base = nullptr;
    std::int64_t stride = 0;
    const std::int64_t* offsets = nullptr;
};

// Largest score and sum of exp(score - largest); the weights written are exp(score - largest).
struct SoftmaxPart {
    float largest = 0.0f;
    float sum = 0.0f;
};

// out[r, o] = x[r] . weight[o] (+ bias[o]) for `rows` rows and the outputs of some panels.
struct PanelProduct {
    const float* x = nullptr;
    std::int64_t x_stride = 0, rows = 0;
    const std::byte* weight = nullptr;  // the first panel
    std::int64_t columns = 0;           // of the matrix
    std::int64_t first = 0, last = 0;   // columns summed, from the start of a piece; those before are in out already
    std::int64_t outputs = 0;           // from the first of that panel on; the last panel may be partly used
    const float* bias = nullptr;        // [outputs], added after the last column
    float* out = nullptr;
    std::int64_t out_stride = 0;
};

constexpr std::int64_t kManyRows = 192;
constexpr std::int64_t kManyRowsStride = kPieceColumns + 16;  // of copied inputs: rows apart by no power of two
constexpr std::int64_t kManyRowsScratch = kManyRows * kManyRowsStride + 4 * kPieceColumns * kPanelOutputs;

struct CpuKernelTable {
    std::string name;         // "AVX2"
    std::int64_t target = 0;  // bit of the SIMD library

    // Indexed by element type f32, f16, bf16.
    template <class Function>
    using ByType = std::array<Function, 3>;
    // Indexed by element type of a cache (int8: rows with their scale, see kernels/api/int8_row.h) or of weights: f32,
    // f16, bf16, int8.
    template <class Function>
    using ByAnyType = std::array<Function, kElementTypeCount>;

    // Products with weights in panels. few_rows: weights become f32 in registers, once per tile of rows; all columns.
    // many_rows: once for all rows, of which there are at most kManyRows; one piece of columns at a time; scratch:
    // [kManyRowsScratch]. Both give the same bits, see panel_layout.h; up to few_row_limit rows the first is faster.
    ByAnyType<void (*)(const PanelProduct&)> few_rows{};
    ByAnyType<void (*)(const PanelProduct&, float* scratch)> many_rows{};
    std::int64_t few_row_limit = 0;

    // out[r, o] (+)= x[r] . w[o] over `length` inputs, many rows, w in f32, row-major. `add`: onto what is in out.
    void (*product)(const float* x, std::int64_t x_stride, std::int64_t rows, const float* w, std::int64_t w_stride,
                    std::int64_t outputs, std::int64_t length, bool add, float* out, std::int64_t out_stride) = nullptr;

    // out[r] += sum_e weights[r, e] * values[e] for many rows. values: [count, head_dim] in f32, out: [rows, head_dim].
    void (*mix_rows)(const float* weights, std::int64_t weights_stride, std::int64_t rows, const float* values,
                     std::int64_t count, std::int64_t head_dim, float* out) = nullptr;

    // out[e] = scale * (q . key e) for count keys of length head_dim.
    using Scores = void (*)(const float* q, std::int64_t head_dim, const KvRows& keys, std::int64_t count, float scale,
                            float* out);
    ByAnyType<Scores> scores{};
    // The same for int8 keys of one group. channels: scales [head_dim], centres [head_dim]; scaled: [head_dim], room.
    void (*group_scores)(const float* q, std::int64_t head_dim, const float* channels, const KvRows& keys,
                         std::int64_t count, float scale, float* scaled, float* out) = nullptr;

    // out[i] = sum_e weights[e] * value e [i].
    using Mix = void (*)(const float* weights, const KvRows& values, std::int64_t count, std::int64_t head_dim,
                         float* out);
    ByAnyType<Mix> mix{};

    // In place. A NaN among the scores makes largest and sum NaN; -infinity gives weight 0.
    SoftmaxPart (*softmax_part)(float* scores, std::int64_t count) = nullptr;

    // Contiguous conversions, round to nearest even.
    using ToF32 = void (*)(const std::byte* from, float* to, std::int64_t count);
    using FromF32 = void (*)(const float* from, std::byte* to, std::int64_t count);
    ByType<ToF32> to_f32{};
    ByType<FromF32> from_f32{};
    // Rows of a cache, the same bytes as kernels/api/int8_row.h gives.
    ByAnyType<ToF32> row_to_f32{};
    ByAnyType<FromF32> row_from_f32{};
    void (*group_row_to_f32)(const std::byte* codes, const float* channels, float* to, std::int64_t head_dim) = nullptr;

    void (*rms_norm)(const float* x, const float* weight, float epsilon, float* out, std::int64_t count) = nullptr;
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon, float* out,
                       std::int64_t count) = nullptr;
    // One head: pairs (i, i + half). cosines, sines: [half]. x and out may be the same.
    void (*rope)(const float* x, const float* cosines, const float* sines, float* out, std::int64_t half) = nullptr;
    void (*swiglu)(const float* gate, const float* up, float* out, std::int64_t count) = nullptr;
    void (*gelu_tanh)(const float* x, float* out, std::int64_t count) = nullptr;
    void (*gelu_erf)(const float* x, float* out, std::int64_t count) = nullptr;
    void (*geglu)(const float* gate, const float* up, float* out, std::int64_t count) = nullptr;
    void (*add)(const float* a, const float* b, float* out, std::int64_t count) = nullptr;          // out = a + b
    void (*scale)(float* x, float factor, std::int64_t count) = nullptr;                            // x *= factor
    void (*add_scaled)(const float* x, float factor, float* out, std::int64_t count) = nullptr;     // out += factor * x

    // Machine rates: the sum of a buffer read in four streams; `rounds` of independent multiply-adds, giving their
    // FLOPs.
    float (*read_sum)(const float* data, std::int64_t count) = nullptr;
    double (*multiply_add_rounds)(std::int64_t rounds, float* sink) = nullptr;
};

// The tables of the instruction sets that were compiled and that this machine has, best first. Never empty.
const std::vector<CpuKernelTable>& cpu_kernel_tables();

// Parts of a table, one per source file below simd/; false when the target was not compiled.
bool fill_convert_kernels(std::int64_t target, CpuKernelTable& table);
bool fill_product_kernels(std::int64_t target, CpuKernelTable& table);
bool fill_attention_kernels(std::int64_t target, CpuKernelTable& table);
bool fill_row_kernels(std::int64_t target, CpuKernelTable& table);
bool fill_int8_kernels(std::int64_t target, CpuKernelTable& table);  // after the conversions of the others
bool fill_panel_kernels(std::int64_t target, CpuKernelTable& table);

}  // namespace decodescope
