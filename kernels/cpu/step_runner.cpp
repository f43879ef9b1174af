#include "kernels/cpu/step_runner.h"

#include "kernels/cpu/attention_stage.h"
#include "kernels/cpu/linear_stage.h"
#include "kernels/cpu/row_stage.h"

namespace decodescope {

StepRunner::StepRunner(const StepContext& context, std::vector<double>* stage_micros)
    : context_(context), stage_micros_(stage_micros), stage_start_(std::chrono::steady_clock::now()) {
    if (stage_micros_ != nullptr) stage_micros_->assign(context.step.plan_.public_stages.size(), 0.0);
}

std::int64_t StepRunner::chunks(int index) const {
    const PlannedStage& planned = stage(index);
    if (context_.stop.stopped() || !visitor_status_.ok() || !visit_before(planned)) return 0;
    switch (planned.kind) {
        case StageKind::Rows: return row_chunks(context_, planned);
        case StageKind::Linear: return linear_chunks(context_, planned);
        case StageKind::Attention: return attention_chunks(context_, planned);
        case StageKind::Combine: return combine_chunks(context_, planned);
    }
    return 0;
}

// Asked before the first chunk of every stage, by one thread. False: nothing more is to run.
bool StepRunner::visit_before(const PlannedStage& planned) const {
    if (context_.inputs.visitor == nullptr || planned.kind != StageKind::Rows) return true;
    for (const int index : planned.ops) {
        const OpDesc& op = context_.op(index);
        if (op.kind == OpKind::CacheStore) visitor_status_ = context_.inputs.visitor->before_layer(op.layer);
    }
    return visitor_status_.ok();
}

void StepRunner::run_chunk(int index, std::int64_t chunk, int thread) {
    const PlannedStage& planned = stage(index);
    switch (planned.kind) {
        case StageKind::Rows: run_row_chunk(context_, planned, chunk); break;
        case StageKind::Linear: run_linear_chunk(context_, planned, chunk, thread); break;
        case StageKind::Attention: run_attention_chunk(context_, planned, chunk, thread); break;
        case StageKind::Combine: run_combine_chunk(context_, planned, chunk); break;
    }
}

void StepRunner::stage_done(int index) {
    if (stage(index).kind == StageKind::Combine && !context_.stop.stopped() && visitor_status_.ok()) {
        const OpDesc& op = context_.op(stage(index).ops.front());
        add_weight_lines(context_, op);
        if (context_.inputs.visitor != nullptr) visitor_status_ = context_.inputs.visitor->after_layer(op.layer);
    }
    if (stage_micros_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    (*stage_micros_)[static_cast<std::size_t>(stage(index).public_stage)] +=
        std::chrono::duration<double, std::micro>(now - stage_start_).count();
    stage_start_ = now;
}

}  // namespace decodescope
