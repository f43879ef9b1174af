// Runs the stages of one step on the pool.
#pragma once

#include <chrono>
#include <vector>

#include "kernels/cpu/cpu_step.h"
#include "kernels/cpu/thread_pool.h"

namespace decodescope {

class StepRunner final : public StageWork {
public:
    // `stage_micros`, when not null, gets the time of each public stage.
    StepRunner(const StepContext& context, std::vector<double>* stage_micros);

    int stages() const override { return static_cast<int>(context_.step.plan_.stages.size()); }
    std::int64_t chunks(int stage) const override;
    void run_chunk(int stage, std::int64_t chunk, int thread) override;
    void stage_done(int stage) override;
    const Status& visitor_status() const { return visitor_status_; }

private:
    const PlannedStage& stage(int index) const { return context_.step.plan_.stages[static_cast<std::size_t>(index)]; }

    bool visit_before(const PlannedStage& planned) const;

    const StepContext& context_;
    mutable Status visitor_status_;  // of the first visit that failed: nothing runs after it
    std::vector<double>* stage_micros_;
    std::chrono::steady_clock::time_point stage_start_;
};

}  // namespace decodescope
