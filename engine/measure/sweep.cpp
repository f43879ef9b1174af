#include "engine/measure/sweep.h"

#include <algorithm>

#include "engine/decode/generation.h"
#include "engine/measure/sweep_runner.h"

namespace decodescope {

namespace {

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) {
        if (!text.empty()) text += ' ';
        text += part;
    }
    return text;
}

// Which operations each stage of a compiled single-row step covers; empty when it cannot be compiled.
std::vector<Stage> stages_of(const LoadedModel& model) {
    CompileOptions options;
    options.profile = true;
    auto step = model.backend->compile(model.program, model.weights, options);
    return step.ok() ? (*step)->stages() : std::vector<Stage>();
}

std::vector<Cost> stage_costs(const LoadedModel& model, const std::vector<Stage>& stages, const StepShape& shape) {
    std::vector<Cost> costs;
    for (const Stage& stage : stages) {
        Cost cost;
        for (const int op : stage.ops) {
            const OpCost one = op_cost(model.program.ops[static_cast<std::size_t>(op)], shape);
            cost.flops += one.flops;
            cost.bytes += one.bytes;
        }
        costs.push_back(cost);
    }
    return costs;
}

Result<RunFacts> facts_of(const LoadedModelPtr& model, const SweepRequest& request) {
    SessionConfig config;  // the smallest session there is: it only tells what it would run on
    config.cache.id = "recompute";
    auto session = DecodeSession::create(model, config);
    if (!session.ok()) return session.error();
    SamplerConfig sampler;
    sampler.seed = request.seed;
    RunFacts facts = make_run_facts(**session, sampler);
    std::vector<std::string> caches, formats;
    for (const CacheSpec& cache : request.caches) caches.push_back(to_string(cache));
    for (const KvFormat& kv : request.kv_formats) formats.push_back(to_string(kv));
    facts.cache_spec = joined(caches);
    facts.kv_type = joined(formats);
    return facts;
}

}  // namespace

Result<SweepResult> run_sweep(LoadedModelPtr model, const SweepRequest& request,
                              const std::function<void(const SweepProgress&)>& progress, std::stop_token stop) {
    SweepParts parts;
    parts.create = [&model](const SessionConfig& config) { return DecodeSession::create(model, config); };
    parts.context = model->model->config.context;
    std::int64_t longest = 0;
    for (const std::int64_t length : request.lengths) longest = std::max(longest, std::min(length, parts.context));
    const std::int64_t sampled = model->model->sampled_vocabulary;
    parts.tokens = sweep_tokens(longest, sampled > 0 ? sampled : model->model->config.vocabulary, request.seed);
    auto facts = facts_of(model, request);
    if (!facts.ok()) return facts.error();
    parts.run = std::move(facts).value();
    const std::vector<Stage> stages = request.profile ? stages_of(*model) : std::vector<Stage>();
    parts.stage_costs = [&](const StepShape& shape) { return stage_costs(*model, stages, shape); };
    return run_sweep_with(parts, request, progress, std::move(stop));
}

}  // namespace decodescope
