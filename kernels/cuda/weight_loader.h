// Weights from the model's file into device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <stop_token>

#include "kernels/cuda/device_memory.h"

namespace decodescope::cuda {

// Every tensor as kernels/reference/host_weights.h lays it out; its addresses are those of the device. The table must
// have passed validation.
Result<WeightSetPtr> load_to_device(const WeightTable& table, WeightType type, DeviceMemory& memory, cudaStream_t stream,
                                    const ProgressFn& progress, std::stop_token stop);

}  // namespace decodescope::cuda
