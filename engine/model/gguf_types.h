// The tensor types of GGUF files: how many elements a block has, how many bytes, and what its bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace decodescope {

// A block of `elements` neighbours of one row takes `bytes`. Plain numbers are blocks of one element.
struct GgufType {
    std::uint32_t id = 0;   // as in the file
    std::string_view name;  // "Q4_K"
    std::int64_t elements = 1, bytes = 1;
    // Writes the `elements` numbers of one block; null: the type is known by name and not supported.
    void (*widen)(const std::byte* block, float* out) = nullptr;

    bool is_supported() const { return widen != nullptr; }
    // Numbers as they are: F32, F16, BF16.
    bool is_plain() const { return elements == 1; }
};

// The type of this number in the file, or null for one that the format does not have.
const GgufType* find_gguf_type(std::uint32_t id);
// By name, for tests and tools; null when there is none.
const GgufType* find_gguf_type(std::string_view name);

}  // namespace decodescope
