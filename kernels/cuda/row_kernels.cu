// Operations on single rows: table look-ups, norms, activations, selections.
#include "kernels/cuda/device_math.h"
#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void lookup_rows(LookupArgs a) {
    const int row = blockIdx.x;
    const std::int64_t from = static_cast<std::int64_t>(a.indices[row]) * a.width;
    const auto* codes = static_cast<const unsigned char*>(a.table) + a.indices[row] * int8_matrix_row_bytes(a.width);
    const std::int64_t to = static_cast<std::int64_t>(row) * a.width;
    for (int i = threadIdx.x; i < a.width; i += blockDim.x) {
        const float kept = a.type == kTypeI8 ? int8_matrix_element(codes, a.width, i)
                                             : load_element(a.table, a.type, from + i);
        const float x = kept * a.scale;
        a.out[to + i] = a.in == nullptr ? x : a.in[to + i] + x;
    }
}

// The variance is that of the differences from the mean: squares alone would lose it where the mean is large.
__global__ void norm_rows(NormArgs a) {
    DS_SHARED(float, room, 32);
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * a.width;
    const float* x = a.in + at;
    float mean = 0.0f;
    if (a.bias != nullptr) {
        for (int i = threadIdx.x; i < a.width; i += blockDim.x) mean += x[i];
        mean = block_sum(mean, room) / static_cast<float>(a.width);
    }
    float squares = 0.0f;
    for (int i = threadIdx.x; i < a.width; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
    squares = block_sum(squares, room);
    const float factor = 1.0f / sqrtf(squares / static_cast<float>(a.width) + a.epsilon);
    for (int i = threadIdx.x; i < a.width; i += blockDim.x) {
        const float scaled = (x[i] - mean) * factor * a.weight[i];
        a.out[at + i] = a.bias == nullptr ? scaled : scaled + a.bias[i];
    }
}

__global__ void pointwise(PointwiseArgs a) {
    const std::int64_t count = static_cast<std::int64_t>(a.rows) * a.width;
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
         i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
        const int column = static_cast<int>(i % a.width);
        float x = a.a[i];
        if (a.bias_a != nullptr) a.a[i] = x += a.bias_a[column];
        if (a.function == Epilogue::None) continue;
        if (a.function == Epilogue::Gelu) {
            a.out[i] = gelu(x);
            continue;
        }
        if (a.function == Epilogue::GeluErf) {
            a.out[i] = gelu_erf(x);
            continue;
        }
        float y = a.b[i];
        if (a.bias_b != nullptr) a.b[i] = y += a.bias_b[column];
        if (a.function == Epilogue::GeGlu) a.out[i] = gelu(x) * y;
        else a.out[i] = a.function == Epilogue::SwiGlu ? x * sigmoid(x) * y : x + y;
    }
}

__global__ void round_elements(const float* x, unsigned short* out, int type, std::int64_t count) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = type == kTypeF16 ? float_to_half_bits(x[i]) : float_to_bfloat_bits(x[i]);
}

__global__ void select_rows(const float* in, const std::int32_t* rows_wanted, float* out, int width) {
    const std::int64_t from = static_cast<std::int64_t>(rows_wanted[blockIdx.x]) * width;
    const std::int64_t to = static_cast<std::int64_t>(blockIdx.x) * width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) out[to + i] = in[from + i];
}

__global__ void sum_heads(SumHeadsArgs a) {
    const int entry = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (entry >= a.entries) return;
    const float* line = a.weights + static_cast<std::int64_t>(a.first_row + row) * a.heads * a.weights_stride + entry;
    float sum = 0.0f;
    for (int head = 0; head < a.heads; ++head) sum += line[head * a.weights_stride];
    a.sums[static_cast<std::int64_t>(row) * a.entries + entry] = sum;
}

__global__ void write_value(std::int32_t* out, std::int32_t value) {
    if (threadIdx.x == 0) *out = value;
}

unsigned blocks_for(std::int64_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

}  // namespace

void launch_lookup(const LookupArgs& args, cudaStream_t stream) {
    DS_LAUNCH(lookup_rows, static_cast<unsigned>(args.rows), 128, 0, stream, args);
}

void launch_norm(const NormArgs& args, cudaStream_t stream) {
    DS_LAUNCH(norm_rows, static_cast<unsigned>(args.rows), kThreads, 0, stream, args);
}

void launch_pointwise(const PointwiseArgs& args, cudaStream_t stream) {
    const unsigned most = 4096;  // threads take several elements of long steps
    const unsigned blocks = blocks_for(static_cast<std::int64_t>(args.rows) * args.width);
    DS_LAUNCH(pointwise, blocks < most ? blocks : most, kThreads, 0, stream, args);
}

void launch_round(const float* x, void* out, int type, std::int64_t count, cudaStream_t stream) {
    DS_LAUNCH(round_elements, blocks_for(count), kThreads, 0, stream, x, static_cast<unsigned short*>(out), type, count);
}

void launch_select(const float* in, const std::int32_t* rows_wanted, float* out, int rows, int width,
                   cudaStream_t stream) {
    DS_LAUNCH(select_rows, static_cast<unsigned>(rows), 128, 0, stream, in, rows_wanted, out, width);
}

void launch_sum_heads(const SumHeadsArgs& args, cudaStream_t stream) {
    DS_LAUNCH(sum_heads, dim3(blocks_for(args.entries), static_cast<unsigned>(args.rows)), kThreads, 0, stream, args);
}

void launch_self_test(std::int32_t* out, std::int32_t value, cudaStream_t stream) {
    DS_LAUNCH(write_value, 1, 32, 0, stream, out, value);
}

}  // namespace decodescope::cuda
