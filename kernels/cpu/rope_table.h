// Cosines and sines of the rotary embedding, computed in double once per position and kept as f32.
#pragma once

#include <cstdint>

#include "kernels/api/backend.h"
#include "kernels/reference/host_memory.h"

namespace decodescope {

class RopeTable {
public:
    RopeTable(const RopeDesc& rope, HostMemory& memory) : rope_(rope), memory_(&memory) {}

    bool serves(const RopeDesc& rope) const { return rope == rope_; }
    // Makes positions 0 .. positions - 1 available; grows to the next power of two.
    Status ensure(std::int64_t positions);

    // A head turned back by `positions`: what rotating it at a position that much smaller would have given.
    void turn_back(const float* x, std::int32_t positions, std::int64_t head_dim, float* out) const;

    const float* cosines(std::int64_t position) const { return row(position); }           // [rotary_dim / 2]
    const float* sines(std::int64_t position) const { return row(position) + half(); }
    std::int64_t half() const { return rope_.rotary_dim / 2; }
    std::int64_t bytes() const { return buffer_ ? static_cast<std::int64_t>(buffer_->bytes()) : 0; }

private:
    const float* row(std::int64_t position) const {
        return reinterpret_cast<const float*>(buffer_->data()) + position * 2 * half();
    }

    RopeDesc rope_;
    HostMemory* memory_;
    BufferPtr buffer_;
    std::int64_t positions_ = 0;
};

}  // namespace decodescope
