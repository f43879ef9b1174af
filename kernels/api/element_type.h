// How one element is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace decodescope {

enum class ElementType : std::uint8_t { F32, F16, BF16, I8 };

constexpr std::size_t element_bytes(ElementType type) {
    switch (type) {
        case ElementType::F32: return 4;
        case ElementType::F16:
        case ElementType::BF16: return 2;
        case ElementType::I8: return 1;
    }
    return 0;
}

constexpr std::string_view element_name(ElementType type) {
    switch (type) {
        case ElementType::F32: return "f32";
        case ElementType::F16: return "f16";
        case ElementType::BF16: return "bf16";
        case ElementType::I8: return "int8";
    }
    return "?";
}

}  // namespace decodescope
