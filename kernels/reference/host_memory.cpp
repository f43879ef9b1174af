#include "kernels/reference/host_memory.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <string>

namespace decodescope {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMapFrom = std::size_t{4} << 20;        // blocks from here on are mapped on their own
constexpr std::size_t kAskSystemFrom = std::size_t{16} << 20;  // and from here on the system is asked first

#ifdef DECODESCOPE_DEBUG
constexpr bool kPoison = true;
#else
constexpr bool kPoison = false;
#endif

std::int64_t physical_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page <= 0) return std::int64_t{1} << 62;
    return static_cast<std::int64_t>(pages) * page;
}

// Bytes that programs may still take without swapping; -1 where the system does not say.
std::int64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind("MemAvailable:", 0) != 0) continue;
        const std::size_t first = line.find_first_of("0123456789");
        if (first == std::string::npos) return -1;
        std::int64_t kib = -1;
        std::from_chars(line.data() + first, line.data() + line.size(), kib);
        return kib < 0 ? -1 : kib * 1024;
    }
    return -1;
}

}  // namespace

struct HostMemory::Ledger {
    mutable std::mutex mutex;
    HostMemoryOptions options;
    MemoryCounts counts;
    std::int64_t requests = 0;

    void add(std::size_t bytes, MemoryPurpose purpose) {
        const auto i = static_cast<std::size_t>(purpose);
        counts.bytes[i] += static_cast<std::int64_t>(bytes);
        counts.allocations[i] += 1;
        counts.peak_bytes[i] = std::max(counts.peak_bytes[i], counts.bytes[i]);
    }
    void remove(std::size_t bytes, MemoryPurpose purpose) {
        const std::lock_guard lock(mutex);
        const auto i = static_cast<std::size_t>(purpose);
        counts.bytes[i] -= static_cast<std::int64_t>(bytes);
        counts.allocations[i] -= 1;
    }
};

namespace {

class HostBuffer final : public Buffer {
public:
    HostBuffer(std::shared_ptr<HostMemory::Ledger> ledger, MemoryPurpose purpose)
        : ledger_(std::move(ledger)), purpose_(purpose) {}
    HostBuffer(const HostBuffer&) = delete;
    HostBuffer& operator=(const HostBuffer&) = delete;

    ~HostBuffer() override {
        if (data_ == nullptr) return;
        if (kPoison) std::memset(data_, 0xFF, bytes_);
        if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
        else std::free(data_);
        ledger_->remove(bytes_, purpose_);
    }

    // False when the system has no memory for it.
    bool take(std::size_t bytes) {
        std::byte* data = bytes >= kMapFrom ? map(bytes) : take_small(bytes);
        if (data == nullptr) return false;
        data_ = data;
        bytes_ = bytes;
        if (kPoison && purpose_ != MemoryPurpose::Weights) std::memset(data_, 0xFF, bytes_);
        return true;
    }

private:
    static std::byte* take_small(std::size_t bytes) {
        const std::size_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
        return static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
    }

    // Large blocks start on a 2 MiB boundary and ask for pages of that size: fewer address misses while streaming.
    std::byte* map(std::size_t bytes) {
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - 2 * kHugePage) return nullptr;
        mapped_bytes_ = bytes + kHugePage;
        void* block = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) return nullptr;
        mapped_ = block;
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        auto* data = reinterpret_cast<std::byte*>((address + kHugePage - 1) / kHugePage * kHugePage);
        madvise(data, bytes, MADV_HUGEPAGE);  // a wish; ignored where it cannot be granted
        return data;
    }

    std::shared_ptr<HostMemory::Ledger> ledger_;
    MemoryPurpose purpose_;
    void* mapped_ = nullptr;
    std::size_t mapped_bytes_ = 0;
};

Error no_memory(std::size_t bytes, MemoryPurpose purpose, std::int64_t available) {
    return make_error(
        ErrorKind::Memory,
        fmt::format("{} bytes are needed for {} and {} bytes are available.", bytes,
                    kMemoryPurposeNames[static_cast<std::size_t>(purpose)], std::max<std::int64_t>(available, 0)),
        "Choose a smaller model, a shorter context or a smaller element type.");
}

}  // namespace

HostMemory::HostMemory(const HostMemoryOptions& options) : ledger_(std::make_shared<Ledger>()) {
    ledger_->options = options;
    if (ledger_->options.limit_bytes <= 0) ledger_->options.limit_bytes = physical_bytes();
}

Result<BufferPtr> HostMemory::allocate(std::size_t bytes, MemoryPurpose purpose) {
    const std::lock_guard lock(ledger_->mutex);
    std::int64_t available = ledger_->options.limit_bytes - ledger_->counts.total_bytes();
    if (bytes >= kAskSystemFrom) {
        const std::int64_t system = available_bytes();
        if (system >= 0) available = std::min(available, system);
    }
    ledger_->requests += 1;
    if (ledger_->requests == ledger_->options.fail_allocation) return no_memory(bytes, purpose, available);
    if (available < 0 || bytes > static_cast<std::size_t>(available)) return no_memory(bytes, purpose, available);
    auto* buffer = new (std::nothrow) HostBuffer(ledger_, purpose);
    if (buffer == nullptr) return no_memory(bytes, purpose, available);
    BufferPtr owned(buffer);
    if (!buffer->take(bytes)) return no_memory(bytes, purpose, available);
    ledger_->add(bytes, purpose);
    return owned;
}

MemoryCounts HostMemory::counts() const {
    const std::lock_guard lock(ledger_->mutex);
    return ledger_->counts;
}

void HostMemory::reset_peaks() {
    const std::lock_guard lock(ledger_->mutex);
    ledger_->counts.peak_bytes = ledger_->counts.bytes;
}

std::int64_t HostMemory::limit_bytes() const { return ledger_->options.limit_bytes; }

namespace {

Status check_range(std::size_t offset, std::size_t bytes, std::size_t size) {
    if (offset <= size && bytes <= size - offset) return {};
    return make_error(ErrorKind::Argument,
                      fmt::format("{} bytes from {} on do not lie in a buffer of {} bytes.", bytes, offset, size));
}

}  // namespace

Status upload_to_host(Buffer& to, std::size_t offset, std::span<const std::byte> from) {
    DS_RETURN_IF_ERROR(check_range(offset, from.size(), to.bytes()));
    if (!from.empty()) std::memcpy(to.data() + offset, from.data(), from.size());
    return {};
}

Status download_from_host(const Buffer& from, std::size_t offset, std::span<std::byte> to) {
    DS_RETURN_IF_ERROR(check_range(offset, to.size(), from.bytes()));
    if (!to.empty()) std::memcpy(to.data(), from.data() + offset, to.size());
    return {};
}

Status copy_on_host(const Buffer& from, std::size_t from_offset, std::size_t from_stride, Buffer& to,
                    std::size_t to_offset, std::size_t to_stride, std::size_t row_bytes, std::size_t rows) {
    if (rows == 0 || row_bytes == 0) return {};
    DS_RETURN_IF_ERROR(check_range(from_offset, (rows - 1) * from_stride + row_bytes, from.bytes()));
    DS_RETURN_IF_ERROR(check_range(to_offset, (rows - 1) * to_stride + row_bytes, to.bytes()));
    for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(to.data() + to_offset + row * to_stride, from.data() + from_offset + row * from_stride, row_bytes);
    return {};
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind("model name", 0) != 0) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

}  // namespace decodescope
