// `demo`: the opening demonstration in the terminal. Both lanes on the same tokens as a live table, then a short sweep;
// under a minute on two cores.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/measure/race.h"
#include "engine/measure/run_export.h"
#include "engine/support/numbers.h"
#include "engine/support/output_file.h"
#include "engine/trace/recording_file.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kDemoTokens = 240;

const PromptPreset* opening_preset(const Model& model, const std::string& language) {
    for (const PromptPreset& preset : model.presets)
        if (preset.language == (language.empty() ? "en" : language)) return &preset;
    return model.presets.empty() ? nullptr : &model.presets.front();
}

// The newest line is written over itself on a terminal; every 20th stays.
class LiveTable {
public:
    LiveTable() : terminal_(isatty(1) != 0) {
        print("{:>6}  {:<18} {:>10} {:>13} {:>8} {:>12}  {}\n", "tokens", "new token", "cached ms", "recompute ms",
              "times", "cache", "same answer");
    }

    void row(const StepFacts& step, const std::string& token, const RacePoint& point) {
        const bool stays = point.length % 20 == 0;
        if (!terminal_ && !stays) return;
        const std::string line = fmt::format(
            "{:>6}  {:<18} {:>10.3f} {:>13.3f} {:>8.2f} {:>12}  {}", point.length, token, point.cached_micros / 1000.0,
            point.recompute_micros / 1000.0, point.recompute_micros / point.cached_micros,
            format_bytes(step.kv.used_bytes),
            point.same_token ? fmt::format("yes (logits differ by {:.1g})", point.max_abs_logit_diff) : "NO");
        print("{}{}{}", terminal_ ? "\r\x1b[K" : "", line, stays ? "\n" : "");
        flush_out();
    }

    void finish() {
        if (terminal_) print("\r\x1b[K");
    }

private:
    bool terminal_;
};

// Until the text is as long as wanted; a stop leaves what was measured.
Status race_to_end(Generation& generation, RecomputeLane& lane, LiveTable& table, std::stop_token stop) {
    RunRecording& recording = *generation.recording();
    while (!generation.finished()) {
        DS_RETURN_IF_ERROR(generation.step(stop));
        const StepFacts& step = generation.last_step();
        if (step.phase != Phase::Decode) continue;
        auto point = lane.compare(generation.tokens().first(static_cast<std::size_t>(step.kv.tokens_seen)),
                                  generation.last_logits(), step.micros, stop);
        if (!point) return point.error();
        point->step = step.index;
        point->captured = step.captured;
        recording.append_race_point(*point);
        table.row(step, shown_token(recording.row_display(recording.row_count() - 1)), *point);
    }
    return {};
}

Result<std::shared_ptr<RunRecording>> live_run(const Arguments& arguments, const LoadedModelPtr& loaded,
                                               double bandwidth_gb_s, std::stop_token stop) {
    const Model& model = *loaded->model;
    const PromptPreset* preset = opening_preset(model, arguments.language);
    std::vector<std::int32_t> prompt{0};
    if (preset != nullptr) {
        auto tokens = model.tokenizer->encode(preset->text, EncodeOptions{}, stop);
        if (!tokens) return tokens.error();
        prompt = std::move(tokens).value();
        print("{}\n\n", preset->text);
    }
    SessionConfig session_config;
    session_config.cache = cache_or_default(arguments);
    session_config.expected_tokens = static_cast<std::int64_t>(prompt.size()) + kDemoTokens;
    session_config.capture_attention = true;
    session_config.profile = true;
    auto session = DecodeSession::create(loaded, session_config);
    if (!session) return session.error();
    auto lane = RecomputeLane::create(loaded);
    if (!lane) return lane.error();
    GenerationConfig config;
    config.new_tokens = kDemoTokens;
    config.stop_at_eos = false;
    std::shared_ptr<DecodeSession> shared = std::move(session).value();
    RunFacts facts = facts_of_run(*shared, SamplerConfig{}, prompt.size());
    facts.bandwidth_gb_s = bandwidth_gb_s;
    auto recording = std::make_shared<RunRecording>(std::move(facts), RecordingLimits{});
    say_when_meaningless(model);
    Generation generation(shared, config, recording);
    DS_RETURN_IF_ERROR(generation.start(prompt, {}, stop));
    LiveTable table;
    const Status status = race_to_end(generation, **lane, table, stop);
    table.finish();
    if (!status.ok() && status.error().kind != ErrorKind::Cancelled) return status.error();
    std::string text;
    for (std::int32_t row = static_cast<std::int32_t>(prompt.size()); row < recording->row_count(); ++row)
        text += recording->row_text(row);
    print("\n{}\n\n", text);
    return recording;
}

std::string run_json(const RunRecording& recording) {
    double cached = 0, recomputed = 0;
    Json j;
    j["run"] = Json::parse(run_facts_json(recording.facts()));
    j["steps"] = Json::array();
    for (std::int32_t i = 0; i < recording.step_count(); ++i) {
        const auto step = recording.step(i);
        j["steps"].push_back({{"step", i},
                              {"phase", step->phase == Phase::Decode ? "decode" : "prefill"},
                              {"rows", step->row_count},
                              {"token", step->sampled_token},
                              {"micros", step->micros},
                              {"captured", step->captured},
                              {"tokens_seen", step->kv.tokens_seen},
                              {"kv_bytes_used", step->kv.used_bytes},
                              {"kv_bytes_reserved", step->kv.reserved_bytes}});
    }
    j["race"] = Json::array();
    for (std::int32_t i = 0; i < recording.race_count(); ++i) {
        const RacePoint p = recording.race_point(i);
        cached += p.cached_micros;
        recomputed += p.recompute_micros;
        j["race"].push_back({{"length", p.length},
                             {"cached_micros", p.cached_micros},
                             {"recompute_micros", p.recompute_micros},
                             {"max_abs_logit_diff", p.max_abs_logit_diff},
                             {"same_token", p.same_token}});
    }
    j["totals"] = {{"cached_micros", cached}, {"recompute_micros", recomputed}};
    return j.dump(1) + "\n";
}

Result<SweepResult> short_sweep(const LoadedModelPtr& loaded, std::stop_token stop) {
    SweepRequest request;
    request.lengths = {64, 96, 128, 192, 256, 384, 512};
    request.caches = {*parse_cache_spec("preallocated"), *parse_cache_spec("growing"), *parse_cache_spec("recompute")};
    request.repeats = 5;
    std::erase_if(request.lengths, [&](std::int64_t length) { return length > loaded->model->config.context; });
    return run_sweep(loaded, request, {}, stop);
}

Error stopped_too_early() {
    return make_error(ErrorKind::Cancelled, "stopped before anything was measured; older results are unchanged.");
}

Status write_data(const DemoResult& result, const std::string& folder, OutputSet& files) {
    if (!result.sweep.rows.empty()) {
        DS_RETURN_IF_ERROR(files.add(folder + "/timing.csv", sweep_csv(result.sweep)));
        DS_RETURN_IF_ERROR(files.add(folder + "/timing.json", sweep_json(result.sweep)));
    }
    DS_RETURN_IF_ERROR(files.add(folder + "/run.json", run_json(*result.recording)));
    auto recording = files.create(folder + "/run.dscope");
    if (!recording) return recording.error();
    return write_recording(*result.recording, **recording, {}, {});
}

}  // namespace

Result<DemoResult> run_demo(const Arguments& arguments, std::stop_token stop, OutputSet& files) {
    DS_RETURN_IF_ERROR(check_outputs(arguments.output, {"timing.csv", "timing.json", "timing.png", "timing.svg",
                                                        "timing.pdf", "run.json", "run.dscope", "window.png"}));
    auto loaded = open_for(arguments, stop);
    if (!loaded && loaded.error().kind == ErrorKind::Cancelled) return stopped_too_early();
    if (!loaded) return loaded.error();
    const double bandwidth = measured_ceiling(**loaded, stop).read_gb_s;
    auto recording = live_run(arguments, *loaded, bandwidth, stop);
    if (!recording && recording.error().kind == ErrorKind::Cancelled) return stopped_too_early();
    if (!recording) return recording.error();
    DemoResult result;
    result.recording = *recording;
    if (result.recording->race_count() == 0) return stopped_too_early();
    if (!stop.stop_requested()) {
        auto sweep = short_sweep(*loaded, stop);
        if (!sweep) return sweep.error();
        result.sweep = std::move(sweep).value();
        result.sweep.run.bandwidth_gb_s = bandwidth;
    }
    result.cancelled = stop.stop_requested();
    DS_RETURN_IF_ERROR(write_data(result, arguments.output, files));
    return result;
}

}  // namespace decodescope
