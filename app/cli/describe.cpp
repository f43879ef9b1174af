// `info`, `doctor`, `list`: what there is and what it would need.
#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/measure/run_facts.h"
#include "engine/model/layer_kinds.h"
#include "engine/support/numbers.h"
#include "kernels/api/usable_cores.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/machine_rates.h"

namespace decodescope {
namespace {

using Json = nlohmann::ordered_json;

void print_table(const std::vector<std::pair<std::string, std::string>>& rows) {
    std::size_t width = 0;
    for (const auto& [name, _] : rows) width = std::max(width, name.size());
    for (const auto& [name, value] : rows) print("{:<{}}  {}\n", name, width, value);
}

std::string bytes_text(std::int64_t bytes) {
    return fmt::format("{} ({} bytes)", format_bytes(bytes), format_grouped(bytes));
}

std::string stored_name(const ModelConfig& config) {
    return config.stored_as.empty() ? std::string(element_name(config.file_type)) : config.stored_as;
}

// What the backend keeps; and what the program keeps beside it because the file's own bytes cannot be used.
std::string weights_text(const ModelConfig& config) {
    std::string text = fmt::format("{} in {}", bytes_text(config.file_weight_bytes()),
                                   config.kept_bytes > 0 ? config.stored_as : element_name(config.file_type));
    if (config.widened_bytes > 0)
        text += fmt::format(", and {} made of the file's {}", bytes_text(config.widened_bytes), stored_name(config));
    return text;
}

// Layers that attend to a window keep no more than that. Every layer takes the same for a token.
std::int64_t bytes_at_context(const ModelConfig& config, std::int64_t bytes_per_token) {
    std::int64_t rows = 0;  // of all layers
    for (const LayerKind& kind : layer_kinds(config)) rows += kind.layers * kind.rows(config.context);
    return bytes_per_token / config.layers * rows;
}

std::string window_text(const ModelConfig& config) {
    const LayerKind local = local_kind(config);
    if (local.layers == 0) return "every layer attends to all tokens";
    return fmt::format("{} of {} layers attend to the last {} tokens", local.layers, config.layers, local.window);
}

// "18 layers: 15 local x 512 rows + 3 global x 2,048 rows"; empty where all layers see everything.
std::string rows_text(const ModelConfig& config) {
    std::string text;
    for (const LayerKind& kind : layer_kinds(config))
        text = fmt::format("{} {} x {} rows{}{}", kind.layers, kind.local() ? "local" : "global",
                           format_grouped(kind.rows(config.context)), text.empty() ? "" : " + ", text);
    return local_kind(config).layers == 0 ? "" : fmt::format("{} layers: {}; ", config.layers, text);
}

}  // namespace

Status run_info(const Arguments& arguments) {
    auto model = describe_model(arguments.model, OpenOptions{});
    if (!model) return model.error();
    const ModelConfig& c = *model;
    const std::int64_t f32 = c.kv_bytes_per_token(ElementType::F32, ElementType::F32),
                       f16 = c.kv_bytes_per_token(ElementType::F16, ElementType::F16);
    if (arguments.json) {
        Json j;
        j["model"] = arguments.model;
        j["name"] = c.name;
        j["family"] = family_name(c.family);
        j["layers"] = c.layers;
        j["hidden"] = c.hidden;
        j["heads"] = c.heads;
        j["kv_heads"] = c.kv_heads;
        j["head_dim"] = c.head_dim;
        j["feed_forward"] = c.feed_forward;
        j["vocabulary"] = c.vocabulary;
        j["context"] = c.context;
        j["tied_head"] = c.tied_head;
        j["end_tokens"] = c.end_tokens;
        j["chat_template"] = c.chat_template;
        j["file_type"] = stored_name(c);
        j["weight_bytes"] = c.file_weight_bytes();
        j["weight_type"] = c.kept_bytes > 0 ? c.stored_as : std::string(element_name(c.file_type));
        j["widened_bytes"] = c.widened_bytes;
        j["window"] = c.window;
        j["parameters"] = c.parameters();
        j["kv_bytes_per_token"] = {{"f32", f32}, {"f16", f16}};
        j["kv_bytes_at_context"] = {{"f32", bytes_at_context(c, f32)}, {"f16", bytes_at_context(c, f16)}};
        print("{}\n", j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
        return {};
    }
    print_table({{"model", c.name + " (" + arguments.model + ")"},
                 {"family", std::string(family_name(c.family))},
                 {"layers", fmt::format("{}", c.layers)},
                 {"width", fmt::format("{} hidden, {} feed-forward", c.hidden, c.feed_forward)},
                 {"heads", fmt::format("{} query, {} KV, {} wide", c.heads, c.kv_heads, c.head_dim)},
                 {"vocabulary",
                  fmt::format("{}{}", format_grouped(c.vocabulary), c.tied_head ? ", head tied to the embedding" : "")},
                 {"context", format_grouped(c.context) + " tokens"},
                 {"attention", window_text(c)},
                 {"end of text", c.end_tokens.empty() ? "none" : fmt::format("{}", fmt::join(c.end_tokens, ", "))},
                 {"chat template", c.chat_template ? "in the file; not applied, text is sent as it is typed" : "none"},
                 {"parameters",
                  format_grouped(c.parameters()) + ", " + stored_name(c) + " in the file"},
                 {"weights in memory", weights_text(c)},
                 {"KV per token", fmt::format("2 x {} layers x {} KV heads x {} x bytes = {} in f32, {} in f16",
                                              c.layers, c.kv_heads, c.head_dim, bytes_text(f32), bytes_text(f16))},
                 {"KV at full context",
                  fmt::format("{}{} in f32, {} in f16", rows_text(c), bytes_text(bytes_at_context(c, f32)),
                              bytes_text(bytes_at_context(c, f16)))}});
    return {};
}

Status run_doctor(const Arguments& arguments, std::stop_token stop) {
    const int threads =
        arguments.threads > 0 ? arguments.threads : usable_cores();
    const std::vector<std::string> sets = cpu_instruction_sets();
    const MachineRates rates = measure_machine_rates(threads, stop);
    const ReadRates small = measure_small_page_rates(threads, stop);
    BackendRegistry registry = make_backend_registry();
    registry.probe();
    if (arguments.json) {
        Json j;
        j["version"] = program_version();
        j["commit"] = program_commit();
        j["cpu"] = cpu_name();
        j["threads"] = threads;
        j["instruction_sets"] = sets;
        j["read_gb_s"] = {{"one_thread", rates.read_gb_s_1}, {"all_threads", rates.read_gb_s_all}};
        j["read_gb_s_small_pages"] = {{"one_thread", small.gb_s_1}, {"all_threads", small.gb_s_all}};
        j["gflops"] = {{"one_thread", rates.gflops_1}, {"all_threads", rates.gflops_all}};
        j["backends"] = Json::array();
        for (const BackendEntry& entry : registry.entries()) {
            Json backend = {{"id", entry.id}, {"title", entry.title}, {"available", entry.available}};
            if (!entry.available) backend["reason"] = entry.reason;
            j["backends"].push_back(backend);
        }
        print("{}\n", j.dump(1));
        return {};
    }
    print_table({{"version", program_version() + " (" + program_commit() + ")"},
                 {"processor", cpu_name()},
                 {"instruction sets", fmt::format("{} (the first is used)", fmt::join(sets, ", "))},
                 {"read bandwidth", fmt::format("{:.1f} GB/s with 1 thread, {:.1f} GB/s with {} [measured]",
                                                rates.read_gb_s_1, rates.read_gb_s_all, threads)},
                 {"with 4 KiB pages", fmt::format("{:.1f} GB/s with 1 thread, {:.1f} GB/s with {} [measured]; weights and "
                                                  "caches ask for 2 MiB",
                                                  small.gb_s_1, small.gb_s_all, threads)},
                 {"f32 arithmetic", fmt::format("{:.0f} GFLOP/s with 1 thread, {:.0f} GFLOP/s with {} [measured]",
                                                rates.gflops_1, rates.gflops_all, threads)}});
    for (const BackendEntry& entry : registry.entries())
        print("backend {:<14} {}\n", entry.id, entry.available ? "works" : "not available: " + entry.reason);
    return {};
}

namespace {

struct ListLine {
    std::string id, title, text;
    Json extra;
    std::vector<std::string> below = {};  // one line each, without --json
};

// A choice as it is written after `--cache`, not its number.
Json default_json(const ParameterDescriptor& parameter) {
    if (parameter.type == ParameterType::Integer) return parameter.default_value;
    if (parameter.type == ParameterType::Boolean) return parameter.default_value != 0;
    return value_text(parameter, parameter.default_value);
}

std::string parameter_line(const ParameterDescriptor& parameter, std::size_t width) {
    return fmt::format("{:<{}}  {}; default {}. {}", parameter.name, width, allowed_values(parameter),
                       value_text(parameter, parameter.default_value), parameter.help);
}

std::vector<ListLine> cache_lines() {
    std::vector<ListLine> lines;
    for (const StrategyDescriptor& strategy : strategy_catalogue()) {
        Json parameters = Json::array();
        std::size_t width = 0;
        for (const ParameterDescriptor& parameter : strategy.parameters)
            width = std::max(width, parameter.name.size());
        std::vector<std::string> below;
        for (const ParameterDescriptor& parameter : strategy.parameters) {
            parameters.push_back(
                {{"name", parameter.name}, {"help", parameter.help}, {"default", default_json(parameter)}});
            below.push_back(parameter_line(parameter, width));
        }
        lines.push_back({strategy.id, strategy.title, strategy.explanation,
                         {{"parameters", parameters}, {"has_cache", strategy.has_cache}, {"lossy", strategy.lossy}},
                         std::move(below)});
    }
    return lines;
}

std::vector<ListLine> lines_for(const std::string& what, const std::vector<PanelListing>& panels) {
    std::vector<ListLine> lines;
    if (what == "caches") return cache_lines();
    if (what == "formats")
        for (const KvTypeInfo& info : kKvTypes)
            lines.push_back({std::string(info.name), std::string(info.name), std::string(info.help),
                             {{"bytes_per_element", element_bytes(info.type)},
                              {"lossy", kv_format_of(info, info).is_lossy()}}});
    if (what == "models")
        for (const ModelInfo& model : known_models())
            lines.push_back({model.spec, model.title, model.description, Json::object()});
    if (what == "panels")
        for (const PanelListing& panel : panels) lines.push_back({panel.id, panel.title, panel.help, Json::object()});
    if (what == "backends") {
        BackendRegistry registry = make_backend_registry();
        registry.probe();
        for (const BackendEntry& entry : registry.entries())
            lines.push_back(
                {entry.id, entry.title, entry.available ? "works" : entry.reason, {{"available", entry.available}}});
    }
    return lines;
}

}  // namespace

Status run_list(const Arguments& arguments, const std::vector<PanelListing>& panels) {
    const auto lines = lines_for(arguments.list_what, panels);
    if (arguments.json) {
        Json j = Json::array();
        for (const ListLine& line : lines) {
            Json item = {{"id", line.id}, {"title", line.title}, {"description", line.text}};
            item.update(line.extra);
            j.push_back(item);
        }
        print("{}\n", j.dump(1));
        return {};
    }
    std::size_t width = 0;
    for (const ListLine& line : lines) width = std::max(width, line.id.size());
    for (const ListLine& line : lines) {
        print("{:<{}}  {}\n", line.id, width, line.text);
        for (const std::string& below : line.below) print("{:<{}}    {}\n", "", width, below);
    }
    return {};
}

}  // namespace decodescope
