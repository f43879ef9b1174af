// The tensor types of GGUF files: how many elements a block has, how many bytes, and what its bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/api/block_format.h"

namespace decodescope {

// A block of `elements` neighbours of one row takes `bytes`. Plain numbers are blocks of one element.
struct GgufType : BlockFormat {
    GgufType() = default;
    // Without `widen` the type is known by name and not supported; without `kept` it is a plain number.
    constexpr GgufType(std::uint32_t file_id, std::string_view type_name, std::int64_t block_elements,
                       std::int64_t block_bytes, decltype(BlockFormat::widen) to_floats,
                       ElementType kept_as = ElementType::F32, decltype(BlockFormat::coded) to_codes = nullptr)
        : BlockFormat{type_name, block_elements, block_bytes, to_floats, to_codes, kept_as}, id(file_id) {}

    std::uint32_t id = 0;  // as in the file

    bool is_supported() const { return widen != nullptr; }
    // Numbers as they are: F32, F16, BF16.
    bool is_plain() const { return elements == 1; }
};

// The type of this number in the file, or null for one that the format does not have.
const GgufType* find_gguf_type(std::uint32_t id);
// By name, for tests and tools; null when there is none.
const GgufType* find_gguf_type(std::string_view name);

}  // namespace decodescope
