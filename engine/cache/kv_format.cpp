#include "engine/cache/kv_format.h"

#include <fmt/format.h>

#include <optional>

namespace decodescope {
namespace {

Result<ElementType> parse_element(std::string_view name) {
    std::string known;
    for (const ElementType type : kKvElementTypes) {
        if (element_name(type) == name) return type;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", element_name(type));
    }
    return make_error(ErrorKind::Argument, fmt::format("Unknown KV type \"{}\".", name),
                      fmt::format("There are {}, for K and V together or as k=f16,v=f32.", known));
}

}  // namespace

Result<KvFormat> parse_kv_format(std::string_view spec) {
    if (spec.find('=') == std::string_view::npos) {
        auto type = parse_element(spec);
        if (!type.ok()) return type.error();
        return KvFormat{*type, *type};
    }
    const auto comma = spec.find(',');
    std::optional<ElementType> k, v;
    for (std::string_view part :
         {spec.substr(0, comma), comma == std::string_view::npos ? std::string_view{} : spec.substr(comma + 1)}) {
        const bool is_k = part.substr(0, 2) == "k=";
        if (!is_k && part.substr(0, 2) != "v=") break;
        auto type = parse_element(part.substr(2));
        if (!type.ok()) return type.error();
        (is_k ? k : v) = *type;
    }
    if (!k || !v) {
        return make_error(ErrorKind::Argument, fmt::format("\"{}\" does not give one type for K and one for V.", spec),
                          "Write for example f16, or k=f16,v=f32.");
    }
    return KvFormat{*k, *v};
}

std::string to_string(const KvFormat& format) {
    if (format.k == format.v) return std::string(element_name(format.k));
    return fmt::format("k={},v={}", element_name(format.k), element_name(format.v));
}

}  // namespace decodescope
