// Device and pinned memory of the emulated runtime. Every allocation is a block of its own, filled with NaN, with guards
// at both ends, or exact where the address sanitizer watches. Under it, device memory cannot be touched while no device
// work runs: host code that follows a device pointer ends the program.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/cuda/emulated/runtime_state.h"

#ifdef DECODESCOPE_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#endif

namespace decodescope::emulated {
namespace {

#ifdef DECODESCOPE_SIMT_ASAN
constexpr std::size_t kGuardBytes = 0;
#else
constexpr std::size_t kGuardBytes = 256;
#endif
constexpr std::size_t kAlignment = 256;

void each_device_block([[maybe_unused]] bool open) {
#ifdef DECODESCOPE_SIMT_ASAN
    for (const auto& [data, allocation] : state().memory) {
        if (!allocation.device_memory) continue;
        if (open) ASAN_UNPOISON_MEMORY_REGION(data, allocation.bytes);
        else ASAN_POISON_MEMORY_REGION(data, allocation.bytes);
    }
#endif
}

// Byte `index` of the guards of an allocation. As f32, f16 and bf16 a signalling NaN: what is computed from it shows in a
// result and has other bits, so that it shows in a guard, too; and no two allocations have the same ones.
std::byte guard_byte(std::int64_t number, std::size_t index) {
    const std::uint32_t word = 0x7F817C01u | static_cast<std::uint32_t>(number % 31) << 17 |
                               static_cast<std::uint32_t>(number / 31 % 255) << 1;
    return static_cast<std::byte>(word >> 8 * (index % 4) & 0xFF);
}

std::string name_of(const Allocation& allocation) {
    return std::string(allocation.device_memory ? "device" : "pinned") + " allocation " +
           std::to_string(allocation.number) + " of " + std::to_string(allocation.bytes) + " bytes";
}

cudaError_t allocate(void** out, std::size_t bytes, bool device_memory) {
    if (out == nullptr) return fail(cudaErrorInvalidValue);
    *out = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (device_memory && device_bytes() + bytes > state().machine.memory_bytes)
        return fail(cudaErrorMemoryAllocation);
    void* block = nullptr;
    if (posix_memalign(&block, kAlignment, bytes + 2 * kGuardBytes) != 0) return fail(cudaErrorMemoryAllocation);
    std::byte* data = static_cast<std::byte*>(block) + kGuardBytes;
    const std::int64_t number = ++state().allocations;
    std::memset(data, 0xFF, bytes);
    for (std::size_t i = 0; i < kGuardBytes; ++i) data[bytes + i] = (data - kGuardBytes)[i] = guard_byte(number, i);
    state().memory[data] = {bytes, device_memory, current_device(), number};
    if (device_memory && state().running == 0) ASAN_POISON_MEMORY_REGION(data, bytes);
    *out = data;
    return cudaSuccess;
}

bool guards_intact(const std::byte* data, const Allocation& allocation) {
    std::byte expected[4];
    for (std::size_t i = 0; i < 4; ++i) expected[i] = guard_byte(allocation.number, i);
    for (const std::byte* guard : {data - kGuardBytes, data + allocation.bytes})
        for (std::size_t i = 0; i < kGuardBytes; i += 4)
            if (std::memcmp(guard + i, expected, 4) != 0) return false;
    return true;
}

void drop(const std::byte* data, const Allocation& allocation) {
    if (!guards_intact(data, allocation)) add_violation(name_of(allocation) + " was written outside its ends");
    ASAN_UNPOISON_MEMORY_REGION(data, allocation.bytes);
    std::free(const_cast<std::byte*>(data) - kGuardBytes);
}

cudaError_t release(void* data, bool device_memory) {
    if (data == nullptr) return cudaSuccess;
    drain_all();
    const auto found = state().memory.find(static_cast<std::byte*>(data));
    if (found == state().memory.end() || found->second.device_memory != device_memory) {
        add_violation("memory is freed that is not allocated");
        return fail(cudaErrorInvalidValue);
    }
    drop(found->first, found->second);
    state().memory.erase(found);
    return cudaSuccess;
}

struct CopySides {
    bool to_device, from_device;
};

bool check_copy(const void* to, std::size_t to_bytes, const void* from, std::size_t from_bytes, CopySides sides) {
    const auto on_some_device = [](const void* data) {
        const auto* found = find_allocation(data);
        return found != nullptr && found->second.device_memory;
    };
    if (on_some_device(to) != sides.to_device || on_some_device(from) != sides.from_device) {
        add_violation("a copy names the wrong kind of memory");
        return false;
    }
    return (!sides.to_device || on_device(to, to_bytes, "the target of a copy")) &&
           (!sides.from_device || on_device(from, from_bytes, "the source of a copy"));
}

cudaError_t copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
    if (width == 0 || rows == 0) return cudaSuccess;
    const CopySides sides{kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
                          kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice};
    if (!check_copy(to, to_pitch * (rows - 1) + width, from, from_pitch * (rows - 1) + width, sides))
        return fail(cudaErrorInvalidValue);
    CUstream_st* queue = known_stream(stream);
    if (queue == nullptr) return fail(cudaErrorInvalidResourceHandle);
    // A copy from or to pageable memory is done when the call returns, and cannot be part of a graph.
    const bool pageable = (!sides.to_device && find_allocation(to) == nullptr) ||
                          (!sides.from_device && find_allocation(from) == nullptr);
    if (queue->captured != nullptr && pageable) {
        add_violation("a copy of pageable memory in a graph");
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    enqueue(stream, [=] {
        for (std::size_t row = 0; row < rows; ++row)
            std::memmove(static_cast<std::byte*>(to) + row * to_pitch,
                         static_cast<const std::byte*>(from) + row * from_pitch, width);
        return std::string();
    });
    if (pageable) drain(*queue);
    return state().sticky;
}

}  // namespace

DeviceWork::DeviceWork() {
    if (state().running++ == 0) each_device_block(true);
}
DeviceWork::~DeviceWork() {
    if (--state().running == 0) each_device_block(false);
}

const std::pair<const std::byte* const, Allocation>* find_allocation(const void* data) {
    const auto& memory = state().memory;
    auto after = memory.upper_bound(static_cast<const std::byte*>(data));
    if (after == memory.begin()) return nullptr;
    --after;
    return static_cast<const std::byte*>(data) < after->first + after->second.bytes ? &*after : nullptr;
}

bool on_device(const void* data, std::size_t bytes, const char* what) {
    const std::lock_guard lock(state_mutex());
    const auto* found = find_allocation(data);
    if (found == nullptr || !found->second.device_memory) {
        add_violation(std::string(what) + " is not device memory");
        return false;
    }
    const auto room = static_cast<std::size_t>(found->first + found->second.bytes - static_cast<const std::byte*>(data));
    if (bytes <= room) return true;
    add_violation(std::string(what) + " takes " + std::to_string(bytes) + " bytes, " + name_of(found->second) + " has " +
                  std::to_string(room) + " there");
    return false;
}

std::string check_guards() {
    for (const auto& [data, allocation] : state().memory)
        if (!guards_intact(data, allocation)) return name_of(allocation) + " was written outside its ends";
    return {};
}

std::size_t device_bytes() {
    const std::lock_guard lock(state_mutex());
    std::size_t sum = 0;
    for (const auto& [data, allocation] : state().memory)
        if (allocation.device_memory && allocation.device == current_device()) sum += allocation.bytes;
    return sum;
}

std::vector<std::string> leaks() {
    const std::lock_guard lock(state_mutex());
    std::vector<std::string> lines;
    for (const auto& [data, allocation] : state().memory) lines.push_back(name_of(allocation));
    for (const auto& [object, kind] : state().objects) lines.push_back(kind);
    return lines;
}

void reset(const Machine& machine) {
    const std::lock_guard lock(state_mutex());
    for (auto& stream : state().streams) stream->queue.clear();
    for (const auto& [data, allocation] : state().memory) drop(data, allocation);
    state() = RuntimeState();
    state().machine = machine;
    current_device() = 0;
}

}  // namespace decodescope::emulated

using namespace decodescope::emulated;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
    DS_ENTER("cudaMalloc", true);
    return allocate(data, bytes, true);
}
cudaError_t cudaFree(void* data) {
    DS_ENTER("cudaFree", false);
    return release(data, true);
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
    DS_ENTER("cudaMallocHost", true);
    return allocate(data, bytes, false);
}
cudaError_t cudaFreeHost(void* data) {
    DS_ENTER("cudaFreeHost", false);
    return release(data, false);
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* all_bytes) {
    DS_ENTER("cudaMemGetInfo", false);
    *all_bytes = state().machine.memory_bytes;
    *free_bytes = *all_bytes - device_bytes();
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    DS_ENTER("cudaMemcpyAsync", false);
    return copy(to, bytes, from, bytes, bytes, 1, kind, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                              cudaMemcpyKind kind, cudaStream_t stream) {
    DS_ENTER("cudaMemcpy2DAsync", false);
    if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidPitchValue);
    return copy(to, to_pitch, from, from_pitch, width, rows, kind, stream);
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
    DS_ENTER("cudaMemsetAsync", false);
    if (bytes > 0 && !on_device(data, bytes, "what is set")) return fail(cudaErrorInvalidValue);
    enqueue(stream, [=] {
        std::memset(data, value, bytes);
        return std::string();
    });
    return cudaSuccess;
}

}  // extern "C"
