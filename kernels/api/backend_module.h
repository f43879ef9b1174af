// What a backend in a library of its own exports, so that the program links nothing that it needs. The library is made
// by the same build as the program: C++ types cross the boundary, and the version says whether both fit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace decodescope {

constexpr int kBackendModuleVersion = 1;  // raised whenever kernels/api/ changes

struct DeviceReport {
    int index = 0;
    std::string name;    // "NVIDIA H200"
    std::string reason;  // why it cannot be used, one sentence; empty when it can
};

struct ModuleReport {
    std::vector<DeviceReport> devices;
    std::string reason;  // why there is no usable device, one sentence; empty when there is one
};

struct ModuleRequest {
    int device = 0;
    std::int64_t memory_limit_bytes = 0;  // 0: what the device has
    bool graphs = true;                   // false: every kernel is launched by itself, for comparison
};

struct BackendModule {
    int version = kBackendModuleVersion;
    const char* name = "";      // "cuda"
    const char* built_with = "";  // "CUDA 13.0"
    // Touches the driver, may take a second. Never throws.
    ModuleReport (*probe)() = nullptr;
    Result<std::unique_ptr<Backend>> (*create)(const ModuleRequest& request) = nullptr;
};

// The only symbol of such a library.
constexpr const char* kBackendModuleSymbol = "decodescope_backend_module";
using BackendModuleFn = const BackendModule* (*)();

}  // namespace decodescope
