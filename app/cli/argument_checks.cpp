// What can be decided about a command line from its words alone.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/raw_arguments.h"
#include "engine/backend/backend_registry.h"
#include "engine/cache/supported_pairs.h"
#include "engine/model/synthetic.h"
#include "engine/model/weight_type.h"

namespace decodescope {
namespace {

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

// What no model can make possible; what depends on the model is refused when it is known.
Status check_pairs(const Arguments& a) {
    const bool batched = a.command == Command::Batch;
    std::vector<KvFormat> formats = a.kv_types;
    if (formats.empty()) formats.emplace_back();
    for (const CacheSpec& cache : a.caches) {
        for (const KvFormat& kv : formats) {
            const bool shares = batched && cache.id == "paged";
            const UnsupportedPair* pair = find_unsupported({{}, cache, kv, a.backend, shares, batched});
            if (pair == nullptr) continue;
            const std::string with = a.kv_types.empty() ? "" : " with --kv-type " + to_string(kv);
            return refuse(fmt::format("--cache {}{}: {}", to_string(cache), with, pair->reason),
                          std::string(pair->hint));
        }
    }
    return {};
}

Status check_config_pairs(const std::vector<CompareConfig>& configs) {
    for (std::size_t i = 0; i < configs.size(); ++i) {
        const CompareConfig& config = configs[i];
        const UnsupportedPair* pair = find_unsupported({{}, config.cache, config.kv, config.backend, false, false});
        if (pair != nullptr)
            return named_config_error(i + 1, refuse(std::string(pair->reason), std::string(pair->hint)));
    }
    return {};
}

Status finish_values(Arguments& a, const RawArguments& raw) {
    if (raw.weights) {
        auto type = parse_weight_type(*raw.weights);
        if (!type) return refuse("--weights: " + type.error().message, type.error().hint);
        a.weights = *type;
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
    DS_RETURN_IF_ERROR(check_pairs(a));
    if (raw.tokens) {
        auto tokens = parse_list<std::int32_t>(*raw.tokens, "--tokens");
        if (!tokens) return tokens.error();
        a.tokens = *tokens;
        a.has_tokens = true;
    }
    if (raw.lengths) {
        auto lengths = parse_list<std::int64_t>(*raw.lengths, "--lengths");
        if (!lengths) return lengths.error();
        for (auto length : *lengths)
            if (length < 1) return refuse(fmt::format("--lengths: {} is not a length; the smallest is 1.", length));
        a.lengths = *lengths;
    }
    if (raw.schedule) {
        auto schedule = parse_race_schedule(*raw.schedule);
        if (!schedule) return schedule.error();
        a.schedule = *schedule;
    }
    return {};
}

Status check_model(const std::string& spec) {
    if (spec.rfind("synthetic:", 0) != 0) return {};
    // The name and its options are all there is to know of these.
    auto config = synthetic_config(std::string_view(spec).substr(10));
    return config.ok() ? Status() : Status(config.error());
}

Status check_backend(const std::string& id) {
    const Status known = check_backend_name(id);
    return known ? known : refuse("--backend: " + known.error().message, known.error().hint);
}

// What --backend and --weights say holds for every configuration that does not say something else.
Status finish_configs(Arguments& a, const RawArguments& raw) {
    if (a.command != Command::Compare) return {};
    CompareConfig defaults;
    defaults.weights = a.weights;
    defaults.backend = a.backend;
    if (raw.configs.empty()) {
        a.configs = growth_configs(defaults);
        return {};
    }
    auto configs = parse_compare_configs(raw.configs, defaults);
    if (!configs) return configs.error();
    a.configs = std::move(*configs);
    return check_config_pairs(a.configs);
}

Status check_prompt(Arguments& a, const RawArguments& raw) {
    if (raw.from_prompt + raw.from_file + raw.from_tokens > 1)
        return refuse("more than one prompt is given.", "Use one of -p, --prompt-file and --tokens.");
    a.has_prompt = raw.from_prompt || raw.from_file;
    const char* needy = a.command == Command::Generate  ? "generate"
                        : a.command == Command::Compare ? "compare"
                                                        : nullptr;
    if (needy != nullptr && !a.has_prompt && !a.has_tokens)
        return refuse(fmt::format("{} needs a prompt.", needy), "Use -p TEXT, --prompt-file FILE or --tokens 1,2,3.");
    return {};
}

// A picture is a PNG, whatever its name says; a name without an ending may be a pipe or a device.
Status check_picture_name(const Arguments& a) {
    if (a.command != Command::Shot) return {};
    std::string ending = std::filesystem::path(a.output).extension().string();
    for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (ending.empty() || ending == ".png") return {};
    return refuse(fmt::format("-o: '{}' ends in {}, and the picture is a PNG.", a.output, ending),
                  "Give a name that ends in .png.");
}

// A picture is painted in memory, four bytes per pixel, more than once.
constexpr double kMostPixels = 100e6;

Status check_shot(Arguments& a, const RawArguments& raw) {
    const std::string_view size = raw.size ? std::string_view(*raw.size) : std::string_view();
    const auto cross = size.find('x');
    if (raw.size && (cross == std::string::npos || !parse_number(size.substr(0, cross), a.width) ||
                     !parse_number(size.substr(cross + 1), a.height) || a.width < 320 || a.height < 240 ||
                     a.width > 16384 || a.height > 16384))
        return refuse(fmt::format("--size: '{}' is not WxH with 320x240 to 16384x16384.", size),
                      "For example 1280x800.");
    const double pixels = static_cast<double>(a.width) * a.height * a.scale * a.scale;
    if (pixels > kMostPixels)
        return refuse(fmt::format("--size {}x{} at --scale {} makes {:.0f} million pixels; the most is {:.0f} million.",
                                  a.width, a.height, a.scale, pixels / 1e6, kMostPixels / 1e6),
                      "Choose a smaller size or scale.");
    if (!a.theme.empty() && a.theme != "light" && a.theme != "dark")
        return refuse(fmt::format("--theme: '{}' is not known.", a.theme), "Use light or dark.");
    if (!a.language.empty() && a.language != "en" && a.language != "zh_CN")
        return refuse(fmt::format("--lang: '{}' is not known.", a.language), "Use en or zh_CN.");
    return {};
}

}  // namespace

Status finish_arguments(Arguments& a, const RawArguments& raw) {
    DS_RETURN_IF_ERROR(finish_values(a, raw));
    DS_RETURN_IF_ERROR(check_model(a.model));
    DS_RETURN_IF_ERROR(check_backend(a.backend));
    DS_RETURN_IF_ERROR(finish_configs(a, raw));
    DS_RETURN_IF_ERROR(check_prompt(a, raw));
    DS_RETURN_IF_ERROR(check_shot(a, raw));
    DS_RETURN_IF_ERROR(check_picture_name(a));
    DS_RETURN_IF_ERROR(validate(a.sampler));
    const bool several = a.command == Command::Bench;
    if (!several && a.caches.size() > 1)
        return refuse("--cache is given more than once.", "Several caches can be compared by bench.");
    if (!several && a.kv_types.size() > 1)
        return refuse("--kv-type is given more than once.", "Several formats can be compared by bench.");
    return {};
}

std::string ignored_options(const Arguments& a) {
    const auto plain = [](const std::string& backend) { return backend == "reference"; };
    const bool all = a.command == Command::Compare
                         ? std::all_of(a.configs.begin(), a.configs.end(),
                                       [&](const CompareConfig& config) { return plain(config.backend); })
                         : plain(a.backend);
    if (!all || (a.threads == 0 && a.instruction_set.empty())) return {};
    const char* what = a.instruction_set.empty() ? "--threads is"
                       : a.threads == 0          ? "--isa is"
                                                 : "--threads and --isa are";
    return fmt::format("{} ignored: the reference backend runs plain loops in one thread.", what);
}

}  // namespace decodescope
