#include "engine/cache/kv_format.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace decodescope {
namespace {

struct ParsedType {
    KvTypeInfo info;
    std::int32_t group = 0, residual = 0;  // with info.grouped
};

Error unknown_type(std::string_view name) {
    std::string known;
    for (const KvTypeInfo& info : kKvTypes) known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
    return make_error(ErrorKind::Argument, fmt::format("Unknown KV type \"{}\".", name),
                      fmt::format("There are {}, for K and V together or as k=f16,v=f32.", known));
}

// The parts between commas that are not inside parentheses.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t first = 0, depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] == '(') ++depth;
        if (i < text.size() && text[i] == ')' && depth > 0) --depth;
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        parts.push_back(text.substr(first, i - first));
        first = i + 1;
    }
    return parts;
}

// "group=32,residual=32"
Status parse_options(std::string_view text, ParsedType& type) {
    const auto refused = [&](std::string_view option) {
        return make_error(ErrorKind::Argument, fmt::format("\"{}\" is no option of {}.", option, type.info.name),
                          fmt::format("Write for example {}(group=32,residual=32): group from {} to {}, residual from "
                                      "0 to {}, each once.",
                                      type.info.name, kSmallestGroup, kLargestGroup, kLargestResidual));
    };
    bool seen[2] = {false, false};
    for (const std::string_view option : split(text)) {
        const auto equals = option.find('=');
        if (equals == std::string_view::npos) return refused(option);
        const std::string_view name = option.substr(0, equals), value = option.substr(equals + 1);
        const bool is_group = name == "group";
        if (!is_group && name != "residual") return refused(option);
        std::int32_t number = -1;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        const bool whole = error == std::errc{} && end == value.data() + value.size();
        const std::int32_t least = is_group ? kSmallestGroup : 0, most = is_group ? kLargestGroup : kLargestResidual;
        if (!whole || number < least || number > most || std::exchange(seen[is_group ? 0 : 1], true))
            return refused(option);
        (is_group ? type.group : type.residual) = number;
    }
    return {};
}

Result<ParsedType> parse_type(std::string_view text) {
    const auto open = text.find('(');
    const std::string_view name = text.substr(0, open);
    for (const KvTypeInfo& info : kKvTypes) {
        if (info.name != name) continue;
        ParsedType type{info};
        if (info.grouped) type.group = kDefaultGroup, type.residual = kDefaultResidual;
        if (open == std::string_view::npos) return type;
        if (!info.grouped || text.back() != ')') break;
        DS_RETURN_IF_ERROR(parse_options(text.substr(open + 1, text.size() - open - 2), type));
        return type;
    }
    return unknown_type(text);
}

Result<KvFormat> combined(const ParsedType& k, const ParsedType& v) {
    KvFormat format = kv_format_of(k.info, v.info);
    const bool both = k.info.grouped && v.info.grouped;
    if (both && (k.group != v.group || k.residual != v.residual)) {
        return make_error(ErrorKind::Argument,
                          fmt::format("K is to be quantized in groups of {} with a residual of {}, V in groups of {} "
                                      "with a residual of {}.",
                                      k.group, k.residual, v.group, v.residual),
                          "K and V are quantized at the same moment: give both the same options.");
    }
    if (format.has_residual()) {
        format.group = k.info.grouped ? k.group : v.group;
        format.residual = k.info.grouped ? k.residual : v.residual;
    }
    return format;
}

}  // namespace

KvFormat kv_format_of(const KvTypeInfo& k, const KvTypeInfo& v) {
    KvFormat format{k.type, v.type, k.grouped, v.grouped};
    if (format.has_residual()) format.group = kDefaultGroup, format.residual = kDefaultResidual;
    return format;
}

Result<KvFormat> parse_kv_format(std::string_view spec) {
    const std::vector<std::string_view> parts = split(spec);
    if (parts.size() == 1 && spec.substr(0, 2) != "k=" && spec.substr(0, 2) != "v=") {
        auto type = parse_type(spec);
        if (!type.ok()) return type.error();
        return combined(*type, *type);
    }
    std::optional<ParsedType> k, v;
    bool twice = false;
    for (const std::string_view part : parts) {
        const bool is_k = part.substr(0, 2) == "k=";
        if (!is_k && part.substr(0, 2) != "v=") {
            twice = true;
            break;
        }
        auto type = parse_type(part.substr(2));
        if (!type.ok()) return type.error();
        twice = twice || (is_k ? k : v).has_value();
        (is_k ? k : v) = *type;
    }
    if (!k || !v || twice) {
        return make_error(ErrorKind::Argument, fmt::format("\"{}\" does not give one type for K and one for V.", spec),
                          "Write for example f16, or k=f16,v=f32.");
    }
    return combined(*k, *v);
}

std::string part_name(const KvFormat& format, KvPart part) {
    if (!format.is_grouped(part)) return std::string(element_name(format.type(part)));
    std::string options;
    if (format.group != kDefaultGroup) options += fmt::format("group={}", format.group);
    if (format.residual != kDefaultResidual)
        options += fmt::format("{}residual={}", options.empty() ? "" : ",", format.residual);
    return options.empty() ? "int8-kivi" : fmt::format("int8-kivi({})", options);
}

std::string to_string(const KvFormat& format) {
    const std::string k = part_name(format, KvPart::K), v = part_name(format, KvPart::V);
    return k == v ? k : fmt::format("k={},v={}", k, v);
}

std::int64_t KvFormat::quantized_tokens(std::int64_t tokens) const {
    if (!has_residual()) return tokens;
    return tokens < residual + group ? 0 : (tokens - residual) / group * group;
}

bool KvFormat::is_lossy() const {
    const auto coarse = [](ElementType type) { return type == ElementType::BF16 || type == ElementType::I8; };
    return coarse(k) || coarse(v);
}

}  // namespace decodescope
