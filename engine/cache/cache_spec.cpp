// `--cache` arguments: text <-> CacheSpec, checked against what the strategies declare.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/cache/cache_strategy.h"
#include "engine/cache/strategy_descriptor.h"
#include "engine/cache/supported_pairs.h"

namespace decodescope {
namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
        text += names[i];
    }
    return text;
}

Result<const StrategyDescriptor*> known_strategy(const std::string& id) {
    if (const auto* descriptor = find_strategy(id)) return descriptor;
    std::vector<std::string> names;
    for (const auto& descriptor : strategy_catalogue()) names.push_back(descriptor.id);
    return make_error(ErrorKind::Argument, fmt::format("Unknown cache strategy \"{}\".", id),
                      fmt::format("There are {}.", joined(names)));
}

Result<const ParameterDescriptor*> known_parameter(const StrategyDescriptor& strategy, const std::string& name) {
    for (const auto& parameter : strategy.parameters) {
        if (parameter.name == name) return &parameter;
    }
    std::vector<std::string> names;
    for (const auto& parameter : strategy.parameters) names.push_back(parameter.name);
    return make_error(ErrorKind::Argument,
                      fmt::format("The cache strategy \"{}\" has no parameter \"{}\".", strategy.id, name),
                      names.empty() ? "It has none." : fmt::format("It has {}.", joined(names)));
}

Error bad_value(const std::string& strategy, const ParameterDescriptor& parameter, std::string_view value) {
    return make_error(
        ErrorKind::Argument,
        fmt::format("\"{}\" is no value for {} of the cache strategy \"{}\".", value, parameter.name, strategy),
        fmt::format("It takes {}.", allowed_values(parameter)));
}

bool in_range(const ParameterDescriptor& parameter, std::int64_t value) {
    switch (parameter.type) {
        case ParameterType::Boolean: return value == 0 || value == 1;
        case ParameterType::Choice: return value >= 0 && value < static_cast<std::int64_t>(parameter.choices.size());
        case ParameterType::Integer: break;
    }
    return value >= parameter.minimum && value <= parameter.maximum;
}

std::optional<std::int64_t> parse_value(const ParameterDescriptor& parameter, std::string_view text) {
    if (parameter.type == ParameterType::Boolean) {
        if (text == "true" || text == "1") return 1;
        if (text == "false" || text == "0") return 0;
        return std::nullopt;
    }
    if (parameter.type == ParameterType::Choice) {
        const auto found = std::find(parameter.choices.begin(), parameter.choices.end(), text);
        if (found == parameter.choices.end()) return std::nullopt;
        return found - parameter.choices.begin();
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return in_range(parameter, value) ? std::optional(value) : std::nullopt;
}

// One "name=value".
Status parse_parameter(const StrategyDescriptor& strategy, std::string_view text, ParameterValues& values) {
    const auto equals = text.find('=');
    const std::string name(text.substr(0, equals));
    auto parameter = known_parameter(strategy, name);
    if (!parameter.ok()) return parameter.error();
    if (equals == std::string_view::npos) {
        return make_error(ErrorKind::Argument,
                          fmt::format("The parameter {} of the cache strategy \"{}\" has no value.", name, strategy.id),
                          fmt::format("Write {}= and {}.", name, allowed_values(**parameter)));
    }
    const auto value = parse_value(**parameter, text.substr(equals + 1));
    if (!value) return bad_value(strategy.id, **parameter, text.substr(equals + 1));
    if (!values.emplace(name, *value).second) {
        return make_error(
            ErrorKind::Argument,
            fmt::format("The parameter {} of the cache strategy \"{}\" is given twice.", name, strategy.id));
    }
    return {};
}

}  // namespace

std::string allowed_values(const ParameterDescriptor& parameter) {
    switch (parameter.type) {
        case ParameterType::Boolean: return "true or false";
        case ParameterType::Choice: return "one of " + joined(parameter.choices);
        case ParameterType::Integer: break;
    }
    return fmt::format("a whole number from {} to {}", parameter.minimum, parameter.maximum);
}

std::string value_text(const ParameterDescriptor& parameter, std::int64_t value) {
    if (parameter.type == ParameterType::Boolean) return value != 0 ? "true" : "false";
    if (parameter.type == ParameterType::Choice) return parameter.choices[static_cast<std::size_t>(value)];
    return fmt::format("{}", value);
}

ParameterDescriptor integer_parameter(std::string name, std::int64_t minimum, std::int64_t maximum,
                                      std::int64_t default_value, std::string help) {
    ParameterDescriptor parameter;
    parameter.name = std::move(name);
    parameter.minimum = minimum;
    parameter.maximum = maximum;
    parameter.default_value = default_value;
    parameter.help = std::move(help);
    return parameter;
}

ParameterDescriptor choice_parameter(std::string name, std::vector<std::string> choices, std::int64_t default_value,
                                     std::string help) {
    const auto last = static_cast<std::int64_t>(choices.size()) - 1;
    ParameterDescriptor parameter = integer_parameter(std::move(name), 0, last, default_value, std::move(help));
    parameter.type = ParameterType::Choice;
    parameter.choices = std::move(choices);
    return parameter;
}

ParameterDescriptor slab_parameter() {
    ParameterDescriptor parameter =
        integer_parameter("slab", 0, 1, 0, "One allocation for all layers instead of one for each layer.");
    parameter.type = ParameterType::Boolean;
    return parameter;
}

ParameterDescriptor offload_parameter() {
    return choice_parameter("offload", {"none", "host", "file"}, 0,
                            "Where K and V lie when not on the device: each layer is fetched into a pool of one layer "
                            "before it runs.");
}

Result<CacheSpec> parse_cache_spec(std::string_view text) {
    CacheSpec spec;
    const auto colon = text.find(':');
    spec.id = std::string(text.substr(0, colon));
    auto strategy = known_strategy(spec.id);
    if (!strategy.ok()) return strategy.error();
    std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    for (bool more = colon != std::string_view::npos; more;) {
        const auto comma = rest.find(',');
        DS_RETURN_IF_ERROR(parse_parameter(**strategy, rest.substr(0, comma), spec.parameters));
        more = comma != std::string_view::npos;
        if (more) rest.remove_prefix(comma + 1);
    }
    return complete_cache_spec(spec);
}

Result<CacheSpec> complete_cache_spec(const CacheSpec& spec) {
    auto strategy = known_strategy(spec.id);
    if (!strategy.ok()) return strategy.error();
    for (const auto& [name, value] : spec.parameters) {
        auto parameter = known_parameter(**strategy, name);
        if (!parameter.ok()) return parameter.error();
        if (!in_range(**parameter, value)) return bad_value(spec.id, **parameter, fmt::format("{}", value));
    }
    CacheSpec result = spec;
    for (const auto& parameter : (*strategy)->parameters)
        result.parameters.emplace(parameter.name, parameter.default_value);
    // What contradicts itself whatever the model is; make_strategy asks again with the model's limits.
    if ((*strategy)->check) DS_RETURN_IF_ERROR((*strategy)->check(result.parameters, {}));
    return result;
}

std::string to_string(const CacheSpec& spec) {
    const auto* strategy = find_strategy(spec.id);
    if (strategy == nullptr) return spec.id;
    std::string text = spec.id;
    char separator = ':';
    for (const auto& parameter : strategy->parameters) {
        const auto found = spec.parameters.find(parameter.name);
        if (found == spec.parameters.end() || found->second == parameter.default_value ||
            !in_range(parameter, found->second))
            continue;
        text += fmt::format("{}{}={}", separator, parameter.name, value_text(parameter, found->second));
        separator = ',';
    }
    return text;
}

Result<std::unique_ptr<CacheStrategy>> make_strategy(const CacheSpec& spec, const RunLimits& limits) {
    auto complete = complete_cache_spec(spec);
    if (!complete.ok()) return complete.error();
    const StrategyDescriptor& strategy = *find_strategy(spec.id);
    if (strategy.check) DS_RETURN_IF_ERROR(strategy.check(complete->parameters, limits));
    DS_RETURN_IF_ERROR(
        check_supported({limits.learned_positions ? Family::Gpt2 : Family::Llama, *complete, {}, {}, false}));
    return strategy.create(complete->parameters, limits);
}

}  // namespace decodescope
