#include "engine/decode/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "engine/cache/cache_strategy.h"
#include "engine/cache/supported_pairs.h"
#include "engine/decode/cached_session.h"
#include "engine/decode/prompt_check.h"
#include "engine/decode/session_base.h"
#include "engine/measure/cost_model.h"
#include "engine/model/layer_kinds.h"

namespace decodescope {
namespace {

constexpr std::int64_t kMostStepRows = std::int64_t{1} << 24;  // compiled ahead in powers of two up to this

RecordingLimits without_attention() {
    RecordingLimits limits;
    limits.attention_bytes = 0;
    return limits;
}

}  // namespace

struct Batch::Entry {
    BatchSequence facts;
    std::vector<std::int32_t> prompt;
    GenerationConfig config;
    std::shared_ptr<DecodeSession> session;  // while it is active
    std::unique_ptr<Generation> generation;

    SessionBase& base() const { return static_cast<SessionBase&>(*session); }
};

// The rows of one sequence in a step.
struct Batch::Part {
    SequenceId id = 0;
    bool prefill = false;
    PassRequest request;
};

Batch::Batch(LoadedModelPtr model, const BatchConfig& config)
    : model_(std::move(model)), config_(config), joint_(model_, config.session.profile) {}

Batch::~Batch() = default;

Result<std::unique_ptr<Batch>> Batch::create(LoadedModelPtr model, const BatchConfig& config) {
    if (config.session.capture_attention) {
        return make_error(ErrorKind::Unsupported, "Attention is not captured in a step that several sequences share.",
                          "Run the sequence alone.");
    }
    auto spec = complete_cache_spec(config.session.cache);
    if (!spec.ok()) return spec.error();
    std::unique_ptr<Batch> batch(new Batch(std::move(model), config));
    batch->config_.session.cache = std::move(*spec);
    DS_RETURN_IF_ERROR(batch->make_admission());
    return batch;
}

RunLimits Batch::limits(std::int64_t expected_tokens) const {
    return run_limits(model_->model->config, expected_tokens);
}

// What there is in all: pages, or as many tokens as the backend has memory for.
Status Batch::make_admission() {
    auto& session = config_.session;
    auto strategy = make_strategy(session.cache, limits(session.expected_tokens));
    if (!strategy.ok()) return strategy.error();
    DS_RETURN_IF_ERROR(check_supported({model_->model->config.family, session.cache, session.kv,
                                        model_->backend->info().id, (*strategy)->page_tokens() > 0, true,
                                        has_local_layers(model_->model->config)}));
    BatchAdmission::Limits most;
    if (has_local_layers(model_->model->config)) most.unit = "byte";
    // Formats with a residual have no fixed size of a token: that of one in a full context stands for all.
    const std::int64_t typical = session.kv.has_residual() ? model_->model->config.context : 1;
    auto unit_bytes = kv_bytes(*model_, session.kv, typical);
    if (!unit_bytes.ok()) return unit_bytes.error();
    *unit_bytes = most.unit == "byte" ? 1 : std::max<std::int64_t>(*unit_bytes / typical, 1);
    most.sequences = std::max<std::int64_t>(config_.most_active, 1);
    most.page_tokens = (*strategy)->page_tokens();
    if (most.page_tokens > 0) {
        if (session.prefixes == nullptr) session.prefixes = std::make_shared<PrefixCache>();
        auto group = session.prefixes->group_for(model_, session.cache, session.kv, limits(session.expected_tokens),
                                                 session.expected_tokens);
        if (!group.ok()) return group.error();
        group_ = std::move(*group);
    }
    const std::int64_t memory = model_->backend->info().memory_bytes;
    const std::int64_t left =
        memory > 0 ? std::max<std::int64_t>(memory - model_->backend->memory().total_bytes(), 0) / *unit_bytes
                   : std::numeric_limits<std::int32_t>::max() * (most.unit == "byte" ? std::int64_t{1} << 20 : 1);
    most.units = left;
    if (most.page_tokens > 0) {
        most.units = group_.pages->pages();
        if ((*strategy)->capacity_can_grow()) most.units = pages_of_growing_pool(left / most.page_tokens);
    } else if (find_strategy(session.cache.id)->has_cache && (*strategy)->capacity() == 0) {
        // A growing cache, which is exchanged layer by layer; those that keep all tokens are the largest.
        most.exchange_parts = layer_kinds(model_->model->config).front().layers;
    }
    admission_ = std::make_unique<BatchAdmission>(most);
    return {};
}

// A pool that is exchanged for a larger one lies twice for a moment, a block (a layer, or all of a slab) at a time, and
// grows in steps of its first size. `added`: pages that the backend has memory for, beside those of the pool.
std::int64_t Batch::pages_of_growing_pool(std::int64_t added) const {
    const std::int64_t pages = group_.pages->pages(), step = std::max<std::int64_t>(pages, 1);
    const std::int64_t blocks = group_.storage->block_count();
    const std::int64_t most = (pages + added) / (blocks + 1) * blocks;
    return pages + std::max<std::int64_t>(most - pages, 0) / step * step;
}

Batch::Entry& Batch::entry(SequenceId id) {
    DS_CHECK(id >= 0 && id < size());
    return *sequences_[static_cast<std::size_t>(id)];
}

const Batch::Entry& Batch::entry(SequenceId id) const {
    DS_CHECK(id >= 0 && id < size());
    return *sequences_[static_cast<std::size_t>(id)];
}

// Bytes of K and V, every group of layers with the rows that it keeps: local ones no more than their window.
Result<std::int64_t> Batch::bytes_needed(std::int64_t tokens, std::int64_t expected) const {
    const ModelConfig& config = model_->model->config;
    auto groups = make_layer_groups(config_.session.cache, limits(expected), static_cast<int>(config.layers));
    if (!groups.ok()) return groups.error();
    if (auto plans = groups->plan(tokens); !plans.ok()) return plans.error();
    KvShape shape = KvShape::of(config, config_.session.kv);
    std::int64_t bytes = 0;
    for (int g = 0; g < groups->count(); ++g) {
        shape.layers = groups->layers_of(g);
        const std::int64_t capacity = groups->group(g).capacity();
        auto of_group = shape.total_bytes(capacity > 0 ? capacity : tokens);
        if (!of_group.ok()) return of_group.error();
        bytes += *of_group;
    }
    return bytes;
}

// Tokens that the cache must have room for, or bytes where layers differ; the token sampled last is never stored.
// Capacity error when the cache could not hold them even alone.
Result<std::int64_t> Batch::units_needed(std::int64_t prompt, std::int64_t new_tokens) const {
    const std::int64_t context = model_->model->config.context;
    const std::int64_t expected = new_tokens > 0 ? prompt + new_tokens : context;
    auto strategy = make_strategy(config_.session.cache, limits(expected));
    if (!strategy.ok()) return strategy.error();
    if ((*strategy)->bounded_by_context()) DS_RETURN_IF_ERROR(check_prompt_length(prompt, context));
    if (!find_strategy(config_.session.cache.id)->has_cache) return 0;
    const std::int64_t last = std::max(prompt, expected - 1);
    const std::int64_t tokens = (*strategy)->bounded_by_context() ? std::min(last, context) : last;
    if ((*strategy)->page_tokens() > 0) return tokens;
    if (counts_bytes()) return bytes_needed(tokens, expected);
    if (auto plan = (*strategy)->plan(tokens); !plan.ok()) return plan.error();
    return (*strategy)->capacity() > 0 ? (*strategy)->capacity() : tokens;
}

Result<SequenceId> Batch::add(std::span<const std::int32_t> prompt, const GenerationConfig& config) {
    DS_RETURN_IF_ERROR(validate(config.sampler));
    DS_RETURN_IF_ERROR(check_prompt_tokens(prompt, model_->program.vocabulary));
    auto units = units_needed(static_cast<std::int64_t>(prompt.size()), config.new_tokens);
    if (!units.ok()) return units.error();
    const SequenceId id = size();
    DS_RETURN_IF_ERROR(admission_->submit(id, *units));
    auto entry = std::make_unique<Entry>();
    entry->prompt.assign(prompt.begin(), prompt.end());
    entry->facts.prompt_tokens = static_cast<std::int64_t>(prompt.size());
    entry->config = config;
    sequences_.push_back(std::move(entry));
    return id;
}

std::int64_t Batch::free_units() const {
    const std::int64_t units = admission_->limits().units;
    if (group_.pages == nullptr) return units;
    return group_.pages->free_pages() + std::max<std::int64_t>(units - group_.pages->pages(), 0);
}

// Pages that hold the beginning of a waiting prompt; its last token is computed in any case.
BatchAdmission::Found Batch::find_stored(SequenceId id) const {
    BatchAdmission::Found stored;
    if (group_.pages == nullptr) return stored;
    const auto& prompt = entry(id).prompt;
    for (const auto& found : group_.pages->find(std::span(prompt).first(prompt.size() - 1))) {
        ++stored.units;
        if (group_.pages->owners(found.page) == 0) ++stored.free;
    }
    for (const auto& other : sequences_) {
        if (other->facts.state != BatchSequence::State::Active || other->generation->generated_count() > 0) continue;
        const std::int64_t common = std::min(common_prefix(prompt, other->prompt),
                                             static_cast<std::int64_t>(prompt.size()) - 1);
        if (common / group_.pages->page_tokens() > stored.units) stored.more_soon = true;
    }
    return stored;
}

std::string Batch::why_nothing_found(SequenceId id) const {
    const auto& prompt = entry(id).prompt;
    std::int64_t common = group_.pages->common_start(prompt);
    for (const auto& other : sequences_) {
        if (other->session == nullptr || other.get() == &entry(id)) continue;
        common = std::max(common, common_prefix(other->session->tokens(), prompt));
    }
    return why_no_prefix(common, static_cast<std::int64_t>(prompt.size()), group_.pages->page_tokens());
}

void Batch::start_waiting(BatchStep& step) {
    const auto find = [this](SequenceId id) { return find_stored(id); };
    while (const auto id = admission_->next(free_units(), find)) {
        if (const Status status = start(*id); !status.ok()) {
            finish(*id, status.error(), &step);
        } else {
            step.started.push_back(*id);
        }
    }
    // Whoever holds the room is not part of this batch: nothing here would ever make it free.
    if (admission_->active() > 0) return;
    while (const auto id = admission_->first_waiting()) {
        finish(*id, make_error(ErrorKind::Capacity,
                               fmt::format("{} of {} pages are free; conversations outside this batch have the others.",
                                           free_units(), admission_->limits().units),
                               "End one of them."),
               &step);
    }
}

Status Batch::start(SequenceId id) {
    Entry& starting = entry(id);
    SessionConfig config = config_.session;
    config.expected_tokens = starting.config.new_tokens > 0
                                 ? starting.facts.prompt_tokens + starting.config.new_tokens
                                 : model_->model->config.context;
    auto session = DecodeSession::create(model_, config);
    if (!session.ok()) return session.error();
    starting.session = std::move(*session);
    if (config_.record) {
        RunFacts facts = make_run_facts(*starting.session, starting.config.sampler);
        facts.prompt_tokens = starting.facts.prompt_tokens;
        starting.facts.recording = std::make_shared<RunRecording>(std::move(facts), without_attention());
    }
    starting.generation = std::make_unique<Generation>(starting.session, starting.config, starting.facts.recording);
    starting.facts.state = BatchSequence::State::Active;
    DS_RETURN_IF_ERROR(starting.generation->open(starting.prompt));
    if (group_.pages == nullptr) return {};
    admission_->has_taken(id, starting.session->kv_facts().pages_used);
    starting.facts.found_tokens = static_cast<std::int64_t>(starting.session->tokens().size());
    if (starting.facts.found_tokens == 0) starting.facts.prefix_note = why_nothing_found(id);
    return {};
}

// Single rows first, then parts of prompts, whole ones only: how a prompt is cut must not depend on the others.
std::vector<Batch::Part> Batch::begin_parts(std::stop_token stop, BatchStep& step) {
    std::vector<Part> parts;
    for (const bool prefill : {false, true}) {
        for (SequenceId id = 0; id < size(); ++id) {
            const Entry& candidate = entry(id);
            if (candidate.facts.state != BatchSequence::State::Active) continue;
            if ((candidate.generation->generated_count() == 0) != prefill) continue;
            const auto tokens = candidate.generation->next_pass();
            const auto rows = static_cast<std::int64_t>(tokens.size());
            if (prefill && step.prefill_rows > 0 && step.prefill_rows + rows > config_.prefill_rows) continue;
            if (const Status status = candidate.base().begin_pass(tokens, stop); !status.ok()) {
                if (status.error().kind != ErrorKind::Cancelled) finish(id, status.error(), &step);
                continue;
            }
            if (prefill) step.prefill_rows += rows;
            parts.push_back({id, prefill, {}});
        }
    }
    return parts;
}

Status Batch::compute(std::vector<Part>& parts, std::stop_token stop, BatchStep& step) {
    std::vector<PassRequest> requests;
    std::int64_t logits_rows = 0;
    // Only now that all have the room they need: making room for one may move the rows of another.
    for (Part& part : parts) {
        part.request = entry(part.id).base().request_pass();
        requests.push_back(part.request);
        step.rows += static_cast<std::int64_t>(part.request.tokens.size());
        logits_rows += part.request.logits_rows;
    }
    DS_RETURN_IF_ERROR(joint_.prepare(step.rows, logits_rows, kMostStepRows));
    return joint_.run(requests, stop);
}

void Batch::take_parts(std::vector<Part>& parts, BatchStep& step) {
    StepShape shape;
    std::int64_t logits_row = 0;
    for (const Part& part : parts) {
        Entry& fed = entry(part.id);
        auto pass = fed.base().end_pass(joint_, logits_row);
        logits_row += part.request.logits_rows;
        if (!pass.ok()) {
            finish(part.id, pass.error(), &step);
            continue;
        }
        step.flops += pass->flops;
        shape.rows += pass->shape.rows;
        shape.logits_rows += pass->shape.logits_rows;
        shape.attended += pass->shape.attended;
        shape.entries += pass->shape.entries;
        shape.kv_bytes_per_entry = pass->shape.kv_bytes_per_entry;
        if (pass->shape.kv_read_bytes >= 0) {  // of formats whose rows differ in size
            shape.kv_read_bytes = std::max<std::int64_t>(shape.kv_read_bytes, 0) + pass->shape.kv_read_bytes;
            shape.kv_write_bytes = std::max<std::int64_t>(shape.kv_write_bytes, 0) + pass->shape.kv_write_bytes;
        }
        ++step.sequences;
        if (group_.pages != nullptr) admission_->has_taken(part.id, pass->kv.pages_used);
        if (const Status status = fed.generation->take(*pass); !status.ok()) {
            finish(part.id, status.error(), &step);
        } else if (fed.generation->finished()) {
            finish(part.id, std::nullopt, &step);
        }
    }
    if (step.sequences == 0) return;
    step.bytes = step_cost(model_->program, shape).bytes;
}

Result<BatchStep> Batch::step(std::stop_token stop) {
    BatchStep step;
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "Cancelled before the step began.");
    start_waiting(step);
    joint_.begin();
    const auto start = std::chrono::steady_clock::now();
    std::vector<Part> parts = begin_parts(stop, step);
    joint_.add_micros(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    if (!parts.empty()) {
        if (const Status status = compute(parts, stop, step); !status.ok()) {
            for (auto part = parts.rbegin(); part != parts.rend(); ++part) entry(part->id).base().drop_pass();
            return status.error();
        }
        step.micros = joint_.micros();
        step.warm_up = joint_.warm_up();
        take_parts(parts, step);
    }
    step.waiting = admission_->waiting();
    return step;
}

// Its session goes at once, and with it what it held.
void Batch::finish(SequenceId id, std::optional<Error> error, BatchStep* step) {
    Entry& ending = entry(id);
    if (ending.generation != nullptr) {
        if (error) ending.generation->abandon(*error);
        const auto tokens = ending.generation->tokens();
        ending.facts.tokens.assign(tokens.begin(), tokens.end());
        ending.facts.stop_reason = ending.generation->stop_reason();
    }
    // Within its prefill the generation kept what was fed; the conversation is still that of the whole prompt.
    if (ending.facts.tokens.size() < ending.prompt.size()) ending.facts.tokens = ending.prompt;
    if (error && error->kind == ErrorKind::Cancelled) {
        ending.facts.stop_reason = "cancelled";
    } else {
        ending.facts.error = std::move(error);
    }
    ending.facts.state = BatchSequence::State::Finished;
    ending.generation.reset();
    ending.session.reset();
    admission_->leave(id);
    if (step != nullptr) step->finished.push_back(id);
}

void Batch::cancel(SequenceId id) {
    if (entry(id).facts.state == BatchSequence::State::Finished) return;
    finish(id, make_error(ErrorKind::Cancelled, "The sequence was cancelled."), nullptr);
}

bool Batch::finished() const { return admission_->active() == 0 && admission_->waiting() == 0; }

const BatchSequence& Batch::sequence(SequenceId id) const { return entry(id).facts; }

std::span<const std::int32_t> Batch::tokens(SequenceId id) const {
    const Entry& asked = entry(id);
    if (asked.generation != nullptr) return asked.generation->tokens();
    return asked.facts.state == BatchSequence::State::Finished ? asked.facts.tokens : asked.prompt;
}

KvFacts Batch::kv_facts(SequenceId id) const {
    const Entry& asked = entry(id);
    return asked.session == nullptr ? KvFacts{} : asked.session->kv_facts();
}

}  // namespace decodescope
