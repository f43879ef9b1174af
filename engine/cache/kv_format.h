// `--kv-type`: how an element of K and of V is stored.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/api/element_type.h"
#include "kernels/api/status.h"

namespace decodescope {

// What an element may be stored as, in the order in which it is offered.
inline constexpr std::array kKvElementTypes = {ElementType::F32, ElementType::F16, ElementType::BF16};

struct KvFormat {
    ElementType k = ElementType::F32;
    ElementType v = ElementType::F32;
    bool operator==(const KvFormat&) const = default;
};

// "f32", "f16", "bf16", "k=f16,v=f32". Unknown or reserved names are refused by name.
Result<KvFormat> parse_kv_format(std::string_view spec);
std::string to_string(const KvFormat& format);

}  // namespace decodescope
