#include "ui/session/live_run.h"

#include <QCoreApplication>

#include "engine/measure/run_facts.h"
#include "engine/text/least_tokens.h"

namespace decodescope {

namespace {

struct LiveRunText {
    Q_DECLARE_TR_FUNCTIONS(decodescope::LiveRun)
};

Error cancelled() { return make_error(ErrorKind::Cancelled, "Cancelled."); }

GenerationConfig generation_config(const SessionSettings& settings) {
    GenerationConfig config;
    config.sampler = settings.sampler;
    config.new_tokens = settings.new_tokens;
    config.stop_at_eos = settings.stop_at_eos;
    return config;
}

void copy_row(const RunRecording& from, RunRecording& to, std::int32_t index) {
    const int layers = static_cast<int>(from.facts().config.layers);
    std::vector<float> k_rms(layers), v_rms(layers);
    std::vector<const std::uint16_t*> attention(layers, nullptr);
    std::int32_t entries = 0;
    std::span<const std::int32_t> positions;
    for (int layer = 0; layer < layers; ++layer) {
        k_rms[layer] = from.k_rms(index, layer);
        v_rms[layer] = from.v_rms(index, layer);
        const AttentionRow row = from.attention(index, layer);
        if (!row.captured) continue;
        attention[layer] = row.weights.data();
        entries = row.entries;
        positions = row.positions;
    }
    RunRecording::NewRow row{from.row(index), from.row_display(index), from.row_text(index)};
    for (int layer = 0; layer < layers && from.layers_differ(index); ++layer) {
        const AttentionRow seen = from.attention(index, layer);
        row.layers.push_back({seen.entries, seen.positions});
    }
    to.append_row_f16(row, k_rms, v_rms, attention, entries, positions, from.attention_left_out(index));
}

}  // namespace

KnownTokens known_tokens(const RunRecording& recording, std::int32_t rows) {
    KnownTokens known;
    known.tokens.reserve(rows);
    known.generated = std::make_unique<bool[]>(rows);
    for (std::int32_t i = 0; i < rows; ++i) {
        const TokenRow& row = recording.row(i);
        known.tokens.push_back(row.token);
        known.generated[i] = row.generated;
        if (!row.generated) known.prompt = i + 1;
    }
    return known;
}

Status copy_steps(const RunRecording& from, RunRecording& to, std::int32_t steps, std::stop_token stop) {
    for (const std::int32_t token : from.named_tokens()) to.name_token(token, from.token_display(token));
    for (std::int32_t index = 0; index < steps; ++index) {
        if (stop.stop_requested()) return cancelled();
        const auto step = from.step(index);
        for (std::int32_t row = step->first_row; row < step->first_row + step->row_count; ++row)
            copy_row(from, to, row);
        to.append_step(*step);
    }
    for (std::int32_t i = 0; i < from.race_count(); ++i)
        if (const RacePoint point = from.race_point(i); point.step < steps) to.append_race_point(point);
    return {};
}

ProgressFn RunMaker::progress(WorkKind kind) {
    return [this, kind](std::int64_t done, std::int64_t total) { link_.report({kind, done, total, {}}); };
}

Result<LiveRunPtr> RunMaker::prepare(LoadedModelPtr loaded, const SessionSettings& settings,
                                     std::size_t prompt_tokens) {
    SessionConfig config;
    config.cache = settings.cache;
    config.kv = settings.kv;
    config.expected_tokens =
        settings.new_tokens > 0 ? static_cast<std::int64_t>(prompt_tokens) + settings.new_tokens : 0;
    config.capture_attention = link_.capture.load();
    config.profile = settings.profile;
    auto session = driver_.create_session(loaded, config);
    if (!session.ok()) return session.error();

    auto run = std::make_unique<LiveRun>();
    run->settings = settings;
    run->loaded = std::move(loaded);
    run->session = std::move(session).value();
    RunFacts facts = make_run_facts(*run->session, settings.sampler);
    facts.prompt_tokens = static_cast<std::int64_t>(prompt_tokens);
    run->recording = std::make_shared<RunRecording>(std::move(facts), RecordingLimits{});
    run->generation = std::make_unique<Generation>(run->session, generation_config(settings), run->recording);
    return run;
}

Result<LiveRunPtr> RunMaker::begin(LiveRunPtr run, std::span<const std::int32_t> prompt, std::stop_token stop) {
    DS_RETURN_IF_ERROR(run->generation->start(prompt, progress(WorkKind::Prefill), stop));
    const StepFacts& prefill = run->generation->last_step();
    run->pacer.guess(prefill.micros, prefill.flops);
    return run;
}

Result<LiveRunPtr> RunMaker::start(LoadedModelPtr loaded, const SessionSettings& settings, std::stop_token stop) {
    EncodeOptions options;
    options.parse_special = settings.parse_special;
    const std::string text = settings.prompt.toStdString();
    const Model& model = *loaded->model;
    DS_RETURN_IF_ERROR(check_text_bytes(*model.tokenizer, text.size(), model.config.context));
    auto tokens = model.tokenizer->encode(text, options, stop);
    if (!tokens.ok()) return tokens.error();
    if (tokens->empty())
        return make_error(ErrorKind::Argument, LiveRunText::tr("The prompt is empty.").toStdString(),
                          LiveRunText::tr("Type some text or choose one of the prompts.").toStdString());
    auto run = prepare(std::move(loaded), settings, tokens->size());
    if (!run.ok()) return run.error();
    return begin(std::move(run).value(), *tokens, stop);
}

Result<LiveRunPtr> RunMaker::feed_again(LoadedModelPtr loaded, const SessionSettings& settings,
                                        const KnownTokens& known, std::stop_token stop) {
    auto made = prepare(std::move(loaded), settings, known.prompt);
    if (!made.ok()) return made.error();
    LiveRunPtr run = std::move(made).value();
    if (known.prompt == known.tokens.size()) return begin(std::move(run), known.tokens, stop);
    DS_RETURN_IF_ERROR(run->generation->feed_again(known.tokens, known.marks(0), progress(WorkKind::Refeed), stop));
    const StepFacts& fed = run->generation->last_step();
    run->pacer.guess(fed.micros, fed.flops);
    return run;
}

Result<LiveRunPtr> RunMaker::cut_back(LiveRun& old, std::int32_t step, GoOn how, std::stop_token stop) {
    const auto last = old.recording->step(step);
    const KnownTokens known = known_tokens(*old.recording, last->first_row + last->row_count);
    if (step == 0 || old.broken) return feed_again(old.loaded, old.settings, known, stop);

    // What was recorded before the step is copied; the step itself is fed again, which brings its logits back.
    auto run = std::make_unique<LiveRun>();
    RunFacts facts = old.recording->facts();
    facts.date = utc_date();
    run->recording = std::make_shared<RunRecording>(std::move(facts), RecordingLimits{});
    DS_RETURN_IF_ERROR(copy_steps(*old.recording, *run->recording, step, stop));
    run->session = old.session;
    if (how == GoOn::InABranch) {
        auto fork = old.session->fork();
        if (!fork.ok()) return fork.error();
        run->session = std::move(fork).value();
    }
    if (const Status kept = run->session->truncate(last->first_row); !kept.ok()) {
        if (kept.error().kind != ErrorKind::Unsupported) return kept.error();
        return feed_again(old.loaded, old.settings, known, stop);
    }
    run->settings = old.settings;
    run->loaded = old.loaded;
    run->pacer = old.pacer;
    run->generation = std::make_unique<Generation>(run->session, generation_config(run->settings), run->recording);
    run->session->set_capture(link_.capture.load());
    old.broken = how == GoOn::InPlace;  // its session is shorter than its recording from here on
    run->generation->mark_generated(known.marks(0).first(last->first_row));
    DS_RETURN_IF_ERROR(run->generation->feed_again(std::span(known.tokens).subspan(last->first_row),
                                                   known.marks(last->first_row), progress(WorkKind::Refeed), stop));
    return run;
}

}  // namespace decodescope
