// How one element is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace decodescope {

// Q4, Q5, Q6: codes of so many bits with scales and minima for 32 or 16 of them, which only some backends keep weights
// in (kernels/cpu/panel_layout.h); nothing else is stored so.
enum class ElementType : std::uint8_t { F32, F16, BF16, I8, Q4, Q5, Q6 };
constexpr std::size_t kElementTypeCount = 7;

constexpr bool is_coded(ElementType type) {
    return type == ElementType::Q4 || type == ElementType::Q5 || type == ElementType::Q6;
}

constexpr std::size_t element_bytes(ElementType type) {
    switch (type) {
        case ElementType::F32: return 4;
        case ElementType::F16:
        case ElementType::BF16: return 2;
        case ElementType::I8:
        case ElementType::Q4:
        case ElementType::Q5:
        case ElementType::Q6: return 1;  // coded ones have no element that lies alone
    }
    return 0;
}

constexpr std::string_view element_name(ElementType type) {
    switch (type) {
        case ElementType::F32: return "f32";
        case ElementType::F16: return "f16";
        case ElementType::BF16: return "bf16";
        case ElementType::I8: return "int8";
        case ElementType::Q4: return "q4";
        case ElementType::Q5: return "q5";
        case ElementType::Q6: return "q6";
    }
    return "?";
}

}  // namespace decodescope
