#include "engine/model/weight_type.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace decodescope {

namespace {

constexpr std::array kTypes = {std::pair{"f32", WeightType::F32}, std::pair{"f16", WeightType::F16},
                               std::pair{"bf16", WeightType::BF16}, std::pair{"int8", WeightType::Int8}};

}  // namespace

std::vector<std::string> weight_type_names() {
    std::vector<std::string> names;
    for (const auto& [name, type] : kTypes) names.emplace_back(name);
    return names;
}

Result<WeightType> parse_weight_type(std::string_view name) {
    std::string known;
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        if (name == kTypes[i].first) return kTypes[i].second;
        known += fmt::format("{}{}", i == 0 ? "" : i + 1 == kTypes.size() ? " or " : ", ", kTypes[i].first);
    }
    return make_error(ErrorKind::Argument, fmt::format("'{}' is not known.", name), fmt::format("Use {}.", known));
}

std::string to_string(WeightType wanted) {
    for (const auto& [name, type] : kTypes)
        if (type == wanted) return name;
    return {};
}

}  // namespace decodescope
