// Memory of one CUDA device and pinned host memory beside it, counted by purpose. Freed blocks are kept and handed out
// again, because asking the driver stops the device; what is asked for is checked against a budget first.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/api/backend.h"

namespace decodescope::cuda {

struct DeviceMemoryOptions {
    int device = 0;
    std::int64_t limit_bytes = 0;  // in all; 0: nine tenths of the device's memory
    bool keep_freed = true;        // false: every buffer is an allocation of its own, for the emulation
};

// Host memory that the device copies from and to by itself. Counted as staging.
class PinnedBuffer {
public:
    virtual ~PinnedBuffer() = default;
    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }

protected:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};
using PinnedPtr = std::unique_ptr<PinnedBuffer>;

// Buffers may outlive the object. A freed block must not be in use by work in a stream other than the backend's.
class DeviceMemory {
public:
    static Result<std::unique_ptr<DeviceMemory>> make(const DeviceMemoryOptions& options);

    // Memory error with needed and free bytes when it does not fit.
    Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose);
    Result<PinnedPtr> allocate_pinned(std::size_t bytes);
    MemoryCounts counts() const;
    void reset_peaks();
    std::int64_t limit_bytes() const;

    struct Ledger;

private:
    std::shared_ptr<Ledger> ledger_;
};

}  // namespace decodescope::cuda
