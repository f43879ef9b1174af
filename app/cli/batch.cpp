// `batch`: the prompts of a file together, one JSON object a line.
#include "engine/decode/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/run_json.h"
#include "engine/cache/cache_strategy.h"
#include "engine/support/counted.h"
#include "engine/support/file.h"
#include "engine/support/hash.h"
#include "engine/support/utf8.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostFileBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMostNewTokens = std::int64_t{1} << 31;
constexpr std::size_t kShownText = 48;  // bytes of a text in the table

// One line of the file and what became of it.
struct Line {
    std::int64_t number = 0;  // from 1, as editors count
    std::vector<std::int32_t> prompt;
    std::int64_t new_tokens = 0;
    std::uint64_t seed = 0;
    std::optional<Error> error;  // it never became part of the batch
    SequenceId id = -1;
    Hasher hash;                 // of the logits that tokens were sampled from
};

Error bad_line(std::string message) {
    return make_error(ErrorKind::Argument, std::move(message),
                      R"(Write {"prompt": "text"} or {"tokens": [1, 2]}, with "n" and "seed" where wanted.)");
}

Status read_number(const Json& value, const char* name, std::uint64_t most, std::uint64_t& number) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) {
        number = value.get<std::uint64_t>();
        return {};
    }
    return bad_line(fmt::format("\"{}\" is {}, not a whole number from 0 to {}.", name,
                                value.dump(-1, ' ', true, Json::error_handler_t::replace), most));
}

Status read_tokens(const Json& value, std::vector<std::int32_t>& tokens) {
    if (!value.is_array()) return bad_line("\"tokens\" is not a list.");
    for (const Json& item : value) {
        std::uint64_t token = 0;
        DS_RETURN_IF_ERROR(read_number(item, "tokens", std::numeric_limits<std::int32_t>::max(), token));
        tokens.push_back(static_cast<std::int32_t>(token));
    }
    return {};
}

// The library keeps the last of two members of the same name and says nothing; `twice` gets the name of the first such.
Json parse_once(std::string_view text, std::string& twice) {
    std::vector<std::string> names;
    return Json::parse(
        text,
        [&](int depth, Json::parse_event_t event, Json& value) {
            if (depth != 1 || event != Json::parse_event_t::key) return true;
            const auto name = value.get<std::string>();
            if (std::find(names.begin(), names.end(), name) != names.end() && twice.empty()) twice = name;
            names.push_back(name);
            return true;
        },
        false);
}

// The line's own values in place of those of the command line.
Status read_line(std::string_view text, const Arguments& arguments, const Model& model, std::stop_token stop,
                 Line& line) {
    std::string twice;
    const Json object = parse_once(text, twice);
    if (object.is_discarded() || !object.is_object()) return bad_line("It is not a JSON object.");
    if (!twice.empty()) return bad_line(fmt::format("\"{}\" is given twice.", utf8_escaped(twice)));
    Arguments own = arguments;
    std::uint64_t count = static_cast<std::uint64_t>(arguments.new_tokens);
    line.seed = arguments.sampler.seed;
    for (const auto& [name, value] : object.items()) {
        if (name == "tokens") {
            own.has_tokens = true;
            DS_RETURN_IF_ERROR(read_tokens(value, own.tokens));
        } else if (name == "prompt") {
            if (!value.is_string()) return bad_line("\"prompt\" is not a text.");
            own.has_prompt = true;
            own.prompt = value.get<std::string>();
        } else if (name == "n") {
            DS_RETURN_IF_ERROR(read_number(value, "n", kMostNewTokens, count));
        } else if (name == "seed") {
            DS_RETURN_IF_ERROR(read_number(value, "seed", std::numeric_limits<std::uint64_t>::max(), line.seed));
        } else {
            return bad_line(fmt::format("\"{}\" is not known.", utf8_escaped(name)));
        }
    }
    line.new_tokens = static_cast<std::int64_t>(count);
    if (own.has_tokens == own.has_prompt) return bad_line("It has not exactly one of \"prompt\" and \"tokens\".");
    auto prompt = prompt_tokens(own, model, stop);
    if (!prompt.ok()) return prompt.error();
    line.prompt = std::move(*prompt);
    return {};
}

Result<std::vector<Line>> read_lines(const Arguments& arguments, const Model& model, std::stop_token stop) {
    auto text = read_file(arguments.prompts_file, kMostFileBytes);
    if (!text.ok()) return text.error();
    std::vector<Line> lines;
    std::string_view rest = *text;
    for (std::int64_t number = 1; !rest.empty(); ++number) {
        const auto end = rest.find('\n');
        const std::string_view one = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        Line& line = lines.emplace_back();
        line.number = number;
        if (const Status status = read_line(one, arguments, model, stop, line); !status.ok()) {
            if (status.error().kind == ErrorKind::Cancelled) return status.error();
            line.error = status.error();
        }
    }
    if (lines.empty())
        return make_error(ErrorKind::File, fmt::format("{} has no lines with a prompt.", arguments.prompts_file),
                          R"(Write one JSON object a line, such as {"prompt": "text", "n": 16}.)");
    return lines;
}

// Room for as many of the longest as are computed at once, whole pages each.
Result<std::int64_t> tokens_together(const std::vector<Line>& lines, const BatchConfig& config,
                                     std::int64_t context) {
    auto strategy = make_strategy(config.session.cache, RunLimits{context, 0, false});
    if (!strategy.ok()) return strategy.error();
    const std::int64_t page = std::max<std::int64_t>((*strategy)->page_tokens(), 1);
    std::vector<std::int64_t> each;
    for (const Line& line : lines) {
        if (line.error) continue;
        const std::int64_t tokens =
            std::min(static_cast<std::int64_t>(line.prompt.size()) + line.new_tokens, context);
        each.push_back((tokens + page - 1) / page * page);
    }
    std::sort(each.rbegin(), each.rend());
    each.resize(std::min(each.size(), static_cast<std::size_t>(config.most_active)));
    std::int64_t sum = 0;
    for (const std::int64_t tokens : each) sum += tokens;
    return sum;
}

void add_line(const Arguments& arguments, Batch& batch, Line& line) {
    GenerationConfig config;
    config.sampler = arguments.sampler;
    config.sampler.seed = line.seed;
    config.new_tokens = std::max<std::int64_t>(line.new_tokens, 1);
    config.stop_at_eos = !arguments.ignore_eos;
    // Only the last pass over a prompt is followed by a token.
    config.on_pass = [&line](const PassResult& pass, std::span<const std::int32_t>, Phase) {
        if (pass.first_position + pass.rows >= static_cast<std::int64_t>(line.prompt.size()))
            line.hash.add(std::as_bytes(pass.logits));
    };
    auto id = batch.add(line.prompt, config);
    if (id.ok()) {
        line.id = *id;
    } else {
        line.error = id.error();
    }
}

struct Totals {
    std::int64_t steps = 0, rows = 0;
    double micros = 0;
};

// Until all have ended; a stop ends those that have not.
Status run_steps(Batch& batch, std::stop_token stop, Totals& totals) {
    while (!batch.finished()) {
        auto step = batch.step(stop);
        if (step.ok()) {
            totals.steps += step->sequences > 0 ? 1 : 0;
            totals.rows += step->rows;
            totals.micros += step->micros;
            continue;
        }
        if (step.error().kind != ErrorKind::Cancelled) return step.error();
        for (SequenceId id = 0; id < batch.size(); ++id) batch.cancel(id);
    }
    return {};
}

const Error* error_of(const Line& line, const Batch& batch) {
    if (line.error) return &*line.error;
    const auto& error = batch.sequence(line.id).error;
    return error ? &*error : nullptr;
}

std::string line_json(const Line& line, const Arguments& arguments, const Batch& batch, const LoadedModel& model,
                      const RunFacts& facts) {
    const Error* error = error_of(line, batch);
    const std::string message = error == nullptr ? "" : fmt::format("line {}: {}", line.number, error->text());
    if (line.error) {
        const Json object{{"line", line.number}, {"error", message}};
        return object.dump(1, ' ', false, Json::error_handler_t::replace);
    }
    const BatchSequence& sequence = batch.sequence(line.id);
    RunForJson run;
    run.model = arguments.model;
    run.facts = &facts;
    run.recording = sequence.recording.get();
    run.tokenizer = model.model->tokenizer.get();
    run.tokens = sequence.tokens;
    run.prompt = line.prompt.size();
    run.new_tokens = line.new_tokens;
    run.stop_reason = sequence.stop_reason;
    run.logits_hash = line.hash.text();
    run.error = message;
    return run_json(run);
}

std::string shown_text(const Model& model, std::span<const std::int32_t> tokens) {
    TextStream stream(*model.tokenizer);
    std::string text;
    for (const std::int32_t token : tokens) text += stream.push(token);
    text += stream.finish();
    std::size_t end = std::min(text.size(), kShownText);
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        --end;  // not within a character
    return utf8_escaped(std::string_view(text).substr(0, end)) + (end < text.size() ? "…" : "");
}

void print_line(const Line& line, const Batch& batch, const Model& model) {
    if (const Error* error = error_of(line, batch)) {
        print("{:>5}  refused or ended: {}\n", line.number, error->text());
        return;
    }
    const BatchSequence& sequence = batch.sequence(line.id);
    const auto generated =
        std::span(sequence.tokens).subspan(line.new_tokens > 0 ? line.prompt.size() : sequence.tokens.size());
    std::string first = "n/a", each = "n/a";
    if (const auto* recording = sequence.recording.get(); recording != nullptr && recording->step_count() > 0) {
        first = fmt::format("{:.2f}", recording->step(0)->micros / 1000);
        double micros = 0;
        for (std::int32_t i = 1; i < recording->step_count(); ++i) micros += recording->step(i)->micros;
        if (recording->step_count() > 1) each = fmt::format("{:.3f}", micros / 1000 / (recording->step_count() - 1));
    }
    print("{:>5} {:>7} {:>5}  {:<12} {:>10} {:>12}  {}\n", line.number, line.prompt.size(), generated.size(),
          sequence.stop_reason, first, each, shown_text(model, generated));
    if (!sequence.prefix_note.empty()) print("{:>5}  {}\n", "", sequence.prefix_note);
}

void print_table(const std::vector<Line>& lines, const Batch& batch, const Model& model, const Totals& totals) {
    print("{:>5} {:>7} {:>5}  {:<12} {:>10} {:>12}  {}\n", "line", "prompt", "new", "stopped", "prefill ms",
          "ms per token", "text");
    std::int64_t generated = 0;
    for (const Line& line : lines) {
        print_line(line, batch, model);
        if (line.id >= 0)
            generated += static_cast<std::int64_t>(batch.sequence(line.id).tokens.size() - line.prompt.size());
    }
    if (totals.steps == 0) return;
    print_message("{} of {:.1f} rows on average, {:.1f} ms; {}, {:.1f} per second\n", counted(totals.steps, "step"),
                  static_cast<double>(totals.rows) / static_cast<double>(totals.steps), totals.micros / 1000,
                  counted(generated, "new token"), static_cast<double>(generated) / totals.micros * 1e6);
}

// Results are printed whatever happened; lines that failed make the command fail.
Status failed_lines(const std::vector<Line>& lines, const Batch& batch) {
    std::int64_t failed = 0;
    std::optional<Error> first;
    for (const Line& line : lines) {
        const Error* error = error_of(line, batch);
        if (error == nullptr) continue;
        ++failed;
        if (first) continue;
        first = make_error(error->kind, fmt::format("line {}: {}", line.number, error->message), error->hint);
    }
    if (!first) return {};
    if (failed > 1)
        first->message = fmt::format("{} of {} lines failed, first {}", failed, lines.size(), first->message);
    return *first;
}

}  // namespace

Status run_batch(const Arguments& arguments, std::stop_token stop) {
    auto loaded = open_for(arguments, stop);
    if (!loaded.ok()) return loaded.error();
    const Model& model = *(*loaded)->model;
    auto lines = read_lines(arguments, model, stop);
    if (!lines.ok()) return lines.error();

    BatchConfig config;
    config.session.cache = cache_or_default(arguments);
    config.session.kv = kv_or_default(arguments);
    config.session.prefill_chunk = arguments.chunk;
    auto together = tokens_together(*lines, config, model.config.context);
    if (!together.ok()) return together.error();
    config.session.expected_tokens = *together;
    auto batch = Batch::create(*loaded, config);
    if (!batch.ok()) return batch.error();
    for (Line& line : *lines)
        if (!line.error) add_line(arguments, **batch, line);
    say_when_meaningless(model);
    Totals totals;
    DS_RETURN_IF_ERROR(run_steps(**batch, stop, totals));
    if (arguments.json) {
        const RunFacts facts = make_run_facts(**loaded, config.session, arguments.sampler);
        print("[\n");
        for (const Line& line : *lines)
            print("{}{}\n", line_json(line, arguments, **batch, **loaded, facts), &line == &lines->back() ? "" : ",");
        print("]\n");
    } else {
        print_table(*lines, **batch, model, totals);
    }
    return failed_lines(*lines, **batch);
}

}  // namespace decodescope
