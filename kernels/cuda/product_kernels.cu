// Products of a few rows: bound by reading the weights, so each weight is read once for up to kRowsAtOnce rows. A warp
// computes one output (for gate and up, the pair of them); lanes go along the columns. The order of the sum depends on
// the columns alone: a row has the same bits alone and beside others.
#include "kernels/cuda/device_math.h"
#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kRowsAtOnce = 4;

// Of a row of weights: eight from column i on, as floats; one; how it must be aligned for eight at a time.
struct LoadF32 {
    static constexpr unsigned kAligned = 16;
    static __device__ std::int64_t row_bytes(int columns) { return columns * std::int64_t{4}; }
    static __device__ void eight(const unsigned char* weights, int, int i, float* out) {
        const float4* x = reinterpret_cast<const float4*>(reinterpret_cast<const float*>(weights) + i);
        const float4 a = x[0], b = x[1];
        out[0] = a.x, out[1] = a.y, out[2] = a.z, out[3] = a.w;
        out[4] = b.x, out[5] = b.y, out[6] = b.z, out[7] = b.w;
    }
    static __device__ float one(const unsigned char* weights, int, int i) {
        return reinterpret_cast<const float*>(weights)[i];
    }
};

template <bool bfloat>
struct LoadHalf {
    static constexpr unsigned kAligned = 16;
    static __device__ std::int64_t row_bytes(int columns) { return columns * std::int64_t{2}; }
    static __device__ float convert(unsigned bits) {
        return bfloat ? bfloat_bits_to_float(bits) : half_bits_to_float(bits);
    }
    static __device__ void eight(const unsigned char* weights, int, int i, float* out) {
        const uint4 bits = *reinterpret_cast<const uint4*>(reinterpret_cast<const unsigned short*>(weights) + i);
        const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
        for (int j = 0; j < 4; ++j) {
            out[2 * j] = convert(words[j] & 0xFFFFu);
            out[2 * j + 1] = convert(words[j] >> 16);
        }
    }
    static __device__ float one(const unsigned char* weights, int, int i) {
        return convert(reinterpret_cast<const unsigned short*>(weights)[i]);
    }
};

struct LoadInt8 {
    static constexpr unsigned kAligned = 8;
    static __device__ std::int64_t row_bytes(int columns) { return int8_matrix_row_bytes(columns); }
    static __device__ void eight(const unsigned char* weights, int columns, int i, float* out) {
        const uint2 codes = *reinterpret_cast<const uint2*>(weights + i);
        const unsigned words[2] = {codes.x, codes.y};
        const float scale = int8_block_scale(weights, columns, i);
        for (int j = 0; j < 8; ++j)
            out[j] = scale * static_cast<float>(static_cast<signed char>(words[j / 4] >> 8 * (j % 4) & 0xFFu));
    }
    static __device__ float one(const unsigned char* weights, int columns, int i) {
        return int8_matrix_element(weights, columns, i);
    }
};

// sums[r] = x[r] . weights, over the lanes of a warp. `wide`: rows of x and weights may be read in vectors.
template <class Load, int rows>
__device__ void dot_rows(const unsigned char* weights, const float* x, int columns, bool wide, float* sums) {
    const int lane = threadIdx.x % 32;
    for (int r = 0; r < rows; ++r) sums[r] = 0.0f;
    const int whole = wide ? columns / 256 * 256 : 0;
    for (int i = 8 * lane; i < whole; i += 256) {
        float w[8];
        Load::eight(weights, columns, i, w);
        for (int r = 0; r < rows; ++r) {
            const float4* line = reinterpret_cast<const float4*>(x + static_cast<std::int64_t>(r) * columns + i);
            const float4 a = line[0], b = line[1];
            sums[r] += a.x * w[0] + a.y * w[1] + a.z * w[2] + a.w * w[3];
            sums[r] += b.x * w[4] + b.y * w[5] + b.z * w[6] + b.w * w[7];
        }
    }
    for (int i = whole + lane; i < columns; i += 32) {
        const float w = Load::one(weights, columns, i);
        for (int r = 0; r < rows; ++r) sums[r] += x[static_cast<std::int64_t>(r) * columns + i] * w;
    }
    for (int r = 0; r < rows; ++r) sums[r] = warp_sum(sums[r]);
}

template <class Load, int rows>
__device__ void one_output(const ProductsArgs& a, const Product& product, int output, int row, float* out) {
    const auto* weights = static_cast<const unsigned char*>(product.weight) + output * Load::row_bytes(a.columns);
    const float* x = a.x + static_cast<std::int64_t>(row) * a.columns;
    const bool wide = a.columns % 8 == 0 && aligned(weights, Load::kAligned) && aligned(x, 16);
    dot_rows<Load, rows>(weights, x, a.columns, wide, out);
    const float bias = product.bias == nullptr ? 0.0f : product.bias[output];
    for (int r = 0; r < rows; ++r) {
        out[r] += bias;
        if (threadIdx.x % 32 == 0) product.out[static_cast<std::int64_t>(row + r) * product.width + output] = out[r];
    }
}

template <class Load, int rows>
__device__ void outputs_of_rows(const ProductsArgs& a, int output, int row) {
    float first[rows], second[rows];
    if (a.epilogue == Epilogue::SwiGlu) {
        one_output<Load, rows>(a, a.products[0], output, row, first);
        one_output<Load, rows>(a, a.products[1], output, row, second);
    } else {
        int p = 0;
        while (output >= a.products[p].width) output -= a.products[p++].width;
        one_output<Load, rows>(a, a.products[p], output, row, first);
    }
    if (a.epilogue == Epilogue::None || threadIdx.x % 32 != 0) return;
    for (int r = 0; r < rows; ++r) {
        const std::int64_t at = static_cast<std::int64_t>(row + r) * a.products[0].width + output;
        float x = first[r];
        if (a.epilogue == Epilogue::Gelu) x = gelu(x);
        else if (a.epilogue == Epilogue::Residual) x += a.other[at];
        else {
            const float gate = a.swapped ? second[r] : x, up = a.swapped ? x : second[r];
            x = gate * sigmoid(gate) * up;
        }
        a.result[at] = x;
    }
}

// Grid: (outputs / warps, groups of rows).
template <class Load>
__global__ void __launch_bounds__(kThreads, 6) few_row_products(ProductsArgs a, int outputs) {
    const int output = blockIdx.x * kWarps + threadIdx.x / 32;
    if (output >= outputs) return;  // a whole warp, and no barrier follows
    const int row = blockIdx.y * kRowsAtOnce, rows = min(kRowsAtOnce, a.rows - row);
    if (rows == kRowsAtOnce) return outputs_of_rows<Load, kRowsAtOnce>(a, output, row);
    for (int r = row; r < row + rows; ++r) outputs_of_rows<Load, 1>(a, output, r);
}

// out[r, c] = weight rounded to f16; a block takes rows in turns.
__global__ void widen_rows(const unsigned char* weights, int rows, int columns, unsigned short* out) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const unsigned char* line = weights + row * int8_matrix_row_bytes(columns);
        for (int i = threadIdx.x; i < columns; i += kThreads)
            out[static_cast<std::int64_t>(row) * columns + i] =
                float_to_half_bits(int8_matrix_element(line, columns, i));
    }
}

}  // namespace

void launch_widen(const void* weights, int rows, int columns, void* out, cudaStream_t stream) {
    constexpr int kMostBlocks = 4096;
    DS_LAUNCH(widen_rows, static_cast<unsigned>(rows < kMostBlocks ? rows : kMostBlocks), kThreads, 0, stream,
              static_cast<const unsigned char*>(weights), rows, columns, static_cast<unsigned short*>(out));
}

void launch_products(const ProductsArgs& args, cudaStream_t stream) {
    int outputs = 0;
    for (int p = 0; p < args.count; ++p) outputs += args.products[p].width;
    if (args.epilogue == Epilogue::SwiGlu) outputs = args.products[0].width;
    const dim3 grid(static_cast<unsigned>((outputs + kWarps - 1) / kWarps),
                    static_cast<unsigned>((args.rows + kRowsAtOnce - 1) / kRowsAtOnce));
    if (args.type == kTypeF32) DS_LAUNCH(few_row_products<LoadF32>, grid, kThreads, 0, stream, args, outputs);
    else if (args.type == kTypeF16) DS_LAUNCH(few_row_products<LoadHalf<false>>, grid, kThreads, 0, stream, args, outputs);
    else if (args.type == kTypeBf16) DS_LAUNCH(few_row_products<LoadHalf<true>>, grid, kThreads, 0, stream, args, outputs);
    else DS_LAUNCH(few_row_products<LoadInt8>, grid, kThreads, 0, stream, args, outputs);
}

}  // namespace decodescope::cuda
