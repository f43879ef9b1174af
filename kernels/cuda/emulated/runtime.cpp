// Streams, events, graphs and devices of the emulated runtime. A stream is a queue of work; lazily run work shows
// results that were read too early.
#include "kernels/cuda/emulated/runtime.h"

#include <cstdio>
#include <utility>

#include "kernels/cuda/emulated/runtime_state.h"
#include "kernels/cuda/emulated/simt.h"

namespace decodescope::emulated {

RuntimeState& state() {
    static RuntimeState state;
    return state;
}
std::recursive_mutex& state_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}
int& current_device() {
    static thread_local int device = 0;
    return device;
}

cudaError_t fail(cudaError_t error) {
    state().last = error;
    return error;
}

void add_violation(std::string text) {
    const std::lock_guard lock(state_mutex());
    state().violations.push_back(std::move(text));
}

cudaError_t enter_call(const char* name, bool creates) {
    const std::lock_guard lock(state_mutex());
    ++state().calls[name];
    if (creates) ++state().calls["allocation"];
    for (auto failure = state().failures.begin(); failure != state().failures.end(); ++failure) {
        if (failure->name != name && !(creates && failure->name == "allocation")) continue;
        if (--failure->left > 0) continue;
        const cudaError_t error = failure->error;
        state().failures.erase(failure);
        return fail(error);
    }
    if (state().machine.answer != cudaSuccess) return fail(state().machine.answer);
    return state().sticky;
}

void track(const void* object, const char* kind, bool alive) {
    const std::lock_guard lock(state_mutex());
    if (alive) state().objects[object] = kind;
    else if (state().objects.erase(object) == 0) add_violation(std::string(kind) + " is destroyed that is not there");
}

namespace {

void run_first(CUstream_st& stream) {
    const auto work = std::move(stream.queue.front());
    stream.queue.pop_front();
    ++stream.done;
    if (state().sticky != cudaSuccess) return;
    std::string fault;
    {
        const DeviceWork scope;
        fault = work();
    }
    if (fault.empty()) fault = check_guards();
    if (fault.empty()) return;
    add_violation(fault);
    state().sticky = state().last = cudaErrorLaunchFailure;
}

void launch(const simt::Launch& launch, cudaStream_t stream, std::function<void()> body) {
    const std::lock_guard lock(state_mutex());
    if (enter_call("cudaLaunchKernel") != cudaSuccess) return;
    if (state().machine.launch_answer != cudaSuccess) {
        fail(state().machine.launch_answer);
        return;
    }
    if (const std::string why = simt::refusal(launch); !why.empty()) {
        add_violation(std::string(launch.kernel) + ": " + why);
        fail(cudaErrorInvalidConfiguration);
        return;
    }
    enqueue(stream, [launch, body = std::move(body)] {
        ++state().launches;
        return simt::run_grid(launch, body);
    });
}

const bool installed = [] {
    simt::launch_sink = launch;
    return true;
}();

}  // namespace

void drain(CUstream_st& stream) {
    while (!stream.queue.empty()) run_first(stream);
}
void drain_until(CUstream_st& stream, std::uint64_t ticket) {
    while (stream.done < ticket && !stream.queue.empty()) run_first(stream);
}
void drain_all() {
    for (auto& stream : state().streams) drain(*stream);
}

CUstream_st* known_stream(cudaStream_t stream) {
    for (auto& own : state().streams)
        if (own.get() == stream && !own->destroyed) {
            if (own->device == current_device()) return own.get();
            add_violation("a stream of device " + std::to_string(own->device) + " is used while device " +
                          std::to_string(current_device()) + " is chosen");
            return nullptr;
        }
    add_violation("a stream is used that is not there");  // the default stream as well: nothing may use it
    return nullptr;
}

void enqueue(cudaStream_t stream, std::function<std::string()> work) {
    const std::lock_guard lock(state_mutex());
    CUstream_st* queue = known_stream(stream);
    if (queue == nullptr) {
        fail(cudaErrorInvalidResourceHandle);
        return;
    }
    if (queue->captured != nullptr) {
        queue->captured->work.push_back(std::move(work));
        return;
    }
    queue->queue.push_back(std::move(work));
    ++queue->queued;
    if (!state().machine.lazy) drain(*queue);
}

void fail_call(std::string_view name, std::int64_t n, cudaError_t error) {
    const std::lock_guard lock(state_mutex());
    state().failures.push_back({std::string(name), n, error});
}
std::int64_t calls(std::string_view name) {
    const std::lock_guard lock(state_mutex());
    const auto found = state().calls.find(name);
    return found == state().calls.end() ? 0 : found->second;
}
std::int64_t all_calls() {
    const std::lock_guard lock(state_mutex());
    std::int64_t sum = 0;
    for (const auto& [name, count] : state().calls) sum += name == "allocation" ? 0 : count;
    return sum;
}
std::int64_t kernel_launches() { return state().launches; }
std::vector<std::string> violations() {
    const std::lock_guard lock(state_mutex());
    return state().violations;
}

}  // namespace decodescope::emulated

using namespace decodescope::emulated;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
    const std::lock_guard lock(state_mutex());
    ++state().calls["cudaDriverGetVersion"];
    *version = state().machine.driver_version;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    const std::lock_guard lock(state_mutex());
    ++state().calls["cudaRuntimeGetVersion"];
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {  // leaves `count` alone when it fails, as the real one does
    DS_ENTER("cudaGetDeviceCount", false);
    *count = state().machine.devices;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    DS_ENTER("cudaSetDevice", false);
    if (device < 0 || device >= state().machine.devices) return fail(cudaErrorInvalidDevice);
    current_device() = device;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    DS_ENTER("cudaGetDeviceProperties", false);
    if (device < 0 || device >= state().machine.devices) return fail(cudaErrorInvalidDevice);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated device %d", device);
    properties->major = state().machine.major;
    properties->minor = state().machine.minor;
    properties->totalGlobalMem = state().machine.memory_bytes;
    properties->multiProcessorCount = 4;
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    const std::lock_guard lock(state_mutex());
    return std::exchange(state().last, state().sticky);
}
const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "cudaSuccess";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
        case cudaErrorNoDevice: return "cudaErrorNoDevice";
        case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
        case cudaErrorUnsupportedPtxVersion: return "cudaErrorUnsupportedPtxVersion";
        case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
        default: return "cudaErrorOther";
    }
}
const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorLaunchFailure ? "unspecified launch failure" : "emulated error";
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    DS_ENTER("cudaStreamCreate", true);
    state().streams.push_back(std::make_unique<CUstream_st>());
    *stream = state().streams.back().get();
    (*stream)->device = current_device();
    track(*stream, "stream", true);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const std::lock_guard lock(state_mutex());
    CUstream_st* known = known_stream(stream);
    if (known == nullptr) return fail(cudaErrorInvalidResourceHandle);
    drain(*known);
    known->destroyed = true;
    track(stream, "stream", false);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    DS_ENTER("cudaStreamSynchronize", false);
    CUstream_st* known = known_stream(stream);
    if (known == nullptr) return fail(cudaErrorInvalidResourceHandle);
    if (known->captured != nullptr) {
        add_violation("a stream is waited for while it is captured");
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    drain(*known);
    return state().sticky;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    DS_ENTER("cudaEventCreate", true);
    *event = new CUevent_st;
    track(*event, "event", true);
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const std::lock_guard lock(state_mutex());
    drain_all();
    track(event, "event", false);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    DS_ENTER("cudaEventRecord", false);
    CUstream_st* known = known_stream(stream);
    if (known == nullptr) return fail(cudaErrorInvalidResourceHandle);
    enqueue(stream, [event] {
        event->time = std::chrono::steady_clock::now();
        return std::string();
    });
    event->stream = known;
    event->ticket = known->queued;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    DS_ENTER("cudaEventSynchronize", false);
    if (event->stream != nullptr) drain_until(*event->stream, event->ticket);
    return state().sticky;
}
cudaError_t cudaEventElapsedTime(float* millis, cudaEvent_t first, cudaEvent_t last) {
    DS_ENTER("cudaEventElapsedTime", false);
    if (first->stream == nullptr || last->stream == nullptr) return fail(cudaErrorInvalidResourceHandle);
    if (first->stream->done < first->ticket || last->stream->done < last->ticket) return cudaErrorNotReady;
    *millis = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    DS_ENTER("cudaStreamBeginCapture", false);
    CUstream_st* known = known_stream(stream);
    if (known == nullptr || known->captured != nullptr) return fail(cudaErrorIllegalState);
    known->captured = new CUgraph_st;
    track(known->captured, "graph", true);
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    const std::lock_guard lock(state_mutex());
    CUstream_st* known = known_stream(stream);
    if (known == nullptr || known->captured == nullptr) return fail(cudaErrorIllegalState);
    *graph = std::exchange(known->captured, nullptr);
    return enter_call("cudaStreamEndCapture");
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
    DS_ENTER("cudaGraphInstantiate", true);
    *executable = new CUgraphExec_st{graph->work, current_device()};
    track(*executable, "executable graph", true);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    DS_ENTER("cudaGraphLaunch", false);
    for (const auto& work : executable->work) enqueue(stream, work);
    return state().sticky;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const std::lock_guard lock(state_mutex());
    track(graph, "graph", false);
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    const std::lock_guard lock(state_mutex());
    drain_all();
    track(executable, "executable graph", false);
    delete executable;
    return cudaSuccess;
}

}  // extern "C"
