// Puts the launches of one step into the stream, piece by piece.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <stop_token>

#include "kernels/cuda/cuda_step.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/weight_capture.h"

namespace decodescope::cuda {

class StepLauncher {
public:
    StepLauncher(CudaStep& step, const StepInputs& inputs, const StepCounts& counts, const StepTables& tables,
                 cudaStream_t stream, cublasHandle_t blas);

    // All pieces. `capture` null: no attention weights are wanted. A stop is noticed between pieces, and the stream is
    // waited for whenever it has a few milliseconds of work.
    Status launch_all(WeightCapture* capture, std::stop_token stop);

private:
    Status launch_piece(const Piece& piece, WeightCapture* capture);
    void lookup(const OpDesc& op);
    void norm(const OpDesc& op, int rows);
    Status products(const Piece& piece, int rows);
    void few_row_products(const Piece& piece, int rows);
    Status many_row_products(const Piece& piece, int rows);
    Status multiply(const OpDesc& op, const void* x, int rows);
    Status multiply_outputs(const OpDesc& op, const void* weights, const void* x, int rows, int first, int outputs);
    void finish_products(const Piece& piece, int rows);
    void pointwise(const OpDesc& op, int rows);
    void rotate_store(const Piece& piece);
    Status attention(const OpDesc& op, WeightCapture* capture);
    const float* rotations(int op) const;
    Status pace(const Piece& piece, int rows, std::stop_token& stop);

    CudaStep& step_;
    const StepInputs& inputs_;
    StepCounts counts_;
    StepTables tables_;
    cudaStream_t stream_;
    cublasHandle_t blas_;
    double queued_flops_ = 0;
};

}  // namespace decodescope::cuda
