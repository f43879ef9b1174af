#include "app/cli/run_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "engine/cache/kv_format.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

Json top_json(const StepFacts& step, const RunRecording& recording) {
    Json list = Json::array();
    for (const TokenProbability& candidate : step.top)
        list.push_back({{"token", candidate.token},
                        {"text", recording.token_display(candidate.token)},
                        {"prob", candidate.probability}});
    return list;
}

Json pages_json(const KvFacts& kv) {
    return {{"pages_used", kv.pages_used},
            {"pages_shared", kv.pages_shared},
            {"pages_copied", kv.pages_copied},
            {"pages_free", kv.pages_free}};
}

// Of the bytes used: what int8 rows have beside their codes. Nothing for other formats.
Json parts_json(const RunFacts& facts, std::int64_t tokens) {
    const auto format = parse_kv_format(facts.kv_type);
    Json parts = Json::object();
    if (!format.ok() || (format->k != ElementType::I8 && format->v != ElementType::I8)) return parts;
    const KvShape shape = KvShape::of(facts.config, *format);
    parts["kv_bytes_scales"] = shape.scale_bytes(tokens);
    if (format->has_residual()) parts["kv_bytes_residual"] = shape.residual_used_bytes(tokens);
    return parts;
}

// Positions that no layer keeps any more; what each layer dropped is in "dropped".
Json evicted_json(const StepFacts& step, const RunRecording& recording) {
    Json list = Json::array();
    std::set<std::int32_t> named;  // once, where several layers dropped it in the same step
    for (const EvictedEntry& entry : step.evicted)
        if (recording.evicted_at(entry.position, step.index) == step.index && named.insert(entry.position).second)
            list.push_back(entry.position);
    return list;
}

Json offload_json(const KvFacts& kv) {
    return {{"place", offload_name(kv.offload)},
            {"pool_bytes", kv.offload_pool_bytes},
            {"fetched_bytes", kv.offload_fetched_bytes},
            {"returned_bytes", kv.offload_returned_bytes},
            {"moved_bytes", kv.offload_moved_bytes()},
            {"micros", kv.offload_micros},
            {"bytes_per_second", kv.offload_rate},
            {"bound_micros", kv.offload_bound_micros()}};
}

// Where layers drop tokens apart: each layer's own, with what decided.
Json dropped_json(const StepFacts& step) {
    Json list = Json::array();
    for (const EvictedEntry& entry : step.evicted) {
        if (entry.layer == kNone) continue;
        list.push_back({{"layer", entry.layer}, {"position", entry.position}});
        if (entry.scored()) list.back()["score"] = entry.score;
    }
    return list;
}

struct GeneratedText {
    std::vector<std::string> pieces;  // [generated tokens]; concatenated they are the text
    std::string whole;
};

GeneratedText decode_pieces(const Tokenizer& tokenizer, std::span<const std::int32_t> generated) {
    GeneratedText text;
    TextStream stream(tokenizer);
    for (std::int32_t token : generated) text.pieces.push_back(stream.push(token));
    if (!text.pieces.empty()) text.pieces.back() += stream.finish();
    for (const std::string& piece : text.pieces) text.whole += piece;
    return text;
}

struct Steps {
    Json list = Json::array();
    std::int64_t peak = 0, copied = 0;
};

Steps steps_json(const RunForJson& run, std::span<const std::int32_t> generated, const GeneratedText& text) {
    Steps steps;
    const std::int32_t count = run.recording == nullptr ? 0 : run.recording->step_count();
    for (std::int32_t i = 0; i < count; ++i) {
        const auto step = run.recording->step(i);
        steps.peak = std::max(steps.peak, step->kv.peak_bytes);
        steps.copied += step->kv.copied_bytes;
        if (i >= static_cast<std::int32_t>(generated.size())) continue;  // the pass after which nothing was sampled
        steps.list.push_back({{"position", run.prompt + static_cast<std::size_t>(i)},
                              {"token", generated[i]},
                              {"text", text.pieces[i]},
                              {"micros", step->micros},
                              {"kv_bytes_used", step->kv.used_bytes},
                              {"kv_bytes_reserved", step->kv.reserved_bytes},
                              {"tokens_seen", step->kv.tokens_seen},
                              {"tokens_stored", step->kv.tokens_stored},
                              {"evicted", evicted_json(*step, *run.recording)},
                              {"top", top_json(*step, *run.recording)}});
        steps.list.back().update(parts_json(run.recording->facts(), step->kv.tokens_stored));
        if (step->kv.page_tokens > 0) steps.list.back().update(pages_json(step->kv));
        if (step->kv.offload != OffloadPlace::None) steps.list.back()["offload"] = offload_json(step->kv);
        if (Json dropped = dropped_json(*step); !dropped.empty()) steps.list.back()["dropped"] = std::move(dropped);
    }
    return steps;
}

}  // namespace

std::string run_json(const RunForJson& run) {
    const RunFacts& facts = *run.facts;
    const auto prompt_tokens = run.tokens.first(run.prompt);
    const auto generated = run.new_tokens > 0 ? run.tokens.subspan(run.prompt) : std::span<const std::int32_t>{};
    const GeneratedText text = decode_pieces(*run.tokenizer, generated);
    Steps steps = steps_json(run, generated, text);
    const bool began = run.recording != nullptr && run.recording->step_count() > 0;
    Json result;
    result["model"] = run.model;
    result["backend"] = facts.backend;
    result["instruction_set"] = facts.instruction_set;
    result["threads"] = facts.threads;
    result["weights"] = facts.weights_type;
    result["cache"] = facts.cache_spec;
    result["kv_type"] = facts.kv_type;
    result["prompt_tokens"] = std::vector<std::int32_t>(prompt_tokens.begin(), prompt_tokens.end());
    result["tokens"] = std::vector<std::int32_t>(generated.begin(), generated.end());
    result["text"] = text.whole;
    result["stop_reason"] = run.stop_reason;
    // What was fed of the prompt: less than the whole when it was stopped on the way.
    const auto fed = began ? run.recording->step(0)->row_count : 0;
    result["prefill"] = {{"tokens", fed}, {"micros", began ? run.recording->step(0)->micros : 0.0}};
    result["kv_bytes_peak"] = steps.peak;
    result["kv_bytes_copied"] = steps.copied;
    result["logits_hash"] = run.logits_hash;
    result["steps"] = std::move(steps.list);
    if (!run.error.empty()) result["error"] = run.error;
    return result.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace decodescope
