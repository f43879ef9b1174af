#include "engine/measure/op_profile.h"

#include <map>
#include <utility>

#include "engine/cache/kv_format.h"

namespace decodescope {

std::optional<OpShare> share_of(const OpUse& use, const MachineCeiling& ceiling) {
    if (!use.cost || !(use.micros > 0)) return std::nullopt;
    OpShare share;
    if (ceiling.read_gb_s > 0) share.value = use.gb_s() / ceiling.read_gb_s;
    if (ceiling.gflop_s > 0 && use.gflop_s() / ceiling.gflop_s > share.value)
        share = {use.gflop_s() / ceiling.gflop_s, true};
    if (!(share.value > 0)) return std::nullopt;
    return share;
}

std::vector<OpUse> sum_by_stage(std::span<const std::string> stages, std::span<const OpRecord> ops,
                                std::span<const Cost> costs) {
    std::vector<OpUse> uses;
    std::map<std::string, std::size_t> places;
    for (const OpRecord& op : ops) {
        const auto stage = static_cast<std::size_t>(op.stage);
        if (stage >= stages.size()) continue;
        const auto [place, is_new] = places.emplace(stages[stage], uses.size());
        if (is_new) {
            uses.push_back({stages[stage], 0, {}});
            if (costs.size() == stages.size()) uses.back().cost.emplace();
        }
        OpUse& use = uses[place->second];
        use.micros += op.micros;
        if (!use.cost) continue;
        use.cost->bytes += costs[stage].bytes;
        use.cost->flops += costs[stage].flops;
    }
    return uses;
}

namespace {

// Fused stages have the names of their operations joined.
std::vector<std::string> names_of(const std::string& stage) {
    static const std::string joint = " + ";
    std::vector<std::string> names;
    std::size_t from = 0;
    for (std::size_t at; (at = stage.find(joint, from)) != std::string::npos; from = at + joint.size())
        names.push_back(stage.substr(from, at - from));
    names.push_back(stage.substr(from));
    return names;
}

}  // namespace

std::vector<Cost> stage_costs(const StepProgram& program, const RunFacts& facts, const StepShape& shape) {
    std::map<std::pair<int, std::string>, Cost> by_name;
    for (const OpDesc& op : program.ops) {
        const OpCost one = op_cost(op, shape);
        Cost& cost = by_name[{op.layer, std::string(op_name(op.id))}];
        cost.flops += one.flops;
        cost.bytes += one.bytes;
    }
    std::vector<Cost> costs;
    for (std::size_t stage = 0; stage < facts.stages.size(); ++stage) {
        const int layer = stage < facts.stage_layers.size() ? facts.stage_layers[stage] : kNone;
        Cost cost;
        for (const std::string& name : names_of(facts.stages[stage])) {
            const auto found = by_name.find({layer, name});
            if (found == by_name.end()) return {};
            cost.flops += found->second.flops;
            cost.bytes += found->second.bytes;
        }
        costs.push_back(cost);
    }
    return costs;
}

std::optional<StepShape> recorded_shape(const RunFacts& facts, const StepFacts& step) {
    if (step.passes != 1 || step.row_count < 1) return std::nullopt;
    const std::int64_t after = step.first_row + step.row_count;
    if (facts.cache_spec.rfind("recompute", 0) == 0) return causal_shape(facts.config, 0, after, {}, false);
    const auto kv = parse_kv_format(facts.kv_type);
    if (!kv.ok() || step.kv.rows_read < step.row_count) return std::nullopt;
    if (step.row_count > 1 && step.kv.rows_read != after) return std::nullopt;
    return causal_shape(facts.config, step.kv.rows_read - step.row_count, step.row_count, *kv, true);
}

}  // namespace decodescope
