// The backend on an NVIDIA device: cuBLAS for products of many rows, our kernels for the rest.
//
// A decode step without captured attention is one CUDA graph: what changes from step to step lies in tables in device
// memory. Every call ends with the device idle, except copies, which later work waits for in the stream.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/api/backend.h"

namespace decodescope::cuda {

struct CudaBackendOptions {
    int device = 0;
    std::int64_t memory_limit_bytes = 0;  // in all; 0: nine tenths of the device's memory
    bool keep_freed = true;               // see DeviceMemoryOptions
    bool graphs = true;                   // false: decode steps are launched piece by piece
    std::size_t widened_bytes = std::size_t{16} << 20;  // int8 weights in f16 at a time, for products of many rows
    std::string id = "cuda";
};

// Error of kind Device with one sentence when the device cannot be used, kernels that do not launch included.
Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaBackendOptions& options = {});

}  // namespace decodescope::cuda
