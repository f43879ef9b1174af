#include "engine/measure/compare_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/backend/backend_registry.h"
#include "engine/model/weight_type.h"

namespace decodescope {

namespace {

constexpr const char* kKeys = "The keys are cache, kv, weights and backend, with ';' between them.";

Error with_prefix(const char* prefix, Error error) {
    error.message = prefix + error.message;
    return error;
}

Status set_value(CompareConfig& config, std::string_view key, std::string_view value) {
    if (key == "cache") {
        auto cache = parse_cache_spec(value);
        if (!cache.ok()) return cache.error();
        config.cache = std::move(*cache);
    } else if (key == "kv") {
        auto kv = parse_kv_format(value);
        if (!kv.ok()) return kv.error();
        config.kv = std::move(*kv);
    } else if (key == "weights") {
        auto weights = parse_weight_type(value);
        if (!weights.ok()) return with_prefix("weights ", weights.error());
        config.weights = *weights;
    } else if (key == "backend") {
        if (const Status known = check_backend_name(value); !known.ok()) return with_prefix("backend ", known.error());
        config.backend = std::string(value);
    } else {
        return make_error(ErrorKind::Argument, fmt::format("the key '{}' is not known.", key), kKeys);
    }
    return {};
}

// A value may hold '=' and ',' of its own: only the first '=' ends the key, and only ';' ends the value.
Status read_config(std::string_view text, CompareConfig& config) {
    std::set<std::string_view> seen;
    for (bool more = true; more;) {
        const auto end = text.find(';');
        const std::string_view part = text.substr(0, end);
        const auto equals = part.find('=');
        if (equals == std::string_view::npos)
            return make_error(ErrorKind::Argument, fmt::format("'{}' is not a key with a value.", part), kKeys);
        const std::string_view key = part.substr(0, equals);
        if (!seen.insert(key).second)
            return make_error(ErrorKind::Argument, fmt::format("the key '{}' is given twice.", key));
        DS_RETURN_IF_ERROR(set_value(config, key, part.substr(equals + 1)));
        more = end != std::string_view::npos;
        if (more) text.remove_prefix(end + 1);
    }
    return {};
}

template <class Get>
bool all_equal(std::span<const CompareConfig> configs, Get get) {
    return std::all_of(configs.begin(), configs.end(),
                       [&](const CompareConfig& config) { return get(config) == get(configs.front()); });
}

std::string weights_text(const CompareConfig& config) {
    const std::string name = to_string(config.weights);
    return name.empty() ? "weights as in the file" : name + " weights";
}

}  // namespace

Error named_config_error(std::size_t number, Error error) {
    error.message = fmt::format("configuration {}: {}", number, error.message);
    return error;
}

Result<CompareConfig> parse_compare_config(std::string_view text, std::size_t number, const CompareConfig& defaults) {
    CompareConfig config = defaults;
    const Status status = read_config(text, config);
    if (!status.ok()) return named_config_error(number, status.error());
    auto complete = complete_cache_spec(config.cache);
    if (!complete.ok()) return named_config_error(number, complete.error());
    config.cache = std::move(*complete);
    return config;
}

Result<std::vector<CompareConfig>> parse_compare_configs(std::span<const std::string> texts,
                                                         const CompareConfig& defaults) {
    if (texts.empty() || texts.size() > kMostConfigs)
        return make_error(ErrorKind::Argument,
                          fmt::format("{} configurations are outside 1 to {}.", texts.size(), kMostConfigs),
                          "Give each one with an option of its own: --config \"cache=paged:page=16;kv=f16\".");
    std::vector<CompareConfig> configs;
    for (const std::string& text : texts) {
        auto config = parse_compare_config(text, configs.size() + 1, defaults);
        if (!config.ok()) return config.error();
        configs.push_back(std::move(*config));
    }
    return configs;
}

std::string to_string(const CompareConfig& config) {
    const std::string weights = to_string(config.weights);
    return fmt::format("cache={};kv={}{}{};backend={}", to_string(config.cache), to_string(config.kv),
                       weights.empty() ? "" : ";weights=", weights, config.backend);
}

std::vector<std::string> config_names(std::span<const CompareConfig> configs) {
    std::vector<std::string> names;
    if (configs.empty()) return names;
    const bool kv = all_equal(configs, [](const CompareConfig& c) { return to_string(c.kv); });
    const bool weights = all_equal(configs, [](const CompareConfig& c) { return c.weights; });
    const bool backend = all_equal(configs, [](const CompareConfig& c) { return c.backend; });
    for (const CompareConfig& config : configs) {
        std::string name = to_string(config.cache);
        if (!kv) name.append(" ").append(to_string(config.kv));
        if (!weights) name.append(" ").append(weights_text(config));
        if (!backend) name.append(" on ").append(config.backend);
        std::string unique = name;
        for (int copy = 2; std::find(names.begin(), names.end(), unique) != names.end(); ++copy)
            unique = fmt::format("{} ({})", name, copy);
        names.push_back(std::move(unique));
    }
    return names;
}

std::vector<CompareConfig> growth_configs(const CompareConfig& others) {
    std::vector<CompareConfig> configs;
    for (const char* id : {"growing", "preallocated", "paged"}) {
        CompareConfig config = others;
        config.cache = *complete_cache_spec({id, {}});
        configs.push_back(std::move(config));
    }
    return configs;
}

}  // namespace decodescope
