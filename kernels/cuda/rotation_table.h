// Cosines and sines of the rotary embedding in device memory, computed in double on the host once per position.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/device_memory.h"

namespace decodescope::cuda {

class RotationTable {
public:
    explicit RotationTable(const RopeDesc& rope) : rope_(rope) {}

    bool serves(const RopeDesc& rope) const { return rope == rope_; }
    // Makes positions 0 .. positions - 1 available; grows to the next power of two.
    Status ensure(std::int64_t positions, DeviceMemory& memory, cudaStream_t stream);
    const float* data() const { return buffer_ ? reinterpret_cast<const float*>(buffer_->data()) : nullptr; }
    std::int64_t bytes() const { return buffer_ ? static_cast<std::int64_t>(buffer_->bytes()) : 0; }

private:
    RopeDesc rope_;
    BufferPtr buffer_;  // [positions, 2, rotary_dim / 2]
    std::int64_t positions_ = 0;
};

}  // namespace decodescope::cuda
