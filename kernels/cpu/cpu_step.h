// A compiled step of the CPU backend, and what its stages share while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "kernels/api/validate.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/packed_weights.h"
#include "kernels/cpu/rope_table.h"
#include "kernels/cpu/step_plan.h"

namespace decodescope {

class CpuStep final : public CompiledStep {
public:
    const StepProgram& program() const override { return program_; }
    const std::vector<Stage>& stages() const override { return plan_.public_stages; }
    std::int64_t activation_bytes() const override {
        std::int64_t bytes = 0;
        for (const BufferPtr* buffer : {&values_, &scratch_, &partials_, &weight_lines_})
            if (*buffer) bytes += static_cast<std::int64_t>((*buffer)->bytes());
        for (const auto& table : rope_tables_) bytes += table->bytes();
        return bytes;
    }

    StepProgram program_;
    StepPlan plan_;
    StepLimits limits_;
    bool profile_ = false;
    std::int64_t few_row_limit_ = 0;                       // of the kernels that run it
    std::shared_ptr<const PackedWeights> weights_;
    std::vector<std::shared_ptr<RopeTable>> op_ropes_;     // [ops], null where nothing is rotated
    std::vector<std::shared_ptr<RopeTable>> rope_tables_;  // the distinct ones
    BufferPtr values_;               // activations
    BufferPtr scratch_;              // [threads, scratch_floats_]
    std::int64_t scratch_floats_ = 0;
    BufferPtr partials_;             // parts of the softmax, see attention_stage.h
    BufferPtr weight_lines_;         // attention weights before they are summed over heads, see attention_stage.h
};

// Asked before every piece of work. A piece is small enough that a stop is noticed within 5 ms.
class StopCheck {
public:
    StopCheck(std::stop_token stop, const std::function<void(std::int64_t)>& on_tile)
        : stop_(std::move(stop)), on_tile_(on_tile) {}

    // False when the work is to be left out.
    bool begin(std::int64_t flops) {
        if (stopped_.load(std::memory_order_relaxed)) return false;
        if (stop_.stop_requested()) {
            stopped_.store(true, std::memory_order_relaxed);
            return false;
        }
        if (on_tile_) on_tile_(flops);
        return true;
    }
    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

private:
    std::stop_token stop_;
    const std::function<void(std::int64_t)>& on_tile_;
    std::atomic<bool> stopped_{false};
};

// What the stages of one running step see.
struct StepContext {
    const CpuStep& step;
    const StepInputs& inputs;
    const CpuKernelTable& kernels;
    int threads = 1;
    float* logits = nullptr;  // the caller's memory
    StopCheck& stop;

    const OpDesc& op(int index) const { return step.program_.ops[static_cast<std::size_t>(index)]; }
    std::int64_t rows(bool selected) const {
        return static_cast<std::int64_t>(selected ? inputs.logits_rows.size() : inputs.tokens.size());
    }
    std::int64_t width(int value) const { return step.program_.values[static_cast<std::size_t>(value)].width; }
    float* value(int value) const {
        if (value == step.program_.logits_value) return logits;
        return reinterpret_cast<float*>(step.values_->data()) +
               step.plan_.value_offsets[static_cast<std::size_t>(value)];
    }
    float* row(int value, std::int64_t index) const { return this->value(value) + index * width(value); }
    const PackedTensor& weight(const OpDesc& op) const { return step.weights_->tensor(op.weight); }
    const float* bias(const OpDesc& op) const {
        return op.bias == kNone ? nullptr : step.weights_->tensor(op.bias).floats();
    }
    const RopeTable* rope(const OpDesc& op) const {
        return step.op_ropes_[static_cast<std::size_t>(&op - step.program_.ops.data())].get();
    }
    float* scratch(int thread) const {
        return reinterpret_cast<float*>(step.scratch_->data()) + thread * step.scratch_floats_;
    }
};

}  // namespace decodescope
