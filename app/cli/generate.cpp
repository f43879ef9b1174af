// `generate`: text, the price of each step, and on request logits and attention of every position.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/support/hash.h"
#include "engine/support/output_file.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

// Writes one JSON line per fed position. Numbers are written by fmt: nine digits keep an f32 exactly.
class TraceWriter {
public:
    Status open(const std::string& path) {
        auto file = OutputFile::create(path);
        if (!file) return file.error();
        file_ = std::move(*file);
        return {};
    }

    void add(const PassResult& pass, std::span<const std::int32_t> fed, Phase phase, const ModelConfig& config) {
        if (file_->failed()) return;
        const std::size_t vocabulary = pass.all_logits.size() / fed.size();
        for (std::size_t row = 0; row < fed.size(); ++row) {
            line_.clear();
            auto out = std::back_inserter(line_);
            fmt::format_to(out, R"({{"position":{},"phase":"{}","token":{},"logits":)",
                           pass.first_position + static_cast<int>(row), phase == Phase::Decode ? "decode" : "prefill",
                           fed[row]);
            numbers(pass.all_logits.subspan(row * vocabulary, vocabulary));
            add_attention(pass, static_cast<std::int64_t>(row), config);
            line_ += "}\n";
            file_->write(line_);
        }
    }

    Status finish() { return file_->commit(); }

private:
    void numbers(std::span<const float> values) {
        line_ += '[';
        for (std::size_t i = 0; i < values.size(); ++i)
            fmt::format_to(std::back_inserter(line_), "{}{:.9g}", i ? "," : "", values[i]);
        line_ += ']';
    }

    // attention[layer][head][entry] over the entries visible to the row, and the positions they hold.
    void add_attention(const PassResult& pass, std::int64_t row, const ModelConfig& config) {
        const auto pass_row = static_cast<std::int32_t>(row);
        line_ += ",\"attention\":[";
        for (std::int64_t layer = 0; layer < config.layers; ++layer) {
            line_ += layer ? ",[" : "[";
            for (std::int64_t head = 0; head < config.heads; ++head) {
                if (head) line_ += ',';
                const float* weights = pass.attention[layer] + (row * config.heads + head) * pass.attention_stride;
                numbers({weights, static_cast<std::size_t>(pass.entry_count(pass_row, layer))});
            }
            line_ += ']';
        }
        line_ += "],\"entry_positions\":[";
        for (std::int64_t layer = 0; layer < config.layers; ++layer) {
            line_ += layer ? ",[" : "[";
            const auto positions = pass.entry_positions(pass_row, layer);
            for (std::int64_t entry = 0; entry < pass.entry_count(pass_row, layer); ++entry)
                fmt::format_to(std::back_inserter(line_), "{}{}", entry ? "," : "",
                               positions.empty() ? entry : positions[entry]);
            line_ += ']';
        }
        line_ += ']';
    }

    std::string line_;
    std::unique_ptr<OutputFile> file_;
};

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

Json evicted_json(const StepFacts& step) {
    Json list = Json::array();
    std::set<std::int32_t> named;  // once, where several layers dropped it
    for (const EvictedEntry& entry : step.evicted)
        if (named.insert(entry.position).second) list.push_back(entry.position);
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

Json result_json(const Arguments& arguments, Generation& generation, std::size_t prompt,
                 const std::string& logits_hash) {
    const RunRecording& recording = *generation.recording();
    const RunFacts& facts = recording.facts();
    const auto tokens = generation.tokens();
    const auto generated = arguments.new_tokens > 0 ? tokens.subspan(prompt) : std::span<const std::int32_t>{};
    const GeneratedText text = decode_pieces(*generation.session().model().model->tokenizer, generated);
    std::int64_t peak = 0, copied = 0;
    Json steps = Json::array();
    for (std::int32_t i = 0; i < recording.step_count(); ++i) {
        const auto step = recording.step(i);
        peak = std::max(peak, step->kv.peak_bytes);
        copied += step->kv.copied_bytes;
        if (i >= static_cast<std::int32_t>(generated.size())) continue;  // the pass after which nothing was sampled
        steps.push_back({{"position", prompt + i},
                         {"token", generated[i]},
                         {"text", text.pieces[i]},
                         {"micros", step->micros},
                         {"kv_bytes_used", step->kv.used_bytes},
                         {"kv_bytes_reserved", step->kv.reserved_bytes},
                         {"tokens_seen", step->kv.tokens_seen},
                         {"tokens_stored", step->kv.tokens_stored},
                         {"evicted", evicted_json(*step)},
                         {"top", top_json(*step, recording)}});
        if (step->kv.page_tokens > 0) steps.back().update(pages_json(step->kv));
        if (step->kv.offload != OffloadPlace::None) steps.back()["offload"] = offload_json(step->kv);
        if (Json dropped = dropped_json(*step); !dropped.empty()) steps.back()["dropped"] = std::move(dropped);
    }
    Json result;
    result["model"] = arguments.model;
    result["backend"] = facts.backend;
    result["instruction_set"] = facts.instruction_set;
    result["threads"] = facts.threads;
    result["weights"] = facts.weights_type;
    result["cache"] = facts.cache_spec;
    result["kv_type"] = facts.kv_type;
    result["prompt_tokens"] =
        std::vector<std::int32_t>(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt));
    result["tokens"] = std::vector<std::int32_t>(generated.begin(), generated.end());
    result["text"] = text.whole;
    result["stop_reason"] = generation.stop_reason();
    result["prefill"] = {{"tokens", prompt}, {"micros", recording.step(0)->micros}};
    result["kv_bytes_peak"] = peak;
    result["kv_bytes_copied"] = copied;
    result["logits_hash"] = logits_hash;
    result["steps"] = std::move(steps);
    return result;
}

// Text as it comes, then one line of facts on stderr.
void print_summary(Generation& generation, std::size_t prompt, bool prefill_only) {
    const RunRecording& recording = *generation.recording();
    const std::size_t generated = prefill_only ? 0 : generation.tokens().size() - prompt;
    double decode_micros = 0;
    for (std::int32_t i = 1; i < recording.step_count(); ++i) decode_micros += recording.step(i)->micros;
    const std::string rate =
        generated < 2 ? "n/a"
                      : fmt::format("{:.3f} ms per token", decode_micros / 1000.0 / static_cast<double>(generated - 1));
    print("\n");
    print_message("prefill {} tokens in {:.2f} ms; decode {} tokens, {}; stopped: {}\n", prompt,
               recording.step(0)->micros / 1000.0, generated, rate, generation.stop_reason());
}

}  // namespace

Status run_generate(const Arguments& arguments, std::stop_token stop) {
    auto loaded = open_for(arguments, stop);
    if (!loaded) return loaded.error();
    const Model& model = *(*loaded)->model;
    auto prompt = prompt_tokens(arguments, model, stop);
    if (!prompt) return prompt.error();

    SessionConfig session_config;
    session_config.cache = cache_or_default(arguments);
    session_config.kv = kv_or_default(arguments);
    session_config.expected_tokens = static_cast<std::int64_t>(prompt->size()) + arguments.new_tokens;
    session_config.prefill_chunk = arguments.chunk;
    session_config.capture_attention = session_config.all_logits = !arguments.trace_file.empty();
    auto session = DecodeSession::create(*loaded, session_config);
    if (!session) return session.error();
    std::shared_ptr<DecodeSession> shared = std::move(session).value();

    TraceWriter trace;
    if (!arguments.trace_file.empty()) DS_RETURN_IF_ERROR(trace.open(arguments.trace_file));
    GenerationConfig config;
    config.sampler = arguments.sampler;
    config.new_tokens = std::max<std::int64_t>(arguments.new_tokens, 1);
    config.stop_at_eos = !arguments.ignore_eos;
    config.on_pass = [&](const PassResult& pass, std::span<const std::int32_t> fed, Phase phase) {
        if (!arguments.trace_file.empty()) trace.add(pass, fed, phase, model.config);
    };
    RecordingLimits limits;
    limits.attention_bytes = 0;  // the trace file keeps it; the recording need not
    auto recording = std::make_shared<RunRecording>(facts_of_run(*shared, arguments.sampler, prompt->size()), limits);
    Generation generation(shared, config, recording);
    DS_RETURN_IF_ERROR(generation.start(*prompt, {}, stop));
    Hasher hash;
    hash.add(std::as_bytes(generation.last_logits()));

    TextStream stream(*model.tokenizer);
    const auto show = [&](std::int32_t token) {
        if (arguments.json || token < 0) return;
        print("{}", stream.push(token));
        flush_out();
    };
    say_when_meaningless(model);
    if (arguments.new_tokens > 0) show(generation.pending_token());
    while (!generation.finished()) {
        const Status status = generation.step(stop);
        if (!status) {
            if (status.error().kind != ErrorKind::Cancelled) return status;
            generation.set_stop_reason("cancelled");
            break;
        }
        hash.add(std::as_bytes(generation.last_logits()));
        show(generation.pending_token());
    }
    if (!arguments.trace_file.empty()) DS_RETURN_IF_ERROR(trace.finish());
    if (arguments.json) {
        print("{}\n", result_json(arguments, generation, prompt->size(), hash.text())
                               .dump(1, ' ', false, Json::error_handler_t::replace));
    } else {
        print("{}", stream.finish());
        print_summary(generation, prompt->size(), arguments.new_tokens == 0);
    }
    return {};
}

}  // namespace decodescope
