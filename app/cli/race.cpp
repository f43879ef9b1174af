// `race`: the same tokens with and without a cache. Between the measured passes the derived curve, marked as such.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/measure/commentary.h"
#include "engine/measure/cost_model.h"
#include "engine/measure/run_export.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

struct DerivedPoint {
    std::int64_t length = 0;
    double recompute_micros = 0;
};

// The recompute curve at the lengths between the measured ones, fitted to those. Beyond them nothing holds it.
std::vector<DerivedPoint> derived_points(const LoadedModel& model, const RunRecording& recording) {
    std::vector<Cost> costs;
    std::vector<double> micros;
    std::vector<std::int32_t> measured;  // ascending, as the run was
    for (std::int32_t i = 0; i < recording.race_count(); ++i) {
        const RacePoint point = recording.race_point(i);
        costs.push_back(recompute_step_cost(model.program, model.model->config, point.length));
        micros.push_back(point.recompute_micros);
        measured.push_back(point.length);
    }
    std::vector<DerivedPoint> points;
    const CostFit fit = fit_cost(costs, micros);
    if (!fit.valid) return points;
    for (std::int32_t length = measured.front() + 1; length < measured.back(); ++length) {
        if (std::binary_search(measured.begin(), measured.end(), length)) continue;
        points.push_back({length, fit.micros(recompute_step_cost(model.program, model.model->config, length))});
    }
    return points;
}

void print_row(const RacePoint& point) {
    print("{:>7} {:>12.3f} {:>14.3f} {:>9.2f} {:>14.3g}  {}\n", point.length, point.cached_micros / 1000.0,
          point.recompute_micros / 1000.0, point.recompute_micros / point.cached_micros, point.max_abs_logit_diff,
          point.same_token ? "yes" : "no");
    flush_out();
}

Json race_json(const RunRecording& recording, const std::vector<DerivedPoint>& derived,
               const std::string& stop_reason, const std::string& note) {
    Json result;
    result["run"] = Json::parse(run_facts_json(recording.facts()));
    result["stop_reason"] = stop_reason;
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
    result["summary"] = gain_sentence(recording).english;
    if (!note.empty()) result["note"] = note;
    return result;
}

// Runs the recompute lane after the pass just made, when the schedule says so.
class RaceRunner {
public:
    RaceRunner(const Arguments& arguments, Generation& generation, RecomputeLane& lane, bool prompt_asked)
        : arguments_(arguments), generation_(generation), lane_(lane), prompt_asked_(prompt_asked) {}

    Status after_pass(std::stop_token stop) {
        const StepFacts& step = generation_.last_step();
        const std::int64_t length = step.kv.tokens_seen;
        const double expected =
            last_length_ == 0 ? 0 : last_micros_ * static_cast<double>(length) / static_cast<double>(last_length_);
        // The prefill computes many tokens at once: that is no price of one cached token, unless the prompt's own
        // length was asked for and its last token was therefore fed alone.
        if (step.phase != Phase::Decode && !prompt_asked_) return {};
        if (!arguments_.schedule.due(length, spent_, expected)) return {};
        if (const ModelConfig& model = generation_.session().model().model->config; !can_recompute(length, model)) {
            note_ = fmt::format(
                "Beyond {} tokens, the model's context, the cached lane went on alone: a pass without a cache would "
                "have to read all tokens at once.",
                model.context);
            return {};
        }
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

    const std::string& note() const { return note_; }  // why lengths that were due have no row; else empty

private:
    const Arguments& arguments_;
    Generation& generation_;
    RecomputeLane& lane_;
    bool prompt_asked_;
    double spent_ = 0, last_micros_ = 0;
    std::int64_t last_length_ = 0;
    std::string note_;
};

Result<std::vector<std::int32_t>> race_prompt(const Arguments& arguments, const Model& model, std::stop_token stop) {
    if (arguments.has_prompt || arguments.has_tokens) return prompt_tokens(arguments, model, stop);
    // Without a prompt: the opening demonstration, or token 0 where the model has none.
    if (model.presets.empty()) return std::vector<std::int32_t>{0};
    return model.tokenizer->encode(model.presets.front().text, EncodeOptions{}, stop);
}

std::string joined(const std::vector<std::int64_t>& lengths) { return fmt::format("{}", fmt::join(lengths, ", ")); }

// Which lengths of `--recompute at=` this run can reach. One token has no row: the last one is never fed.
Status check_lengths(const RaceSchedule& schedule, std::int64_t prompt, std::int64_t new_tokens,
                     const DecodeSession& session) {
    const ModelConfig& model = session.model().model->config;
    // Too long a prompt is refused later.
    if (schedule.mode != RaceSchedule::Mode::At || prompt > session.context()) return {};
    const std::int64_t last = std::min(prompt + new_tokens - 1, session.context());
    std::vector<std::int64_t> inside, alone, beyond;
    for (const std::int64_t length : schedule.lengths) {
        if (length < prompt) inside.push_back(length);
        else if (length > last) beyond.push_back(length);
        else if (!can_recompute(length, model)) alone.push_back(length);
    }
    const std::size_t missed = inside.size() + alone.size() + beyond.size();
    if (missed == 0) return {};
    std::vector<std::string> what;
    if (!inside.empty()) what.push_back(fmt::format("{} inside the prompt of {} tokens", joined(inside), prompt));
    if (!alone.empty())
        what.push_back(fmt::format("{} beyond the context of {} tokens, which a pass without a cache cannot exceed",
                                   joined(alone), model.context));
    if (!beyond.empty()) what.push_back(fmt::format("{} beyond the end of the run", joined(beyond)));
    const std::string sentence = fmt::format("--recompute at: cannot be reached: {}; the run goes from {} to {} tokens.",
                                             fmt::join(what, " and "), prompt, last);
    if (missed == schedule.lengths.size())
        return make_error(ErrorKind::Argument, sentence, "Choose other lengths or more new tokens (-n).");
    print_message("decodescope: {}\n", sentence);
    return {};
}

// All but the last token of the prompt, the one before it alone, so that the pass of the last is one like any other.
Status feed_but_last(DecodeSession& session, std::span<const std::int32_t> prompt, std::stop_token stop) {
    const std::size_t count = prompt.size() - 1;
    for (std::size_t done = 0; done < count;) {
        const std::size_t together = count - done > 1 ? count - done - 1 : 1;
        const std::size_t rows = std::min(together, static_cast<std::size_t>(session.max_pass_rows()));
        auto pass = session.feed(prompt.subspan(done, rows), stop);
        if (!pass) return pass.error();
        done += rows;
    }
    return {};
}

// What was asked for and did not come: the run may have ended early.
Status check_rows(const RaceSchedule& schedule, const Generation& generation, const RunRecording& recording) {
    if (schedule.mode != RaceSchedule::Mode::At || generation.stop_reason() == "cancelled") return {};
    const std::int64_t reached = recording.step(recording.step_count() - 1)->kv.tokens_seen;
    std::vector<std::int64_t> missed;
    for (const std::int64_t length : schedule.lengths)
        if (length > reached) missed.push_back(length);
    if (generation.stop_reason() != "eos" || missed.empty()) return {};
    const std::string sentence = fmt::format("the text ended after {} tokens, before {}.", reached, joined(missed));
    if (recording.race_count() == 0)
        return make_error(ErrorKind::Argument, sentence, "--ignore-eos goes on after the end token.");
    print_message("decodescope: {}\n", sentence);
    return {};
}

void print_end(const RunRecording& recording, std::size_t derived, bool prompt_asked, const std::string& stop_reason,
               const std::string& note) {
    std::int32_t lengths = prompt_asked ? 1 : 0;
    for (std::int32_t i = 0; i < recording.step_count(); ++i) lengths += recording.step(i)->phase == Phase::Decode;
    print("{} of {} lengths measured; stopped: {}.\n", recording.race_count(), lengths, stop_reason);
    if (derived > 0) print("--json lists derived times for the {} between them.\n", derived);
    print("{}\n", gain_sentence(recording).english);
    if (!note.empty()) print("{}\n", note);
}

// Measures until the end or until a stop was asked for; what was measured stays.
Status run_to_end(Generation& generation, RaceRunner& runner, std::stop_token stop) {
    Status status = runner.after_pass(stop);
    while (status.ok() && !generation.finished()) {
        status = generation.step(stop);
        if (status.ok()) status = runner.after_pass(stop);
    }
    if (status.ok() || status.error().kind != ErrorKind::Cancelled) return status;
    generation.set_stop_reason("cancelled");
    return {};
}

}  // namespace

Status run_race(const Arguments& arguments, std::stop_token stop) {
    auto loaded = open_for(arguments, stop);
    if (!loaded) return loaded.error();
    auto prompt = race_prompt(arguments, *(*loaded)->model, stop);
    if (!prompt) return prompt.error();
    const auto prompt_length = static_cast<std::int64_t>(prompt->size());
    const std::int64_t new_tokens = std::max<std::int64_t>(arguments.new_tokens, 1);

    SessionConfig session_config;
    session_config.cache = cache_or_default(arguments);
    session_config.kv = kv_or_default(arguments);
    session_config.expected_tokens = prompt_length + arguments.new_tokens;
    session_config.prefill_chunk = arguments.chunk;
    auto session = DecodeSession::create(*loaded, session_config);
    if (!session) return session.error();
    DS_RETURN_IF_ERROR(check_lengths(arguments.schedule, prompt_length, new_tokens, **session));
    auto lane = RecomputeLane::create(*loaded);
    if (!lane) return lane.error();

    GenerationConfig config;
    config.sampler = arguments.sampler;
    config.new_tokens = new_tokens;
    config.stop_at_eos = !arguments.ignore_eos;
    std::shared_ptr<DecodeSession> shared = std::move(session).value();
    RunFacts facts = facts_of_run(*shared, arguments.sampler, prompt->size());
    facts.bandwidth_gb_s = measured_ceiling(**loaded, stop).read_gb_s;
    auto recording = std::make_shared<RunRecording>(std::move(facts), RecordingLimits{0});
    const bool prompt_asked =
        arguments.schedule.mode == RaceSchedule::Mode::At && arguments.schedule.due(prompt_length, 0, 0);
    if (prompt_asked) DS_RETURN_IF_ERROR(feed_but_last(*shared, *prompt, stop));
    Generation generation(shared, config, recording);
    DS_RETURN_IF_ERROR(generation.start(*prompt, {}, stop));
    if (!arguments.json)
        print("{:>7} {:>12} {:>14} {:>9} {:>14}  {}\n", "length", "cached ms", "recompute ms", "times", "logit diff",
              "same token");
    RaceRunner runner(arguments, generation, **lane, prompt_asked);
    DS_RETURN_IF_ERROR(run_to_end(generation, runner, stop));
    DS_RETURN_IF_ERROR(check_rows(arguments.schedule, generation, *recording));
    const auto derived = derived_points(**loaded, *recording);
    if (arguments.json)
        print("{}\n", race_json(*recording, derived, generation.stop_reason(), runner.note())
              .dump(1, ' ', false, Json::error_handler_t::replace));
    else
        print_end(*recording, derived.size(), prompt_asked, generation.stop_reason(), runner.note());
    return {};
}

}  // namespace decodescope
