#include "kernels/cuda/device_probe.h"

#include <fmt/core.h>

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/handles.h"
#include "kernels/cuda/kernels.h"

namespace decodescope::cuda {
namespace {

constexpr int kOldestMajor = 7, kOldestMinor = 5;

struct Versions {
    int driver = 0, runtime = 0;

    Versions() {
        (void)cudaDriverGetVersion(&driver);
        (void)cudaRuntimeGetVersion(&runtime);
    }
};

// "" and the number of devices, or why there is none.
std::string count_devices(int& count) {
    const Versions versions;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0) return {};
    (void)cudaGetLastError();
    count = 0;
    return refusal_text(error, versions.driver, versions.runtime);
}

Error cannot_use(std::string sentence) { return make_error(ErrorKind::Device, std::move(sentence)); }

using DeviceBlock = Handle<void*, cudaFree>;

// A number goes to the device and comes back.
Status run_test_kernel() {
    const Versions versions;
    constexpr std::int32_t kValue = 271828;
    std::int32_t read = 0;
    Stream stream;
    DeviceBlock block;
    DS_RETURN_IF_ERROR(check(cudaStreamCreateWithFlags(stream.address(), cudaStreamNonBlocking), "making a stream"));
    DS_RETURN_IF_ERROR(check(cudaMalloc(block.address(), sizeof read), "a test"));
    launch_self_test(static_cast<std::int32_t*>(block.get()), kValue, stream.get());
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(&read, block.get(), sizeof read, cudaMemcpyDeviceToHost, stream.get());
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream.get());
    if (error == cudaSuccess && read == kValue) return {};
    (void)cudaGetLastError();
    if (error == cudaSuccess) return cannot_use("Kernels do not run on the device: a test gave a wrong number.");
    return cannot_use(launch_refusal_text(error, versions.driver, versions.runtime));
}

}  // namespace

Result<std::string> probe_device(int device) {
    int count = 0;
    if (std::string reason = count_devices(count); !reason.empty()) return cannot_use(std::move(reason));
    if (device < 0 || device >= count)
        return make_error(ErrorKind::Argument,
                          fmt::format("There is no CUDA device {}: the driver sees {} (0 to {}).", device, count, count - 1));
    cudaDeviceProp properties{};
    DS_RETURN_IF_ERROR(check(cudaGetDeviceProperties(&properties, device), "asking for the device's properties"));
    if (properties.major * 10 + properties.minor < kOldestMajor * 10 + kOldestMinor)
        return cannot_use(fmt::format("{} has compute capability {}.{}; {}.{} or newer is needed.", properties.name,
                                      properties.major, properties.minor, kOldestMajor, kOldestMinor));
    DS_RETURN_IF_ERROR(check(cudaSetDevice(device), "choosing the device"));
    DS_RETURN_IF_ERROR(run_test_kernel());
    return std::string(properties.name);
}

ModuleReport probe_devices() {
    ModuleReport report;
    int count = 0;
    report.reason = count_devices(count);
    bool any = false;
    for (int device = 0; device < count; ++device) {
        auto name = probe_device(device);
        if (name) report.devices.push_back({device, *name, {}});
        else report.devices.push_back({device, fmt::format("device {}", device), name.error().message});
        any = any || name.ok();
    }
    if (count > 0 && !any) report.reason = report.devices.front().reason;
    return report;
}

}  // namespace decodescope::cuda
