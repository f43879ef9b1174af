#include "engine/decode/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/decode/prompt_check.h"

namespace decodescope {
namespace {

constexpr int kListedTokens = 10;

// Adds what one pass of a longer step did. Counts add up; what describes a state is that of the last pass.
void add_pass(StepFacts& step, const PassResult& pass) {
    if (step.row_count > 0) ++step.passes;
    step.last_pass_rows = static_cast<std::int32_t>(pass.rows);
    step.row_count += pass.rows;
    step.micros += pass.micros;
    step.host_micros += pass.host_micros;
    step.graph_captures += pass.graph_captures;
    step.captured = step.captured || !pass.attention.empty();
    step.warm_up = step.warm_up || pass.warm_up;
    step.flops += pass.flops;
    step.bytes += pass.bytes;
    const KvFacts before = step.kv;
    step.kv = pass.kv;
    step.kv.rows_written += before.rows_written;
    step.kv.copied_bytes += before.copied_bytes;
    step.kv.pages_copied += before.pages_copied;
    step.kv.offload_fetched_bytes += before.offload_fetched_bytes;
    step.kv.offload_returned_bytes += before.offload_returned_bytes;
    step.kv.offload_micros += before.offload_micros;
    step.kv.peak_bytes = std::max(step.kv.peak_bytes, before.peak_bytes);
    step.evicted.insert(step.evicted.end(), pass.evicted.begin(), pass.evicted.end());
    step.ops.resize(std::max(step.ops.size(), pass.ops.size()));
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        step.ops[i].stage = pass.ops[i].stage;
        step.ops[i].micros += pass.ops[i].micros;
    }
}

}  // namespace

struct Generation::State {
    State(std::shared_ptr<DecodeSession> session_in, const GenerationConfig& config_in,
          std::shared_ptr<RunRecording> recording_in)
        : session(std::move(session_in)),
          config(config_in),
          recording(std::move(recording_in)),
          sampler(config_in.sampler),
          text(tokenizer(), true) {
        const auto held = session->tokens();
        tokens.assign(held.begin(), held.end());
        is_generated.assign(tokens.size(), 0);
        if (recording == nullptr) return;
        step_index = recording->step_count();
        if (recording->row_count() > 0) rows_recorded = seen();  // a recording of this very session goes on
    }

    const Model& model() const { return *session->model().model; }
    const Tokenizer& tokenizer() const { return *model().tokenizer; }
    std::int64_t seen() const { return static_cast<std::int64_t>(session->tokens().size()); }
    std::int64_t generated() const { return std::count(is_generated.begin(), is_generated.end(), char{1}); }
    // A model file may name several; the tokenizer knows one.
    bool is_end_token(std::int32_t token) const {
        const auto& ends = model().config.end_tokens;
        return std::find(ends.begin(), ends.end(), token) != ends.end() || tokenizer().eos() == token;
    }
    bool length_reached() const { return config.new_tokens > 0 && generated() >= config.new_tokens; }
    std::span<const float> sampled_logits() const { return sampled_part(logits, model().sampled_vocabulary); }

    Status check_prompt(std::span<const std::int32_t> prompt) const;
    void open(std::size_t fed, Phase phase, bool sample);
    Status open_decode();
    std::span<const std::int32_t> next_pass() const;
    Status take(const PassResult& pass);
    void abandon(const Error& why);
    Status run(const ProgressFn& progress, std::stop_token stop);
    Status sample_next();
    void follow_session();
    void drop_pending() {
        tokens.pop_back();
        is_generated.pop_back();
        pending = false;
    }
    void record_row(std::int32_t token, const PassResult* pass, std::int32_t pass_row);
    void name_tokens();
    void publish();

    std::shared_ptr<DecodeSession> session;
    GenerationConfig config;
    std::shared_ptr<RunRecording> recording;
    Sampler sampler;
    TextStream text;
    std::vector<std::int32_t> tokens;  // fed ones, then the pending one
    std::vector<char> is_generated;    // of tokens
    std::vector<float> logits;         // of the last fed row
    bool pending = false;
    std::string stop_reason;
    std::int32_t step_index = 0;
    std::int64_t rows_recorded = 0;    // tokens 0 .. rows_recorded - 1 have a row
    StepFacts step;                    // being built, then the last one
    // A step that was opened and whose passes are not all taken yet: it feeds the end of `tokens`.
    bool is_open = false, samples = false;
    StepFacts step_before;
    Placement placement;               // as of the last step that was recorded
};

Status Generation::State::check_prompt(std::span<const std::int32_t> prompt) const {
    DS_RETURN_IF_ERROR(check_prompt_length(std::ssize(prompt), session->context()));
    return check_prompt_tokens(prompt, session->model().program.vocabulary);
}

// The caller may have cut the session; what is beyond it is no longer part of the run.
void Generation::State::follow_session() {
    const auto count = static_cast<std::size_t>(seen());
    if (tokens.size() == count + (pending ? 1 : 0)) return;
    tokens.assign(session->tokens().begin(), session->tokens().end());
    is_generated.resize(count, 0);
    pending = false;
    rows_recorded = std::min(rows_recorded, seen());
    text = TextStream(tokenizer(), true);
    for (std::int64_t i = 0; i < rows_recorded; ++i) text.push(tokens[static_cast<std::size_t>(i)]);
}

void Generation::State::record_row(std::int32_t token, const PassResult* pass, std::int32_t pass_row) {
    RunRecording::NewRow row;
    row.row.token = token;
    row.row.position = static_cast<std::int32_t>(rows_recorded);
    row.row.step = step.index;
    row.row.phase = step.phase;
    row.row.generated = is_generated[static_cast<std::size_t>(rows_recorded)] != 0;
    row.row.special = tokenizer().is_special(token);
    row.text = text.push(token);
    ++rows_recorded;
    if (recording == nullptr) return;
    row.display = tokenizer().display(token);
    if (pass == nullptr) {
        recording->append_row(row, {}, {}, {}, 0, {});
        return;
    }
    const auto& shape = model().config;
    const std::size_t layers = static_cast<std::size_t>(shape.layers);
    const std::size_t first = static_cast<std::size_t>(pass_row) * layers;
    std::vector<const float*> attention;
    for (const float* layer : pass->attention) {
        attention.push_back(layer == nullptr ? nullptr : layer + pass_row * shape.heads * pass->attention_stride);
    }
    for (std::size_t layer = 0; layer < pass->layer_entries.size(); ++layer) {
        const auto at = static_cast<std::int64_t>(layer);
        row.layers.push_back({pass->entry_count(pass_row, at), pass->entry_positions(pass_row, at)});
    }
    const std::int32_t entries = pass->entry_count(pass_row);
    recording->append_row(row, std::span(pass->k_rms).subspan(first, layers),
                          std::span(pass->v_rms).subspan(first, layers), attention, entries,
                          pass->entry_positions(pass_row), pass->attention_stride);
}

// One step begins: it will feed the last `fed` of `tokens`, then sample.
void Generation::State::open(std::size_t fed, Phase phase, bool sample) {
    step_before = std::exchange(step, StepFacts{});
    step.index = step_index;
    step.phase = phase;
    step.first_row = recording == nullptr ? static_cast<std::int32_t>(rows_recorded) : recording->row_count();
    pending = false;
    stop_reason.clear();
    is_open = true;
    samples = sample;
    const std::size_t first = tokens.size() - fed;
    // Rows that a session brought along belong to the first step, without attention.
    const auto seen_tokens = session->tokens();
    for (std::size_t i = static_cast<std::size_t>(rows_recorded); i < first; ++i) {
        record_row(seen_tokens[i], nullptr, 0);
        ++step.row_count;
    }
}

// What the open step feeds next; empty when none is open.
std::span<const std::int32_t> Generation::State::next_pass() const {
    if (!is_open) return {};
    const auto rest = std::span(tokens).subspan(static_cast<std::size_t>(seen()));
    return rest.first(std::min(rest.size(), static_cast<std::size_t>(session->max_pass_rows())));
}

// After the last pass of the step it samples and publishes the facts.
Status Generation::State::take(const PassResult& pass) {
    add_pass(step, pass);
    const auto rows = static_cast<std::size_t>(pass.rows);
    const auto fed = std::span<const std::int32_t>(tokens).subspan(static_cast<std::size_t>(seen()) - rows, rows);
    for (std::int32_t r = 0; r < pass.rows; ++r) record_row(fed[static_cast<std::size_t>(r)], &pass, r);
    logits.assign(pass.logits.begin(), pass.logits.end());
    if (config.on_pass) config.on_pass(pass, fed, step.phase);
    if (seen() < static_cast<std::int64_t>(tokens.size())) return {};
    if (samples) {
        if (Status status = sample_next(); !status.ok()) {
            abandon(status.error());
            return status;
        }
    } else {
        stop_reason = "length";
    }
    is_open = false;
    publish();
    return {};
}

// What was fed stays fed, and is published when it is more than nothing.
void Generation::State::abandon(const Error& why) {
    if (!is_open) return;
    is_open = false;
    if (why.kind == ErrorKind::Cancelled) stop_reason = "cancelled";
    const std::size_t kept = static_cast<std::size_t>(seen());
    pending = step.phase == Phase::Decode && kept < tokens.size();
    tokens.resize(kept + (pending ? 1 : 0));
    is_generated.resize(tokens.size());
    if (step.row_count > 0) {
        publish();
    } else {
        step = std::move(step_before);
    }
}

// The passes of the open step, one by one.
Status Generation::State::run(const ProgressFn& progress, std::stop_token stop) {
    const std::int64_t first = seen(), total = static_cast<std::int64_t>(tokens.size()) - first;
    while (is_open) {
        auto pass = session->feed(next_pass(), stop);
        if (!pass.ok()) {
            abandon(pass.error());
            return pass.error();
        }
        const std::int64_t done = seen() - first;
        DS_RETURN_IF_ERROR(take(*pass));
        if (progress) progress(done, total);
    }
    return {};
}

Status Generation::State::sample_next() {
    const auto choices = sampled_logits();
    step.top = top_probabilities(choices, kListedTokens);
    auto token = sampler.sample(choices);
    if (!token.ok()) return token.error();
    step.candidates = filtered_distribution(choices, config.sampler);
    if (step.candidates.size() > kListedTokens) step.candidates.resize(kListedTokens);
    step.sampled_token = *token;
    tokens.push_back(*token);
    is_generated.push_back(1);
    pending = true;
    if (config.stop_at_eos && is_end_token(*token)) {
        stop_reason = "eos";
    } else if (length_reached()) {
        stop_reason = "length";
    } else if (seen() >= session->context()) {
        stop_reason = "context_full";  // this token needs no row, the next one would
    }
    return {};
}

void Generation::State::name_tokens() {
    for (const auto* list : {&step.top, &step.candidates}) {
        for (const auto& entry : *list) recording->name_token(entry.token, tokenizer().display(entry.token));
    }
    if (step.sampled_token >= 0) recording->name_token(step.sampled_token, tokenizer().display(step.sampled_token));
}

void Generation::State::publish() {
    step.stop_reason = stop_reason;
    step.memory.bytes = session->model().backend->memory().bytes;
    ++step_index;
    if (recording == nullptr) return;
    name_tokens();
    Placement now = session->placement();
    step.placement = placement_change(placement, now);
    placement = std::move(now);
    step.memory.history_bytes = recording->history_bytes();
    recording->append_step(step);
}

Generation::Generation(std::shared_ptr<DecodeSession> session, const GenerationConfig& config,
                       std::shared_ptr<RunRecording> recording)
    : state_(std::make_unique<State>(std::move(session), config, std::move(recording))) {}

Generation::~Generation() = default;

Status Generation::start(std::span<const std::int32_t> prompt, const ProgressFn& progress, std::stop_token stop) {
    DS_RETURN_IF_ERROR(open(prompt));
    return state_->run(progress, stop);
}

Status Generation::open(std::span<const std::int32_t> prompt_in) {
    State& s = *state_;
    const std::vector<std::int32_t> prompt(prompt_in.begin(), prompt_in.end());  // it may be our own tokens()
    DS_RETURN_IF_ERROR(validate(s.config.sampler));
    DS_RETURN_IF_ERROR(s.check_prompt(prompt));
    const auto seen = s.session->tokens();
    if (seen.size() > prompt.size() || !std::equal(seen.begin(), seen.end(), prompt.begin())) {
        return make_error(ErrorKind::Argument,
                          fmt::format("The session holds {} tokens that are not the beginning of the prompt's {}.",
                                      seen.size(), prompt.size()),
                          "Reset the session first.");
    }
    if (seen.empty()) s.session->take_prefix(prompt);
    // Logits come only from a row that is computed, so the last token is always fed.
    if (seen.size() == prompt.size())
        DS_RETURN_IF_ERROR(s.session->truncate(static_cast<std::int64_t>(prompt.size()) - 1));
    DS_RETURN_IF_ERROR(s.session->check_room(std::ssize(prompt) - s.seen()));
    s.follow_session();
    s.tokens.assign(prompt.begin(), prompt.end());
    s.is_generated.assign(prompt.size(), 0);
    s.open(prompt.size() - static_cast<std::size_t>(s.seen()), Phase::Prefill, true);
    return {};
}

Status Generation::feed_again(std::span<const std::int32_t> tokens_in, std::span<const bool> generated,
                              const ProgressFn& progress, std::stop_token stop) {
    State& s = *state_;
    const std::vector<std::int32_t> tokens(tokens_in.begin(), tokens_in.end());  // it may be our own tokens()
    DS_RETURN_IF_ERROR(validate(s.config.sampler));
    if (generated.size() != tokens.size()) {
        return make_error(ErrorKind::Argument,
                          fmt::format("{} tokens come with {} marks.", tokens.size(), generated.size()));
    }
    DS_RETURN_IF_ERROR(s.check_prompt(tokens));
    s.follow_session();
    if (s.pending) s.drop_pending();
    const std::int64_t total = s.seen() + static_cast<std::int64_t>(tokens.size());
    if (total > s.session->context()) {
        return make_error(ErrorKind::Capacity,
                          fmt::format("The sequence would have {} tokens and the context of the model is {}.", total,
                                      s.session->context()));
    }
    DS_RETURN_IF_ERROR(s.session->check_room(std::ssize(tokens)));
    s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
    s.is_generated.insert(s.is_generated.end(), generated.begin(), generated.end());
    // As many random numbers as the generated tokens took, so that the next is the one an uninterrupted run would have
    // drawn.
    s.sampler = Sampler(s.config.sampler);
    if (s.config.sampler.temperature > 0) {
        for (std::int64_t drawn = s.generated(); drawn > 0; --drawn) s.sampler.next_uniform();
    }
    s.open(tokens.size(), Phase::Refeed, !s.length_reached());
    return s.run(progress, stop);
}

void Generation::mark_generated(std::span<const bool> generated) {
    State& s = *state_;
    const std::size_t count = std::min(generated.size(), s.is_generated.size());
    for (std::size_t i = 0; i < count; ++i) s.is_generated[i] = generated[i] ? 1 : 0;
    // Bytes of a character that is complete only after the part that was taken over.
    s.text = TextStream(s.tokenizer(), true);
    for (std::int64_t i = 0; i < s.rows_recorded; ++i) s.text.push(s.tokens[static_cast<std::size_t>(i)]);
}

Status Generation::step(std::stop_token stop) {
    DS_RETURN_IF_ERROR(state_->open_decode());
    return state_->run({}, stop);
}

// Opens a step that feeds the pending token, unless the run is finished.
Status Generation::State::open_decode() {
    if (!stop_reason.empty() && stop_reason != "cancelled") return {};
    follow_session();
    if (length_reached()) {
        stop_reason = "length";
        return {};
    }
    if (!pending)
        return make_error(ErrorKind::Argument, "There is no token to feed.", "Start the run with a prompt.");
    if (seen() >= session->context()) {
        stop_reason = "context_full";
        return {};
    }
    open(1, Phase::Decode, true);
    return {};
}

std::span<const std::int32_t> Generation::next_pass() {
    if (!state_->is_open && state_->pending) (void)state_->open_decode();  // with a pending token it cannot fail
    return state_->next_pass();
}

Status Generation::take(const PassResult& pass) { return state_->take(pass); }
void Generation::abandon(const Error& why) { state_->abandon(why); }

bool Generation::finished() const { return !state_->stop_reason.empty(); }
std::int64_t Generation::generated_count() const { return state_->generated(); }
const std::string& Generation::stop_reason() const { return state_->stop_reason; }
std::span<const std::int32_t> Generation::tokens() const { return state_->tokens; }
std::int32_t Generation::pending_token() const { return state_->pending ? state_->tokens.back() : -1; }
std::span<const float> Generation::last_logits() const { return state_->logits; }
const StepFacts& Generation::last_step() const { return state_->step; }
DecodeSession& Generation::session() { return *state_->session; }
const std::shared_ptr<RunRecording>& Generation::recording() const { return state_->recording; }
void Generation::set_stop_reason(std::string reason) { state_->stop_reason = std::move(reason); }

}  // namespace decodescope
