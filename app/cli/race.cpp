// `race`: the same tokens with and without a cache. Between the measured passes the derived curve, marked as such.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "engine/measure/cost_model.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

struct DerivedPoint {
    std::int64_t length = 0;
    double recompute_micros = 0;
};

// The recompute curve at the lengths that were not measured, fitted to those that were.
std::vector<DerivedPoint> derived_points(const LoadedModel& model, const RunRecording& recording) {
    std::vector<Cost> costs;
    std::vector<double> micros;
    std::vector<std::int32_t> measured;
    for (std::int32_t i = 0; i < recording.race_count(); ++i) {
        const RacePoint point = recording.race_point(i);
        costs.push_back(recompute_step_cost(model.program, model.model->config, point.length));
        micros.push_back(point.recompute_micros);
        measured.push_back(point.length);
    }
    std::vector<DerivedPoint> points;
    const CostFit fit = fit_cost(costs, micros);
    if (!fit.valid) return points;
    for (std::int32_t i = 0; i < recording.step_count(); ++i) {
        const auto length = static_cast<std::int32_t>(recording.step(i)->kv.tokens_seen);
        if (std::find(measured.begin(), measured.end(), length) != measured.end()) continue;
        points.push_back({length, fit.micros(recompute_step_cost(model.program, model.model->config, length))});
    }
    return points;
}

void print_row(const RacePoint& point) {
    fmt::print("{:>7} {:>12.3f} {:>14.3f} {:>9.2f} {:>14.3g}  {}\n", point.length, point.cached_micros / 1000.0,
               point.recompute_micros / 1000.0, point.recompute_micros / point.cached_micros, point.max_abs_logit_diff,
               point.same_token ? "yes" : "no");
    std::fflush(stdout);
}

Json race_json(const Arguments& arguments, const RunRecording& recording, const std::vector<DerivedPoint>& derived) {
    Json result;
    const RunFacts& facts = recording.facts();
    result["run"] = {{"program_version", facts.program_version},
                     {"commit", facts.commit},
                     {"model", arguments.model},
                     {"backend", facts.backend},
                     {"cpu", facts.cpu},
                     {"instruction_set", facts.instruction_set},
                     {"threads", facts.threads},
                     {"weights", facts.weights_type},
                     {"cache", facts.cache_spec},
                     {"kv_type", facts.kv_type},
                     {"seed", facts.sampler.seed},
                     {"date", facts.date}};
    result["rows"] = Json::array();
    for (std::int32_t i = 0; i < recording.race_count(); ++i) {
        const RacePoint p = recording.race_point(i);
        result["rows"].push_back({{"length", p.length},
                                  {"cached_micros", p.cached_micros},
                                  {"recompute_micros", p.recompute_micros},
                                  {"max_abs_logit_diff", p.max_abs_logit_diff},
                                  {"same_token", p.same_token}});
    }
    result["derived"] = Json::array();
    for (const DerivedPoint& p : derived)
        result["derived"].push_back(
            {{"length", p.length}, {"recompute_micros", p.recompute_micros}, {"origin", "derived"}});
    return result;
}

// Runs the recompute lane after the pass just made, when the schedule says so.
class RaceRunner {
public:
    RaceRunner(const Arguments& arguments, Generation& generation, RecomputeLane& lane)
        : arguments_(arguments), generation_(generation), lane_(lane) {}

    Status after_pass(std::stop_token stop) {
        const StepFacts& step = generation_.last_step();
        const std::int64_t length = step.kv.tokens_seen;
        const double expected =
            last_length_ == 0 ? 0 : last_micros_ * static_cast<double>(length) / static_cast<double>(last_length_);
        // The prefill computes many tokens at once: it is no price of one cached token.
        if (step.phase != Phase::Decode || !arguments_.schedule.due(length, spent_, expected)) return {};
        const auto tokens = generation_.tokens().first(static_cast<std::size_t>(length));
        auto point = lane_.compare(tokens, generation_.last_logits(), step.micros, stop);
        if (!point) return point.error();
        point->step = step.index;
        point->captured = step.captured;
        spent_ += last_micros_ = point->recompute_micros;
        last_length_ = length;
        generation_.recording()->append_race_point(*point);
        if (!arguments_.json) print_row(*point);
        return {};
    }

private:
    const Arguments& arguments_;
    Generation& generation_;
    RecomputeLane& lane_;
    double spent_ = 0, last_micros_ = 0;
    std::int64_t last_length_ = 0;
};

Result<std::vector<std::int32_t>> race_prompt(const Arguments& arguments, const Model& model, std::stop_token stop) {
    if (arguments.has_prompt || arguments.has_tokens) return prompt_tokens(arguments, model, stop);
    // Without a prompt: the opening demonstration, or token 0 where the model has none.
    if (model.presets.empty()) return std::vector<std::int32_t>{0};
    return model.tokenizer->encode(model.presets.front().text, EncodeOptions{}, stop);
}

}  // namespace

Status run_race(const Arguments& arguments, std::stop_token stop) {
    auto loaded = open_for(arguments, stop);
    if (!loaded) return loaded.error();
    auto prompt = race_prompt(arguments, *(*loaded)->model, stop);
    if (!prompt) return prompt.error();

    SessionConfig session_config;
    session_config.cache = cache_or_default(arguments);
    session_config.kv = kv_or_default(arguments);
    session_config.expected_tokens = static_cast<std::int64_t>(prompt->size()) + arguments.new_tokens;
    session_config.prefill_chunk = arguments.chunk;
    auto session = DecodeSession::create(*loaded, session_config);
    if (!session) return session.error();
    auto lane = RecomputeLane::create(*loaded);
    if (!lane) return lane.error();

    GenerationConfig config;
    config.sampler = arguments.sampler;
    config.new_tokens = std::max<std::int64_t>(arguments.new_tokens, 1);
    config.stop_at_eos = !arguments.ignore_eos;
    std::shared_ptr<DecodeSession> shared = std::move(session).value();
    auto recording = std::make_shared<RunRecording>(make_run_facts(*shared, arguments.sampler), RecordingLimits{0});
    Generation generation(shared, config, recording);
    DS_RETURN_IF_ERROR(generation.start(*prompt, {}, stop));
    if (!arguments.json)
        fmt::print("{:>7} {:>12} {:>14} {:>9} {:>14}  {}\n", "length", "cached ms", "recompute ms", "times",
                   "logit diff", "same token");
    RaceRunner runner(arguments, generation, **lane);
    while (!generation.finished()) {
        DS_RETURN_IF_ERROR(generation.step(stop));
        DS_RETURN_IF_ERROR(runner.after_pass(stop));
    }
    const auto derived = derived_points(**loaded, *recording);
    if (arguments.json) fmt::print("{}\n", race_json(arguments, *recording, derived).dump(1));
    else if (!derived.empty())
        fmt::print("{} lengths between were not measured; --json lists their derived times.\n", derived.size());
    return {};
}

}  // namespace decodescope
