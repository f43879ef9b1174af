// Memory of the host, counted by purpose; shared by the backends that compute on the processor.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/api/backend.h"

namespace decodescope {

struct HostMemoryOptions {
    std::int64_t limit_bytes = 0;      // in all; 0: what the machine has
    std::int64_t fail_allocation = 0;  // tests: the n-th allocation fails, counted from 1; 0: none
};

// Hands out 64-byte aligned buffers and counts them. Buffers may outlive the object and may be freed on any thread.
// An allocation over the limit, or one that the system refuses, is an Error of kind Memory that names both numbers.
class HostMemory {
public:
    explicit HostMemory(const HostMemoryOptions& options = {});

    Result<BufferPtr> allocate(std::size_t bytes, MemoryPurpose purpose);
    MemoryCounts counts() const;
    void reset_peaks();
    std::int64_t limit_bytes() const;

    struct Ledger;

private:
    std::shared_ptr<Ledger> ledger_;
};

// Bounds-checked moves between a buffer and host memory; the common part of both host backends.
Status upload_to_host(Buffer& to, std::size_t offset, std::span<const std::byte> from);
Status download_from_host(const Buffer& from, std::size_t offset, std::span<std::byte> to);
Status copy_on_host(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to,
                    std::size_t to_offset, std::size_t to_stride, std::size_t row_bytes, std::size_t rows);

// Name of this machine's processor as the system gives it; "unknown processor" where it does not.
std::string processor_name();

}  // namespace decodescope
