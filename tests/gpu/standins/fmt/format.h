// The part of fmt that the engine uses, for the check on a GPU machine, where no package but a compiler can be counted
// on. Formats as fmt does: {}, {:spec} with fill, alignment, width (also nested), precision and type, {{ and }}.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace fmt {
namespace standin {

using Value = std::variant<long long, unsigned long long, double, float, std::string>;

template <class T>
Value value_of(const T& value) {
    if constexpr (std::is_same_v<T, bool>) return std::string(value ? "true" : "false");
    else if constexpr (std::is_same_v<T, char>) return std::string(1, value);
    else if constexpr (std::is_same_v<T, float>) return value;
    else if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return static_cast<long long>(value);
    else if constexpr (std::is_integral_v<T>) return static_cast<unsigned long long>(value);
    else return std::string(std::string_view(value));
}

struct Spec {
    char fill = ' ', align = 0, type = 0;
    bool zeros = false;
    int width = 0, precision = -1;
};

std::string format_values(std::string_view pattern, const std::vector<Value>& values);

}  // namespace standin

template <class... Arguments>
std::string format(std::string_view pattern, const Arguments&... arguments) {
    return standin::format_values(pattern, {standin::value_of(arguments)...});
}

template <class Range>
std::string join(const Range& range, std::string_view between) {
    std::string text;
    for (const auto& item : range) {
        if (!text.empty()) text += between;
        text += format("{}", item);
    }
    return text;
}

}  // namespace fmt
