// Answers of CUDA and cuBLAS as errors of ours.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <string>

#include "kernels/api/status.h"

namespace decodescope::cuda {

// Nothing, or an error that says what was tried. Takes the error away from the runtime, so that it does not show up at
// the next call that asks.
Status check(cudaError_t error, const std::string& what);
Status check(cublasStatus_t status, const std::string& what);

// "13.0" for 13000.
std::string version_text(int version);

// Why no device can be used, for the answer of cudaGetDeviceCount; one sentence that names versions.
std::string refusal_text(cudaError_t error, int driver_version, int runtime_version);

// Why kernels do not run on a device that is there; one sentence.
std::string launch_refusal_text(cudaError_t error, int driver_version, int runtime_version);

}  // namespace decodescope::cuda
