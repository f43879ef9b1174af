#include "app/cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <type_traits>

#include "app/cli/raw_arguments.h"
#include "engine/measure/run_facts.h"

namespace decodescope {
namespace {

constexpr int kMostThreads = 1024;

// An option with one number. The library's own conversion takes "0x10" and "010" for other numbers than they look like
// and wraps what does not fit.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& names, T& value, T least, T most, const std::string& what) {
    const std::string shown = names.substr(names.rfind(',') + 1);
    const auto set = [&value, least, most, shown](const std::string& text) {
        T parsed{};
        if (!parse_number(text, parsed) || !(parsed >= least && parsed <= most)) {
            const char* kind = std::is_floating_point_v<T> ? "number" : "whole number";
            const bool any = std::is_floating_point_v<T> && most == std::numeric_limits<T>::max();
            const std::string range = any ? "" : fmt::format(" from {} to {}", least, most);
            throw CLI::ValidationError(shown, fmt::format("'{}' is not a {}{}", text, kind, range));
        }
        value = parsed;
    };
    return app.add_option_function<std::string>(names, set, what)
        ->type_name(std::is_floating_point_v<T> ? "NUMBER" : "INTEGER")
        ->default_str(fmt::format("{}", value));
}

// An option whose text is looked at later; an empty one was given all the same.
CLI::Option* add_text(CLI::App& app, const std::string& names, std::optional<std::string>& value,
                      const std::string& what) {
    return app.add_option_function<std::string>(names, [&value](const std::string& text) { value = text; }, what)
        ->type_name("TEXT");
}

CLI::Validator not_empty() {
    return CLI::Validator([](const std::string& text) { return std::string(text.empty() ? "'' is no name" : ""); },
                          std::string());
}

void add_machine_options(CLI::App& app, Arguments& a, RawArguments& raw) {
    app.add_option("-m,--model", a.model, "bundled, synthetic:NAME[,context=N], a folder or a GGUF file")
        ->capture_default_str();
    app.add_option("--backend", a.backend,
                   "cpu, reference (plain loops in double precision), cuda[:N] or cuda-emulated; list backends "
                   "says which work here")
        ->capture_default_str();
    add_number(app, "--threads", a.threads, 0, kMostThreads, "threads of the cpu backend; 0 = all");
    app.add_option("--isa", a.instruction_set, "instruction set of the cpu backend, as doctor lists them")
        ->check(not_empty());
    add_text(app, "--weights", raw.weights, "f32, f16, bf16 or int8; default: as in the file");
}

constexpr std::size_t kChoicesToName = 4;

// Every strategy with what may be written after its name: "preallocated[:capacity=N,slab=true]".
std::string cache_forms() {
    std::string forms;
    for (const StrategyDescriptor& strategy : strategy_catalogue()) {
        std::string parameters;
        for (const ParameterDescriptor& parameter : strategy.parameters) {
            std::string value = parameter.type == ParameterType::Boolean ? "true" : "N";
            // Many choices are numbers that `list caches` explains.
            if (parameter.type == ParameterType::Choice && parameter.choices.size() <= kChoicesToName)
                value = fmt::format("{}", fmt::join(parameter.choices, "|"));
            parameters += fmt::format("{}{}={}", parameters.empty() ? "" : ",", parameter.name, value);
        }
        forms += fmt::format("{}{}{}", forms.empty() ? "" : ", ", strategy.id,
                             parameters.empty() ? "" : "[:" + parameters + "]");
    }
    return forms;
}

std::string kv_forms() {
    std::string forms;
    for (const KvTypeInfo& info : kKvTypes) forms += fmt::format("{}, ", info.name);
    return forms + "or apart: k=int8-kivi(group=32,residual=32),v=f16";
}

void add_cache_options(CLI::App& app, RawArguments& raw) {
    app.add_option("--cache", raw.caches, cache_forms() + "; may be repeated where several are compared")
        ->expected(1)
        ->take_all();
    app.add_option("--kv-type", raw.kv_types, kv_forms())->expected(1)->take_all();
}

void add_prompt_options(CLI::App& app, Arguments& a, RawArguments& raw, const char* without) {
    app.add_option("-p,--prompt", a.prompt, without);
    app.add_option("--prompt-file", a.prompt_file, "file that holds the prompt, read as it is");
    add_text(app, "--tokens", raw.tokens, "the prompt as token ids: 1,2,3");
}

void add_length_options(CLI::App& app, Arguments& a) {
    app.add_flag("--parse-special", a.parse_special, "special tokens written in the prompt become their ids");
    add_number(app, "-n,--new-tokens", a.new_tokens, std::int64_t{0}, std::int64_t{1} << 31,
               "tokens to generate; 0 = prefill only");
    add_number(app, "--chunk", a.chunk, std::int64_t{1}, std::int64_t{1} << 20,
               "rows of one prefill pass; default: chosen by the session")
        ->default_str("");
}

void add_seed(CLI::App& app, Arguments& a, const char* what) {
    add_number(app, "--seed", a.sampler.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), what);
}

void add_sampling_options(CLI::App& app, Arguments& a) {
    // The sampler's own check knows what is possible beyond being a number.
    constexpr double kAnyNumber = std::numeric_limits<double>::max();
    add_number(app, "--temperature", a.sampler.temperature, -kAnyNumber, kAnyNumber, "0 = greedy");
    add_number(app, "--top-k", a.sampler.top_k, 0, std::numeric_limits<std::int32_t>::max(), "0 = all");
    add_number(app, "--top-p", a.sampler.top_p, -kAnyNumber, kAnyNumber, "smallest set whose probabilities reach p");
    add_seed(app, a, "of the random numbers");
    app.add_flag("--ignore-eos", a.ignore_eos, "go on after the end token");
}

std::string version_line() { return "decodescope " + program_version() + " (" + program_commit() + ")"; }

struct Commands {
    CLI::App app{"Shows on a real decoder why language models keep a KV cache."};
    std::vector<std::pair<CLI::App*, Command>> list;

    CLI::App* add(const char* name, const char* what, Command command) {
        CLI::App* sub = app.add_subcommand(name, what);
        sub->footer(examples(command));
        sub->set_version_flag("--version", version_line());
        list.emplace_back(sub, command);
        return sub;
    }
};

void describe_window(Commands& commands, Arguments& a) {
    commands.app.set_version_flag("--version", version_line());
    commands.app.footer(examples(Command::Window));
    commands.app.require_subcommand(0, 1);
    commands.app.add_option("-m,--model", a.model, "what the window opens with: as for the commands")
        ->capture_default_str();
    commands.app.add_option("--lang", a.language, "language of the window: en or zh_CN")->check(not_empty());
    commands.app.add_option("--theme", a.theme, "light or dark")->check(not_empty());
}

// Commands that write text.
void describe_runs(Commands& commands, Arguments& a, RawArguments& raw) {
    CLI::App* generate = commands.add("generate", "Generate text and say what each step cost.", Command::Generate);
    add_machine_options(*generate, a, raw);
    add_cache_options(*generate, raw);
    generate->add_flag("--json", a.json, "one JSON object on stdout");
    generate->add_option("--trace", a.trace_file,
                         "file for logits and attention of every position, one JSON line each")
        ->check(not_empty());
    CLI::App* race = commands.add("race", "The same tokens with and without a cache, step by step.", Command::Race);
    add_machine_options(*race, a, raw);
    add_cache_options(*race, raw);
    race->add_flag("--json", a.json, "JSON on stdout");
    add_text(*race, "--recompute", raw.schedule,
             "every, at=256,512 or budget=30s: when the pass without a cache runs; default every");
    CLI::App* compare = commands.add(
        "compare", "Up to four configurations on the same prompt: time, memory, logits, text.", Command::Compare);
    add_machine_options(*compare, a, raw);
    compare
        ->add_option("--config", raw.configs,
                     "\"cache=SPEC;kv=SPEC;weights=TYPE;backend=NAME\", each part may be left out; up to four, the "
                     "first is what the others are compared with; default: growing, preallocated, paged")
        ->expected(1)
        ->take_all();
    compare->add_flag("--json", a.json, "what compare.json holds, on stdout");
    compare->add_option("-o,--output", a.output, "folder for compare.csv, .json, .png, .svg, .pdf")
        ->required()
        ->check(not_empty());
    for (CLI::App* sub : {generate, compare}) add_prompt_options(*sub, a, raw, "the prompt");
    add_prompt_options(*race, a, raw, "the prompt; without one, that of the opening demonstration of the model");

    CLI::App* batch = commands.add("batch", "Several prompts at once: each step reads the weights once for all.",
                                   Command::Batch);
    batch->add_option("--prompts", a.prompts_file,
                      "one JSON object a line: {\"tokens\": [1,2] or \"prompt\": \"text\", \"n\": N, \"seed\": S}")
        ->required()->check(not_empty());
    add_machine_options(*batch, a, raw);
    add_cache_options(*batch, raw);
    batch->add_flag("--json", a.json, "an array on stdout, one object for each line");
    for (CLI::App* sub : {generate, race, compare, batch}) {
        add_length_options(*sub, a);
        add_sampling_options(*sub, a);
    }
}

// Commands that draw.
void describe_pictures(Commands& commands, Arguments& a, RawArguments& raw) {
    CLI::App* bench =
        commands.add("bench", "Time lengths and caches; write the charts and their data.", Command::Bench);
    add_machine_options(*bench, a, raw);
    add_cache_options(*bench, raw);
    add_text(*bench, "--lengths", raw.lengths, "tokens in the sequence, with commas; default 64,96,128,192,256,384");
    add_number(*bench, "--repeats", a.repeats, 1, 1000, "measured passes of every kind, after one that warms up");
    bench->add_flag("--profile", a.profile, "time of every operation");
    add_seed(*bench, a, "of the token sequence");
    bench->add_option("-o,--output", a.output, "folder for timing.csv, .json, .png, .svg, .pdf")
        ->required()
        ->check(not_empty());

    CLI::App* demo =
        commands.add("demo", "The opening demonstration without a window: charts, data, a picture.", Command::Demo);
    add_machine_options(*demo, a, raw);
    demo->add_option("-o,--output", a.output, "folder for the results")->required()->check(not_empty());
    demo->add_option("--lang", a.language, "en or zh_CN")->check(not_empty());

    CLI::App* shot = commands.add("shot", "A picture of the real window.", Command::Shot);
    add_machine_options(*shot, a, raw);
    add_cache_options(*shot, raw);
    shot->add_option("-o,--output", a.output, "the picture: NAME.png")->required()->check(not_empty());
    add_text(*shot, "--size", raw.size, "WxH in window pixels; default 1280x800");
    add_number(*shot, "--scale", a.scale, 0.5, 4.0, "pixels per window pixel");
    shot->add_option("--theme", a.theme, "light or dark")->check(not_empty());
    shot->add_option("--lang", a.language, "en or zh_CN")->check(not_empty());
    add_number(*shot, "--steps", a.steps, 0, 1 << 20, "decode steps before the picture");
    shot->add_option("--panel", a.panel, "one panel alone, by its id (list panels)")->check(not_empty());

    CLI::App* replay = commands.add("replay", "Open a recorded run; needs neither model nor GPU.", Command::Replay);
    replay->add_option("file", a.recording, "a .dscope file")->required()->check(not_empty());
    replay->add_option("--lang", a.language, "en or zh_CN")->check(not_empty());
}

// Commands that tell facts.
void describe_facts(Commands& commands, Arguments& a) {
    CLI::App* info = commands.add("info", "Shapes, parameters and cache bytes of a model.", Command::Info);
    info->add_option("model", a.model, "bundled, synthetic:NAME[,context=N], a folder or a GGUF file")
        ->capture_default_str();
    info->add_flag("--json", a.json, "JSON on stdout");
    CLI::App* doctor =
        commands.add("doctor", "What this machine can do: instruction sets, bandwidth, backends.", Command::Doctor);
    add_number(*doctor, "--threads", a.threads, 0, kMostThreads, "threads to measure with; 0 = all");
    doctor->add_flag("--json", a.json, "JSON on stdout");
    CLI::App* list = commands.add("list", "What there is to choose from.", Command::List);
    list->add_option("what", a.list_what, "caches, formats, panels, models or backends")
        ->required()->check(CLI::IsMember({"caches", "formats", "panels", "models", "backends"}));
    list->add_flag("--json", a.json, "JSON on stdout");
    CLI::App* pool = commands.add("pool",
                                  "Pages of a cache, line by line, without a model. A line that is refused says why "
                                  "and changes nothing; the exit code is 0 all the same.",
                                  Command::Pool);
    pool->add_option("--script", a.script, "lines: new pages=N page=P, start A 1,2, append A 3, fork A B, end A")
        ->required()->check(not_empty());
    pool->add_flag("--json", a.json, "one JSON object after each line");
    commands.add("has-display", "Exit code 0 when a window can be shown.", Command::HasDisplay);
}

// CLI11's sentences made to look like ours: one line, no "Run with --help".
std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n') c = ' ';
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
}

std::string help_or_version(const CLI::Success& success, const Commands& commands) {
    if (dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr) return std::string(success.what()) + "\n";
    const CLI::App* shown = &commands.app;
    for (const auto& [sub, _] : commands.list)
        if (sub->parsed()) shown = sub;
    return shown->help();
}

}  // namespace

Result<ParseOutcome> parse_arguments(int argc, const char* const* argv) {
    ParseOutcome outcome;
    Arguments& a = outcome.arguments;
    RawArguments raw;
    Commands commands;
    try {
        describe_window(commands, a);
        describe_runs(commands, a, raw);
        describe_pictures(commands, a, raw);
        describe_facts(commands, a);
        commands.app.parse(argc, argv);
    } catch (const CLI::Success& success) {
        outcome.finished = true;
        outcome.text = help_or_version(success, commands);
        return outcome;
    } catch (const CLI::ExtrasError&) {
        const auto extra = commands.app.remaining(true);  // as they were typed; the library names them backwards
        return refuse(fmt::format("not expected: {}.", fmt::join(extra, " ")),
                      "decodescope --help lists what there is.");
    } catch (const CLI::ParseError& error) {
        return refuse(one_line(error.what()), "decodescope --help lists what there is.");
    }
    for (const auto& [sub, command] : commands.list) {
        if (!sub->parsed()) continue;
        a.command = command;
        if (command == Command::Generate || command == Command::Race || command == Command::Compare) {
            raw.from_prompt = sub->count("--prompt") > 0;
            raw.from_file = sub->count("--prompt-file") > 0;
            raw.from_tokens = sub->count("--tokens") > 0;
        }
    }
    DS_RETURN_IF_ERROR(finish_arguments(a, raw));
    return outcome;
}

}  // namespace decodescope
