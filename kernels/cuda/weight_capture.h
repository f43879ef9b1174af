// Attention weights, and their sums over heads, on their way to the host. Weights of as many layers as fit into a budget
// wait on the device and travel together: one copy for a decode step, several for a long prefill.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/cuda_step.h"

namespace decodescope::cuda {

class WeightCapture {
public:
    WeightCapture(CudaStep& step, const StepInputs& inputs) : step_(step), inputs_(inputs) {}

    // Makes room; nothing is needed when no layer is wanted.
    Status prepare(DeviceMemory& memory, int heads);
    bool any() const { return slots_ > 0; }

    // Where the weights of a layer go, [rows, heads, stride], zeroed; null when they are not wanted.
    Result<float*> begin_layer(int layer, cudaStream_t stream);
    // Adds heads up where sums are wanted. To be called after the layer's attention was launched.
    Status end_layer(int layer, cudaStream_t stream);
    // Waits, and hands out what is still on the device.
    Status flush(cudaStream_t stream);
    std::int64_t stride() const { return stride_; }

private:
    bool wants_weights(int layer) const;
    bool wants_sums(const SequenceRows& sequence, int layer) const;
    bool wants_layer(int layer) const;
    float* device_weights(std::size_t slot) const;
    void hand_out(std::size_t slot, int layer) const;

    CudaStep& step_;
    const StepInputs& inputs_;
    int heads_ = 0;
    std::int64_t stride_ = 0, slots_ = 0;
    std::int64_t slot_floats_ = 0, slot_sums_ = 0;  // of one layer
    std::vector<int> waiting_;                      // layers, in the order of their slots
    bool captured_ = false, summed_ = false;
};

}  // namespace decodescope::cuda
