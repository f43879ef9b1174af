// `generate`: text, the price of each step, and on request logits and attention of every position.
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/run_json.h"
#include "engine/support/counted.h"
#include "engine/support/hash.h"
#include "engine/support/output_file.h"

namespace decodescope {
namespace {

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
    print_message("prefill {} in {:.2f} ms; decode {}, {}; stopped: {}\n",
                  counted(static_cast<std::int64_t>(prompt), "token"), recording.step(0)->micros / 1000.0,
                  counted(static_cast<std::int64_t>(generated), "token"), rate, generation.stop_reason());
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
    if (model.config.chat_template && !arguments.json)
        print_message("The model has a chat template. It is not applied: the prompt is sent as it is typed.\n");
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
        RunForJson run;
        run.model = arguments.model;
        run.facts = &recording->facts();
        run.recording = recording.get();
        run.tokenizer = model.tokenizer.get();
        run.tokens = generation.tokens();
        run.prompt = prompt->size();
        run.new_tokens = arguments.new_tokens;
        run.stop_reason = generation.stop_reason();
        run.logits_hash = hash.text();
        print("{}\n", run_json(run));
    } else {
        print("{}", stream.finish());
        print_summary(generation, prompt->size(), arguments.new_tokens == 0);
    }
    return {};
}

}  // namespace decodescope
