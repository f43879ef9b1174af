#include "app/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "engine/measure/run_facts.h"
#include "engine/model/model.h"

namespace decodescope {
namespace {

// What CLI11 fills; turned into Arguments by the checks below.
struct Raw {
    std::string weights, lengths, tokens, schedule, size;
    std::vector<std::string> caches, kv_types;
    // Of the command that was given.
    const CLI::Option *prompt = nullptr, *prompt_file = nullptr, *tokens_option = nullptr;
};

Error refuse(std::string message, std::string hint = {}) {
    return make_error(ErrorKind::Argument, std::move(message), std::move(hint));
}

template <class T>
bool parse_number(std::string_view text, T& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc{} && end == text.data() + text.size();
}

template <class T>
Result<std::vector<T>> parse_list(std::string_view text, std::string_view option) {
    std::vector<T> values;
    while (true) {
        const auto comma = text.find(',');
        const std::string_view item = text.substr(0, comma);
        T value{};
        if (!parse_number(item, value))
            return refuse(fmt::format("{}: '{}' is not a whole number in range.", option, item),
                          "Write numbers with commas, as in 1,2,3.");
        values.push_back(value);
        if (comma == std::string_view::npos) return values;
        text.remove_prefix(comma + 1);
    }
}

void add_machine_options(CLI::App& app, Arguments& a, Raw& raw) {
    app.add_option("-m,--model", a.model, "bundled, synthetic:NAME[,context=N], or a folder")->capture_default_str();
    app.add_option("--backend", a.backend, "cpu or reference (plain loops in double precision)")->capture_default_str();
    app.add_option("--threads", a.threads, "threads of the cpu backend; 0 = all")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    app.add_option("--isa", a.instruction_set, "instruction set of the cpu backend, as doctor lists them");
    app.add_option("--weights", raw.weights, "f32, f16 or bf16; default: as in the file");
}

void add_cache_options(CLI::App& app, Raw& raw) {
    app.add_option(
           "--cache", raw.caches,
           "recompute, growing, preallocated[:capacity=N,slab=true], ring:window=W, "
           "sinks:sinks=S,window=W,positions=absolute|rebased; may be repeated where several are compared")
        ->expected(1)
        ->take_all();
    app.add_option("--kv-type", raw.kv_types, "f32, f16, bf16, or apart: k=f16,v=f32")->expected(1)->take_all();
}

void add_prompt_options(CLI::App& app, Arguments& a, Raw& raw) {
    app.add_option("-p,--prompt", a.prompt, "the prompt");
    app.add_option("--prompt-file", a.prompt_file, "file that holds the prompt, read as it is");
    app.add_option("--tokens", raw.tokens, "the prompt as token ids: 1,2,3");
    app.add_flag("--parse-special", a.parse_special, "special tokens written in the prompt become their ids");
    app.add_option("-n,--new-tokens", a.new_tokens, "tokens to generate; 0 = prefill only")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))->capture_default_str();
    app.add_option("--chunk", a.chunk, "rows of one prefill pass; default: chosen by the session")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
}

void add_sampling_options(CLI::App& app, Arguments& a) {
    app.add_option("--temperature", a.sampler.temperature, "0 = greedy")->capture_default_str();
    app.add_option("--top-k", a.sampler.top_k, "0 = all")->capture_default_str();
    app.add_option("--top-p", a.sampler.top_p, "smallest set whose probabilities reach p")->capture_default_str();
    app.add_option("--seed", a.sampler.seed)->capture_default_str();
    app.add_flag("--ignore-eos", a.ignore_eos, "go on after the end token");
}

Status finish_values(Arguments& a, const Raw& raw) {
    static const std::pair<const char*, WeightType> types[] = {
        {"f32", WeightType::F32}, {"f16", WeightType::F16}, {"bf16", WeightType::BF16}};
    if (!raw.weights.empty()) {
        const auto* found =
            std::find_if(std::begin(types), std::end(types), [&](const auto& t) { return raw.weights == t.first; });
        if (found == std::end(types))
            return refuse(fmt::format("--weights: '{}' is not known.", raw.weights), "Use f32, f16 or bf16.");
        a.weights = found->second;
    }
    for (const std::string& text : raw.caches) {
        auto spec = parse_cache_spec(text);
        if (!spec) return spec.error();
        a.caches.push_back(*spec);
    }
    for (const std::string& text : raw.kv_types) {
        auto format = parse_kv_format(text);
        if (!format) return format.error();
        a.kv_types.push_back(*format);
    }
    if (!raw.tokens.empty()) {
        auto tokens = parse_list<std::int32_t>(raw.tokens, "--tokens");
        if (!tokens) return tokens.error();
        a.tokens = *tokens;
        a.has_tokens = true;
    }
    if (!raw.lengths.empty()) {
        auto lengths = parse_list<std::int64_t>(raw.lengths, "--lengths");
        if (!lengths) return lengths.error();
        for (auto length : *lengths)
            if (length < 1) return refuse(fmt::format("--lengths: {} is not a length; the smallest is 1.", length));
        a.lengths = *lengths;
    }
    if (!raw.schedule.empty()) {
        auto schedule = parse_race_schedule(raw.schedule);
        if (!schedule) return schedule.error();
        a.schedule = *schedule;
    }
    return {};
}

Status check_model(const std::string& spec) {
    if (spec.rfind("synthetic:", 0) != 0) return {};
    std::string_view rest = std::string_view(spec).substr(10);
    const auto comma = rest.find(',');
    const std::string base = "synthetic:" + std::string(rest.substr(0, comma));
    std::string names;
    bool known = false;
    for (const ModelInfo& model : known_models()) {
        known = known || model.spec == base;
        names += (names.empty() ? "" : ", ") + model.spec;
    }
    if (!known) return refuse(fmt::format("the model '{}' is not known.", base), "There are: " + names + ".");
    if (comma == std::string_view::npos) return {};
    const std::string_view option = rest.substr(comma + 1);
    std::int64_t context = 0;
    if (option.rfind("context=", 0) != 0 || !parse_number(option.substr(8), context) || context < 1 ||
        context > (std::int64_t{1} << 24))
        return refuse(fmt::format("'{}' in '{}' is not an option of a synthetic model.", option, spec),
                      "Use context=N with N from 1 to 16777216.");
    return {};
}

// Names only; whether the backend works here is found out when it is made.
Status check_backend(const std::string& id) {
    for (const char* name : {"cpu", "reference", "cuda", "cuda-emulated"})
        if (id == name) return {};
    int device = 0;
    if (id.rfind("cuda:", 0) == 0 && parse_number(std::string_view(id).substr(5), device) && device >= 0) return {};
    return refuse(fmt::format("--backend: '{}' is not known.", id), "Use cpu, reference, cuda[:N] or cuda-emulated.");
}

Status check_prompt(Arguments& a, const Raw& raw) {
    const bool from_prompt = raw.prompt != nullptr && raw.prompt->count() > 0;
    const bool from_file = raw.prompt_file != nullptr && raw.prompt_file->count() > 0;
    const bool from_tokens = raw.tokens_option != nullptr && raw.tokens_option->count() > 0;
    if (from_prompt + from_file + from_tokens > 1)
        return refuse("more than one prompt is given.", "Use one of -p, --prompt-file and --tokens.");
    if (from_tokens && !a.has_tokens)
        return refuse("--tokens holds no token id.", "Write ids with commas, as in 1,2,3.");
    a.has_prompt = from_prompt || from_file;
    if (a.command == Command::Generate && !a.has_prompt && !a.has_tokens)
        return refuse("generate needs a prompt.", "Use -p TEXT, --prompt-file FILE or --tokens 1,2,3.");
    return {};
}

Status check_shot(Arguments& a, const Raw& raw) {
    const auto cross = raw.size.find('x');
    if (!raw.size.empty() &&
        (cross == std::string::npos || !parse_number(std::string_view(raw.size).substr(0, cross), a.width) ||
         !parse_number(std::string_view(raw.size).substr(cross + 1), a.height) || a.width < 320 || a.height < 240 ||
         a.width > 16384 || a.height > 16384))
        return refuse(fmt::format("--size: '{}' is not WxH with 320x240 to 16384x16384.", raw.size),
                      "For example 1280x800.");
    if (!(a.scale >= 0.5 && a.scale <= 4.0))
        return refuse(fmt::format("--scale: {} is not between 0.5 and 4.", a.scale));
    if (!a.theme.empty() && a.theme != "light" && a.theme != "dark")
        return refuse(fmt::format("--theme: '{}' is not known.", a.theme), "Use light or dark.");
    if (!a.language.empty() && a.language != "en" && a.language != "zh_CN")
        return refuse(fmt::format("--lang: '{}' is not known.", a.language), "Use en or zh_CN.");
    return {};
}

const char* examples(Command command) {
    switch (command) {
        case Command::Generate:
            return "Examples:\n  decodescope generate -p \"Where is the key?\" -n 32\n"
                   "  decodescope generate -m synthetic:gpt2-small --tokens 1,2,3 -n 8 --cache growing --json\n"
                   "  decodescope generate -p \"Once\" -n 4 --kv-type f16 --trace steps.jsonl";
        case Command::Race:
            return "Examples:\n  decodescope race -p \"Where is the key?\" -n 200\n"
                   "  decodescope race -m synthetic:gpt2-small --tokens 1 -n 512 --recompute at=64,256,512 --json";
        case Command::Bench:
            return "Examples:\n  decodescope bench --lengths 64,96,128,192,256,384 --cache preallocated --cache "
                   "recompute -o charts\n"
                   "  decodescope bench -m synthetic:gpt2-small --weights f16 --lengths 256,512,1024 --repeats 5 "
                   "--profile -o charts";
        case Command::Shot:
            return "Example:\n  decodescope shot -o window.png --size 1280x800 --scale 2 --theme dark --steps 60";
        case Command::Demo: return "Example:\n  decodescope demo -o out";
        case Command::Replay: return "Example:\n  decodescope replay lecture.dscope";
        case Command::Info: return "Examples:\n  decodescope info\n  decodescope info synthetic:tinyllama-1.1b --json";
        case Command::Doctor: return "Example:\n  decodescope doctor --json";
        case Command::List: return "Examples:\n  decodescope list caches\n  decodescope list models --json";
        default:
            return "Examples:\n  decodescope                                      the window\n"
                   "  decodescope generate -p \"Where is the key?\" -n 32   text in the terminal\n"
                   "  decodescope bench --lengths 64,128,256 -o charts    timing charts and their data\n"
                   "  decodescope COMMAND --help                       the options of one command";
    }
}

struct Commands {
    CLI::App app{"Shows on a real decoder why language models keep a KV cache."};
    std::vector<std::pair<CLI::App*, Command>> list;

    CLI::App* add(const char* name, const char* what, Command command) {
        CLI::App* sub = app.add_subcommand(name, what);
        sub->footer(examples(command));
        list.emplace_back(sub, command);
        return sub;
    }
};

void describe(Commands& commands, Arguments& a, Raw& raw) {
    commands.app.set_version_flag("--version", "decodescope " + program_version() + " (" + program_commit() + ")");
    commands.app.footer(examples(Command::Window));
    commands.app.require_subcommand(0, 1);
    commands.app.add_option("--lang", a.language, "language of the window: en or zh_CN");
    commands.app.add_option("--theme", a.theme, "light or dark");

    CLI::App* generate = commands.add("generate", "Generate text and say what each step cost.", Command::Generate);
    add_machine_options(*generate, a, raw);
    add_cache_options(*generate, raw);
    generate->add_flag("--json", a.json, "one JSON object on stdout");
    generate->add_option("--trace", a.trace_file,
                         "file for logits and attention of every position, one JSON line each");
    CLI::App* race = commands.add("race", "The same tokens with and without a cache, step by step.", Command::Race);
    add_machine_options(*race, a, raw);
    add_cache_options(*race, raw);
    race->add_flag("--json", a.json, "JSON on stdout");
    race->add_option("--recompute", raw.schedule,
                     "every, at=256,512 or budget=30s: when the pass without a cache runs; default every");
    for (CLI::App* sub : {generate, race}) {
        add_prompt_options(*sub, a, raw);
        add_sampling_options(*sub, a);
    }

    CLI::App* bench =
        commands.add("bench", "Time lengths and caches; write the charts and their data.", Command::Bench);
    add_machine_options(*bench, a, raw);
    add_cache_options(*bench, raw);
    bench->add_option("--lengths", raw.lengths, "tokens in the sequence, with commas; default 64,96,128,192,256,384");
    bench->add_option("--repeats", a.repeats)->check(CLI::Range(1, 1000))->capture_default_str();
    bench->add_flag("--profile", a.profile, "time of every operation");
    bench->add_option("--seed", a.sampler.seed, "of the token sequence")->capture_default_str();
    bench->add_option("-o,--output", a.output, "folder for timing.csv, .json, .png, .svg, .pdf")->required();

    CLI::App* demo =
        commands.add("demo", "The opening demonstration without a window: charts, data, a picture.", Command::Demo);
    add_machine_options(*demo, a, raw);
    demo->add_option("-o,--output", a.output, "folder for the results")->required();
    demo->add_option("--lang", a.language, "en or zh_CN");

    CLI::App* shot = commands.add("shot", "A picture of the real window.", Command::Shot);
    add_machine_options(*shot, a, raw);
    add_cache_options(*shot, raw);
    shot->add_option("-o,--output", a.output, "PNG file")->required();
    shot->add_option("--size", raw.size, "WxH in window pixels; default 1280x800");
    shot->add_option("--scale", a.scale, "pixels per window pixel")->capture_default_str();
    shot->add_option("--theme", a.theme, "light or dark");
    shot->add_option("--lang", a.language, "en or zh_CN");
    shot->add_option("--steps", a.steps, "decode steps before the picture")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    shot->add_option("--panel", a.panel, "one panel alone, by its id (list panels)");

    CLI::App* replay = commands.add("replay", "Open a recorded run; needs neither model nor GPU.", Command::Replay);
    replay->add_option("file", a.recording, "a .dscope file")->required();
    replay->add_option("--lang", a.language, "en or zh_CN");

    CLI::App* info = commands.add("info", "Shapes, parameters and cache bytes of a model.", Command::Info);
    info->add_option("model", a.model, "bundled, synthetic:NAME[,context=N], or a folder")->capture_default_str();
    info->add_flag("--json", a.json, "JSON on stdout");
    CLI::App* doctor =
        commands.add("doctor", "What this machine can do: instruction sets, bandwidth, backends.", Command::Doctor);
    doctor->add_option("--threads", a.threads, "threads to measure with; 0 = all")->check(CLI::Range(0, 1024));
    doctor->add_flag("--json", a.json, "JSON on stdout");
    CLI::App* list = commands.add("list", "What there is to choose from.", Command::List);
    list->add_option("what", a.list_what, "caches, formats, panels, models or backends")
        ->required()->check(CLI::IsMember({"caches", "formats", "panels", "models", "backends"}));
    list->add_flag("--json", a.json, "JSON on stdout");
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

}  // namespace

Result<ParseOutcome> parse_arguments(int argc, const char* const* argv) {
    ParseOutcome outcome;
    Arguments& a = outcome.arguments;
    Raw raw;
    Commands commands;
    try {
        describe(commands, a, raw);
        commands.app.parse(argc, argv);
    } catch (const CLI::Success& success) {
        outcome.finished = true;
        if (dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr) {
            outcome.text = std::string(success.what()) + "\n";
        } else {
            const CLI::App* shown = &commands.app;
            for (const auto& [sub, _] : commands.list)
                if (sub->parsed()) shown = sub;
            outcome.text = shown->help();
        }
        return outcome;
    } catch (const CLI::ParseError& error) {
        return refuse(one_line(error.what()), "decodescope --help lists what there is.");
    }
    for (const auto& [sub, command] : commands.list) {
        if (!sub->parsed()) continue;
        a.command = command;
        if (command == Command::Generate || command == Command::Race) {
            raw.prompt = sub->get_option("--prompt");
            raw.prompt_file = sub->get_option("--prompt-file");
            raw.tokens_option = sub->get_option("--tokens");
        }
    }
    DS_RETURN_IF_ERROR(finish_values(a, raw));
    DS_RETURN_IF_ERROR(check_model(a.model));
    DS_RETURN_IF_ERROR(check_backend(a.backend));
    DS_RETURN_IF_ERROR(check_prompt(a, raw));
    DS_RETURN_IF_ERROR(check_shot(a, raw));
    DS_RETURN_IF_ERROR(validate(a.sampler));
    const bool several = a.command == Command::Bench;
    if (!several && a.caches.size() > 1)
        return refuse("--cache is given more than once.", "Several caches can be compared by bench.");
    if (!several && a.kv_types.size() > 1)
        return refuse("--kv-type is given more than once.", "Several formats can be compared by bench.");
    return outcome;
}

}  // namespace decodescope
