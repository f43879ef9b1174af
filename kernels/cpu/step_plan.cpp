#include "kernels/cpu/step_plan.h"

#include <algorithm>
#include <string>

namespace decodescope {
namespace {

bool is_row_kind(OpKind kind) { return kind != OpKind::Linear && kind != OpKind::Attention; }

bool runs_selected(const OpDesc& op) { return op.logits_rows_only || op.kind == OpKind::SelectRows; }

class Planner {
public:
    explicit Planner(const StepProgram& program) : ops_(program.ops) {}

    StepPlan plan() {
        while (next_ < ops_.size()) {
            if (ops_[next_].kind == OpKind::Linear) take_linears();
            else if (ops_[next_].kind == OpKind::Attention) take_attention();
            else take_rows();
        }
        return std::move(plan_);
    }

private:
    PlannedStage& add_stage(StageKind kind) {
        PlannedStage stage;
        stage.kind = kind;
        stage.public_stage = static_cast<int>(plan_.public_stages.size());
        stage.selected = runs_selected(ops_[next_]);
        plan_.stages.push_back(std::move(stage));
        plan_.public_stages.push_back({{}, ops_[next_].layer, {}});
        return plan_.stages.back();
    }

    // Names the operation in the public stage; the caller puts it into the planned one.
    int take() {
        const int index = static_cast<int>(next_++);
        Stage& stage = plan_.public_stages.back();
        if (!stage.name.empty()) stage.name += " + ";
        stage.name += op_name(ops_[static_cast<std::size_t>(index)].id);
        stage.ops.push_back(index);
        return index;
    }

    // Row operations of one layer on the same set of rows. Each block of rows goes through all of them.
    void take_rows() {
        PlannedStage& stage = add_stage(StageKind::Rows);
        const OpDesc& first = ops_[next_];
        stage.ops.push_back(take());
        while (next_ < ops_.size() && is_row_kind(ops_[next_].kind) && ops_[next_].layer == first.layer &&
               ops_[next_].kind != OpKind::SelectRows && runs_selected(ops_[next_]) == stage.selected)
            stage.ops.push_back(take());
    }

    void take_attention() {
        PlannedStage& stage = add_stage(StageKind::Attention);
        stage.ops.push_back(take());
        PlannedStage combine = stage;
        combine.kind = StageKind::Combine;
        plan_.stages.push_back(std::move(combine));
    }

    void take_linears() {
        PlannedStage& stage = add_stage(StageKind::Linear);
        const OpDesc& first = ops_[next_];
        stage.ops.push_back(take());
        while (next_ < ops_.size() && ops_[next_].kind == OpKind::Linear && ops_[next_].in0 == first.in0 &&
               ops_[next_].layer == first.layer && runs_selected(ops_[next_]) == stage.selected && ends_apart(stage))
            stage.ops.push_back(take());
        if (next_ < ops_.size() && fits_epilogue(stage, ops_[next_])) stage.epilogue = take();
    }

    // Whether the next product writes a value that the products taken so far do not read or write.
    bool ends_apart(const PlannedStage& stage) const {
        const int out = ops_[next_].out;
        return std::all_of(stage.ops.begin(), stage.ops.end(), [&](int i) {
            const OpDesc& op = ops_[static_cast<std::size_t>(i)];
            return op.out != out && op.in0 != out;
        });
    }

    bool fits_epilogue(const PlannedStage& stage, const OpDesc& op) const {
        if (runs_selected(op) != stage.selected) return false;
        const OpDesc& first = ops_[static_cast<std::size_t>(stage.ops.front())];
        if (op.out == first.in0) return false;  // other tiles still read it
        if (stage.ops.size() == 2 && op.kind == OpKind::SwiGlu) {
            const OpDesc& second = ops_[static_cast<std::size_t>(stage.ops.back())];
            return op.in0 == first.out && op.in1 == second.out && first.out_width == second.out_width;
        }
        if (stage.ops.size() != 1) return false;
        if (op.kind == OpKind::GeluTanh) return op.in0 == first.out;
        return op.kind == OpKind::Residual && (op.in0 == first.out || op.in1 == first.out);
    }

    const std::vector<OpDesc>& ops_;
    std::size_t next_ = 0;
    StepPlan plan_;
};

struct Span {
    int first = -1, last = -1;  // stages in which a value is in use

    void touch(int stage) {
        if (first < 0) first = stage;
        last = stage;
    }
};

std::vector<Span> value_spans(const StepProgram& program, const StepPlan& plan) {
    std::vector<Span> spans(program.values.size());
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const PlannedStage& stage = plan.stages[s];
        std::vector<int> ops = stage.ops;
        if (stage.epilogue != kNone) ops.push_back(stage.epilogue);
        for (int index : ops) {
            const OpDesc& op = program.ops[static_cast<std::size_t>(index)];
            for (int value : {op.in0, op.in1, op.out})
                if (value != kNone) spans[static_cast<std::size_t>(value)].touch(static_cast<int>(s));
        }
    }
    return spans;
}

// Values whose spans do not meet share a slot. All tiles of a stage run at the same time, so a value last read in a
// stage and one first written in it do meet.
void place_values(const StepProgram& program, const CompileOptions& options, StepPlan& plan) {
    struct Slot {
        std::int64_t floats = 0;
        int busy_until = -1;
        std::vector<std::size_t> values;
    };
    const std::vector<Span> spans = value_spans(program, plan);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < spans.size(); ++i)
        if (spans[i].first >= 0 && static_cast<int>(i) != program.logits_value) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return spans[a].first < spans[b].first; });
    std::vector<Slot> slots;
    for (std::size_t value : order) {
        const ValueDesc& desc = program.values[value];
        const std::int64_t rows = desc.logits_rows_only ? options.max_logits_rows : options.max_rows;
        const std::int64_t floats = (rows * desc.width + 15) / 16 * 16;
        Slot* best = nullptr;
        for (Slot& slot : slots) {
            if (slot.busy_until >= spans[value].first) continue;
            const auto misfit = [&](const Slot& s) { return std::max(s.floats, floats) - std::min(s.floats, floats); };
            if (best == nullptr || misfit(slot) < misfit(*best)) best = &slot;
        }
        if (best == nullptr) best = &slots.emplace_back();
        best->floats = std::max(best->floats, floats);
        best->busy_until = spans[value].last;
        best->values.push_back(value);
    }
    plan.value_offsets.assign(program.values.size(), -1);
    for (const Slot& slot : slots) {
        for (std::size_t value : slot.values) plan.value_offsets[value] = plan.value_floats;
        plan.value_floats += slot.floats;
    }
}

}  // namespace

StepPlan make_step_plan(const StepProgram& program, const CompileOptions& options) {
    StepPlan plan = Planner(program).plan();
    place_values(program, options, plan);
    return plan;
}

}  // namespace decodescope
