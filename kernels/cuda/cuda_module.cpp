// What the library exports: one function.
#include "kernels/api/backend_module.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device_probe.h"

namespace decodescope::cuda {
namespace {

Result<std::unique_ptr<Backend>> create(const ModuleRequest& request) {
    CudaBackendOptions options;
    options.device = request.device;
    options.memory_limit_bytes = request.memory_limit_bytes;
    options.graphs = request.graphs;
#ifdef DECODESCOPE_CUDA_EMULATED
    options.id = "cuda-emulated";
    options.keep_freed = false;
#endif
    return make_cuda_backend(options);
}

const BackendModule module{kBackendModuleVersion,
#ifdef DECODESCOPE_CUDA_EMULATED
                           "cuda-emulated", "the emulation",
#else
                           "cuda", "CUDA " DECODESCOPE_CUDA_VERSION_TEXT,
#endif
                           probe_devices, create};

}  // namespace
}  // namespace decodescope::cuda

extern "C" __attribute__((visibility("default"))) const decodescope::BackendModule* decodescope_backend_module() {
    return &decodescope::cuda::module;
}
