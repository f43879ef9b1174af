#include "kernels/cuda/device_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "kernels/cuda/cuda_error.h"

namespace decodescope::cuda {
namespace {

constexpr std::size_t kGranularity = 512;

std::size_t rounded(std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + kGranularity - 1) / kGranularity * kGranularity;
}

Error no_memory(std::size_t bytes, MemoryPurpose purpose, std::int64_t available) {
    return make_error(ErrorKind::Memory,
                      fmt::format("{} bytes are needed for {} and {} bytes are free on the CUDA device.", bytes,
                                  kMemoryPurposeNames[static_cast<std::size_t>(purpose)],
                                  std::max<std::int64_t>(available, 0)),
                      "Choose a smaller model, a shorter context or a smaller element type.");
}

}  // namespace

struct DeviceMemory::Ledger {
    mutable std::mutex mutex;
    DeviceMemoryOptions options;
    MemoryCounts counts;
    std::multimap<std::size_t, std::byte*> freed;  // by size as allocated
    std::int64_t freed_bytes = 0, total_bytes = 0;

    ~Ledger() { give_back(); }

    void add(std::size_t bytes, MemoryPurpose purpose, std::int64_t sign) {
        const auto i = static_cast<std::size_t>(purpose);
        counts.bytes[i] += sign * static_cast<std::int64_t>(bytes);
        counts.allocations[i] += sign;
        counts.peak_bytes[i] = std::max(counts.peak_bytes[i], counts.bytes[i]);
    }

    void give_back() {
        if (freed.empty()) return;
        (void)cudaSetDevice(options.device);
        for (const auto& [bytes, data] : freed) (void)cudaFree(data);
        freed.clear();
        freed_bytes = 0;
    }

    // What may still be taken: the budget, and what other programs leave. A tenth of the device stays free.
    std::int64_t available() const {
        std::size_t free_bytes = 0, all_bytes = 0;
        const std::int64_t budget = options.limit_bytes - counts.total_bytes();
        if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess) {
            (void)cudaGetLastError();
            return budget;
        }
        return std::min(budget, static_cast<std::int64_t>(free_bytes) + freed_bytes - total_bytes / 10);
    }

    // A freed block that is not much larger than needed; null when there is none.
    std::byte* take_freed(std::size_t& bytes) {
        const auto found = freed.lower_bound(bytes);
        if (found == freed.end() || found->first > bytes + bytes / 4) return nullptr;
        std::byte* data = found->second;
        bytes = found->first;
        freed_bytes -= static_cast<std::int64_t>(bytes);
        freed.erase(found);
        return data;
    }

    Result<std::byte*> take(std::size_t& block_bytes) {
        if (std::byte* data = take_freed(block_bytes); data != nullptr) return data;
        void* data = nullptr;
        cudaError_t error = cudaMalloc(&data, block_bytes);
        if (error == cudaErrorMemoryAllocation && !freed.empty()) {
            (void)cudaGetLastError();
            give_back();
            error = cudaMalloc(&data, block_bytes);
        }
        if (Status status = check(error, fmt::format("{} bytes", block_bytes)); !status) return status.error();
        return static_cast<std::byte*>(data);
    }

    void put_back(std::byte* data, std::size_t block_bytes) {
        (void)cudaSetDevice(options.device);
        // Kept blocks of sizes that are no longer asked for must not pile up.
        if (options.keep_freed && 4 * (freed_bytes + static_cast<std::int64_t>(block_bytes)) <= total_bytes) {
            freed.emplace(block_bytes, data);
            freed_bytes += static_cast<std::int64_t>(block_bytes);
            return;
        }
        (void)cudaFree(data);
    }
};

namespace {

class DeviceBuffer final : public Buffer {
public:
    DeviceBuffer(std::shared_ptr<DeviceMemory::Ledger> ledger, MemoryPurpose purpose, std::byte* data,
                 std::size_t bytes, std::size_t block_bytes)
        : ledger_(std::move(ledger)), purpose_(purpose), block_bytes_(block_bytes) {
        data_ = data;
        bytes_ = bytes;
    }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() override {
        const std::lock_guard lock(ledger_->mutex);
        ledger_->add(bytes_, purpose_, -1);
        ledger_->put_back(data_, block_bytes_);
    }

private:
    std::shared_ptr<DeviceMemory::Ledger> ledger_;
    MemoryPurpose purpose_;
    std::size_t block_bytes_;
};

class CountedPinned final : public PinnedBuffer {
public:
    CountedPinned(std::shared_ptr<DeviceMemory::Ledger> ledger, std::byte* data, std::size_t bytes)
        : ledger_(std::move(ledger)) {
        data_ = data;
        bytes_ = bytes;
    }
    CountedPinned(const CountedPinned&) = delete;
    CountedPinned& operator=(const CountedPinned&) = delete;
    ~CountedPinned() override {
        const std::lock_guard lock(ledger_->mutex);
        ledger_->add(bytes_, MemoryPurpose::Staging, -1);
        (void)cudaSetDevice(ledger_->options.device);
        (void)cudaFreeHost(data_);
    }

private:
    std::shared_ptr<DeviceMemory::Ledger> ledger_;
};

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::make(const DeviceMemoryOptions& options) {
    std::size_t free_bytes = 0, all_bytes = 0;
    if (Status status = check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for the free memory"); !status)
        return status.error();
    auto memory = std::make_unique<DeviceMemory>();
    memory->ledger_ = std::make_shared<Ledger>();
    memory->ledger_->options = options;
    memory->ledger_->total_bytes = static_cast<std::int64_t>(all_bytes);
    if (options.limit_bytes <= 0) memory->ledger_->options.limit_bytes = static_cast<std::int64_t>(all_bytes / 10 * 9);
    return memory;
}

Result<BufferPtr> DeviceMemory::allocate(std::size_t bytes, MemoryPurpose purpose) {
    const std::lock_guard lock(ledger_->mutex);
    const std::int64_t available = ledger_->available();
    if (available < 0 || bytes > static_cast<std::size_t>(available)) return no_memory(bytes, purpose, available);
    std::size_t block_bytes = ledger_->options.keep_freed ? rounded(bytes) : std::max<std::size_t>(bytes, 1);
    auto data = ledger_->take(block_bytes);
    if (!data) return data.error().kind == ErrorKind::Memory ? no_memory(bytes, purpose, available) : data.error();
    ledger_->add(bytes, purpose, 1);
    return BufferPtr(std::make_unique<DeviceBuffer>(ledger_, purpose, *data, bytes, block_bytes));
}

Result<PinnedPtr> DeviceMemory::allocate_pinned(std::size_t bytes) {
    const std::lock_guard lock(ledger_->mutex);
    void* data = nullptr;
    if (Status status = check(cudaMallocHost(&data, std::max<std::size_t>(bytes, 1)), "pinned host memory"); !status)
        return status.error();
    ledger_->add(bytes, MemoryPurpose::Staging, 1);
    return PinnedPtr(std::make_unique<CountedPinned>(ledger_, static_cast<std::byte*>(data), bytes));
}

MemoryCounts DeviceMemory::counts() const {
    const std::lock_guard lock(ledger_->mutex);
    return ledger_->counts;
}

void DeviceMemory::reset_peaks() {
    const std::lock_guard lock(ledger_->mutex);
    ledger_->counts.peak_bytes = ledger_->counts.bytes;
}

std::int64_t DeviceMemory::limit_bytes() const { return ledger_->options.limit_bytes; }

}  // namespace decodescope::cuda
