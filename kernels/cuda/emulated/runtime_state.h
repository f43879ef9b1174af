// What the parts of the emulated runtime share.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/cuda/emulated/runtime.h"

struct CUstream_st {
    int device = 0;
    std::deque<std::function<std::string()>> queue;
    std::uint64_t queued = 0, done = 0;
    cudaGraph_t captured = nullptr;  // not null: what is enqueued becomes part of it
    bool destroyed = false;          // kept for events that refer to it
};
struct CUevent_st {
    CUstream_st* stream = nullptr;  // where it was recorded last
    std::uint64_t ticket = 0;       // has happened when the stream has done as many
    std::chrono::steady_clock::time_point time{};
};
struct CUgraph_st {
    std::vector<std::function<std::string()>> work;
};
struct CUgraphExec_st {
    std::vector<std::function<std::string()>> work;
    int device = 0;
};

namespace decodescope::emulated {

struct Allocation {
    std::size_t bytes = 0;
    bool device_memory = false;
    int device = 0;
    std::int64_t number = 0;
};

struct Failure {
    std::string name;
    std::int64_t left;
    cudaError_t error;
};

struct RuntimeState {
    Machine machine;
    std::map<const std::byte*, Allocation> memory;
    std::map<const void*, std::string> objects;
    std::vector<std::unique_ptr<CUstream_st>> streams;
    std::map<std::string, std::int64_t, std::less<>> calls;
    std::vector<Failure> failures;
    std::vector<std::string> violations;
    std::int64_t launches = 0, allocations = 0;
    cudaError_t last = cudaSuccess, sticky = cudaSuccess;
    int running = 0;  // nested device work
};

RuntimeState& state();
std::recursive_mutex& state_mutex();
int& current_device();  // of this host thread

cudaError_t fail(cudaError_t error);
void drain(CUstream_st& stream);
void drain_until(CUstream_st& stream, std::uint64_t ticket);
void drain_all();
CUstream_st* known_stream(cudaStream_t stream);  // null, and a violation, when there is none
const std::pair<const std::byte* const, Allocation>* find_allocation(const void* data);
std::string check_guards();  // "" or which allocation was written outside its ends

// Device memory may be touched while one of these lives; at other times the address sanitizer forbids it.
class DeviceWork {
public:
    DeviceWork();
    ~DeviceWork();
    DeviceWork(const DeviceWork&) = delete;
    DeviceWork& operator=(const DeviceWork&) = delete;
};

}  // namespace decodescope::emulated

// Every call of the runtime begins with it.
#define DS_ENTER(name, creates)                                                                     \
    const std::lock_guard ds_lock(decodescope::emulated::state_mutex());                            \
    if (const cudaError_t ds_entered = decodescope::emulated::enter_call(name, creates); ds_entered != cudaSuccess) \
    return ds_entered
