// The part of cuBLAS that the backend uses, as plain loops with double accumulation, in the order of the stream. Every
// matrix is checked against the allocation that it lies in.
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <bit>
#include <cstring>
#include <vector>

#include "kernels/cuda/emulated/runtime.h"

struct cublasContext {
    cudaStream_t stream = nullptr;
};

namespace {

using decodescope::emulated::add_violation;
using decodescope::emulated::enter_call;
using decodescope::emulated::on_device;

std::size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

float element(const void* data, cudaDataType_t type, std::size_t index) {
    if (type == CUDA_R_32F) return static_cast<const float*>(data)[index];
    if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(data)[index]);
    std::uint16_t bits;
    std::memcpy(&bits, static_cast<const std::byte*>(data) + 2 * index, 2);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

bool fits(const void* data, cudaDataType_t type, int rows, int columns, int leading, const char* what) {
    if (leading < rows) {
        add_violation(std::string(what) + " of a product has a leading dimension below its rows");
        return false;
    }
    const std::size_t elements = static_cast<std::size_t>(columns - 1) * static_cast<std::size_t>(leading) +
                                 static_cast<std::size_t>(rows);
    return on_device(data, elements * bytes_of(type), what);
}

// c = alpha * a^T b + beta * c, column by column; a: [k, m], b: [k, n]. Four sums at a time, so that the tests are fast.
void multiply(int m, int n, int k, float alpha, const std::vector<float>& a, const std::vector<float>& b, float beta,
              float* c, int leading) {
    const auto depth = static_cast<std::size_t>(k);
    for (int column = 0; column < n; ++column)
        for (int row = 0; row < m; ++row) {
            const float* x = a.data() + static_cast<std::size_t>(row) * depth;
            const float* y = b.data() + static_cast<std::size_t>(column) * depth;
            double sums[4] = {};
            std::size_t i = 0;
            for (; i + 4 <= depth; i += 4)
                for (std::size_t j = 0; j < 4; ++j) sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(y[i + j]);
            for (; i < depth; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
            float& out = c[static_cast<std::size_t>(column) * static_cast<std::size_t>(leading) +
                           static_cast<std::size_t>(row)];
            const float sum = static_cast<float>(sums[0] + sums[1] + sums[2] + sums[3]);
            out = alpha * sum + (beta == 0.0f ? 0.0f : beta * out);  // beta 0: `out` may be anything
        }
}

std::vector<float> columns_of(const void* data, cudaDataType_t type, int rows, int columns, int leading) {
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (int c = 0; c < columns; ++c)
        for (int r = 0; r < rows; ++r)
            out.push_back(element(data, type,
                                  static_cast<std::size_t>(c) * static_cast<std::size_t>(leading) +
                                      static_cast<std::size_t>(r)));
    return out;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    *handle = nullptr;
    if (const cudaError_t error = enter_call("cublasCreate", true); error != cudaSuccess)
        return error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasContext;
    decodescope::emulated::track(*handle, "cuBLAS handle", true);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    decodescope::emulated::track(handle, "cuBLAS handle", false);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void* data, size_t bytes) {
    return on_device(data, bytes, "the workspace of cuBLAS") ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
    if ((mode & CUBLAS_TF32_TENSOR_OP_MATH) == CUBLAS_TF32_TENSOR_OP_MATH) add_violation("f32 products in TF32");
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType_t a_type, int a_leading, const void* b,
                            cudaDataType_t b_type, int b_leading, const void* beta, void* c, cudaDataType_t c_type,
                            int c_leading, cublasComputeType_t compute, cublasGemmAlgo_t) {
    if (enter_call("cublasGemmEx") != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    const bool known = a_op == CUBLAS_OP_T && b_op == CUBLAS_OP_N && a_type == b_type && c_type == CUDA_R_32F &&
                       (a_type == CUDA_R_32F || a_type == CUDA_R_16F || a_type == CUDA_R_16BF) &&
                       compute == CUBLAS_COMPUTE_32F;
    if (!known || m < 1 || n < 1 || k < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!fits(a, a_type, k, m, a_leading, "the first matrix") || !fits(b, b_type, k, n, b_leading, "the second matrix") ||
        !fits(c, c_type, m, n, c_leading, "the result"))
        return CUBLAS_STATUS_INVALID_VALUE;
    const float factor = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
    decodescope::emulated::enqueue(handle->stream, [=] {
        multiply(m, n, k, factor, columns_of(a, a_type, k, m, a_leading), columns_of(b, b_type, k, n, b_leading), kept,
                 static_cast<float*>(c), c_leading);
        return std::string();
    });
    return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
