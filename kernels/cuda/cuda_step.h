// A compiled step of the CUDA backend and what belongs to it in device memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernels/api/validate.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/handles.h"
#include "kernels/cuda/launch_plan.h"
#include "kernels/cuda/rotation_table.h"
#include "kernels/cuda/step_tables.h"

namespace decodescope::cuda {

// What the launches of a step depend on besides the tables: a graph serves every step that agrees in it.
struct GraphKey {
    std::array<std::int64_t, 8> counts{};        // StepCounts
    std::array<const void*, 4> addresses{};      // tables, partial results, rotations: they move when they grow
    auto operator<=>(const GraphKey&) const = default;
};

struct StepGraph {
    GraphExecutable executable;  // empty until the key is seen a second time
};

class CudaStep final : public CompiledStep {
public:
    const StepProgram& program() const override { return program_; }
    const std::vector<Stage>& stages() const override { return plan_.stages; }
    std::int64_t activation_bytes() const override {
        std::int64_t bytes = 0;
        const auto add = [&bytes](const BufferPtr& buffer) {
            if (buffer) bytes += static_cast<std::int64_t>(buffer->bytes());
        };
        for (const BufferPtr& value : values_) add(value);
        for (const BufferPtr* buffer : {&rounded_, &widened_, &partials_, &tables_, &weights_out_, &sums_out_}) add(*buffer);
        for (const auto& table : rotation_tables_) bytes += table->bytes();
        return bytes;
    }
    float* value(int index) const { return reinterpret_cast<float*>(values_[static_cast<std::size_t>(index)]->data()); }
    const OpDesc& op(int index) const { return program_.ops[static_cast<std::size_t>(index)]; }
    const HostTensor& weight(const OpDesc& op) const { return weights_->tensor(op.weight); }
    const float* bias(const OpDesc& op) const {
        return op.bias == kNone ? nullptr : weights_->tensor(op.bias).floats();
    }

    StepProgram program_;
    LaunchPlan plan_;
    StepLimits limits_;
    bool profile_ = false;
    std::shared_ptr<const HostWeights> weights_;  // tensors in device memory
    std::vector<std::shared_ptr<RotationTable>> op_rotations_;     // [ops], null where nothing is rotated
    std::vector<std::shared_ptr<RotationTable>> rotation_tables_;  // the distinct ones
    std::vector<BufferPtr> values_;  // [values], each [rows, width] f32
    BufferPtr rounded_;              // inputs of products in 16 bits
    BufferPtr widened_;              // int8 weights in f16, some rows at a time
    BufferPtr partials_;             // of attention split over the length
    BufferPtr tables_;
    BufferPtr weights_out_, sums_out_;  // attention weights that are wanted, see weight_capture.h
    PinnedPtr host_tables_, host_logits_, host_weights_, host_sums_;
    std::vector<Event> stage_ends_;  // [stages] when profiling
    Event start_, end_;
    std::map<GraphKey, StepGraph> graphs_;
    std::int64_t graph_captures_ = 0;
};

}  // namespace decodescope::cuda
