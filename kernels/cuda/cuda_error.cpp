#include "kernels/cuda/cuda_error.h"

#include <fmt/core.h>

namespace decodescope::cuda {
namespace {

std::string named(cudaError_t error) { return fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error)); }

}  // namespace

Status check(cudaError_t error, const std::string& what) {
    if (error == cudaSuccess) return {};
    (void)cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        return make_error(ErrorKind::Memory, fmt::format("The CUDA device has no memory left for {}.", what),
                          "Choose a smaller model, a shorter context or a smaller element type.");
    return make_error(ErrorKind::Device, fmt::format("CUDA failed at {}: {}.", what, named(error)),
                      "Start the program again, or choose the CPU.");
}

Status check(cublasStatus_t status, const std::string& what) {
    if (status == CUBLAS_STATUS_SUCCESS) return {};
    if (status == CUBLAS_STATUS_ALLOC_FAILED) return check(cudaErrorMemoryAllocation, what);
    (void)cudaGetLastError();
    return make_error(ErrorKind::Device, fmt::format("cuBLAS failed at {}: status {}.", what, static_cast<int>(status)),
                      "Start the program again, or choose the CPU.");
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string refusal_text(cudaError_t error, int driver_version, int runtime_version) {
    if (error == cudaErrorInsufficientDriver && driver_version == 0) return "No NVIDIA driver is installed.";
    if (error == cudaErrorInsufficientDriver)
        return fmt::format("The NVIDIA driver is too old: it supports CUDA {}, and {} is needed.",
                           version_text(driver_version), version_text(runtime_version));
    if (error == cudaSuccess || error == cudaErrorNoDevice) return "The NVIDIA driver sees no CUDA device.";
    return fmt::format("CUDA cannot be used: {}.", named(error));
}

std::string launch_refusal_text(cudaError_t error, int driver_version, int runtime_version) {
    if (error == cudaErrorNoKernelImageForDevice)
        return "This build has no code for the device: compute capability 7.5 or newer is needed.";
    if (error == cudaErrorUnsupportedPtxVersion)
        return fmt::format("The NVIDIA driver (CUDA {}) cannot read code made with CUDA {}: update the driver.",
                           version_text(driver_version), version_text(runtime_version));
    return fmt::format("Kernels do not run on the device: {}.", named(error));
}

}  // namespace decodescope::cuda
