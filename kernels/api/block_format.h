// Numbers that a file stores in blocks of codes with scales (GGUF's quantized types), and the one form that kernels which
// keep the codes read them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/api/element_type.h"

namespace decodescope {

// 32 neighbours of a row: number i = scale[i / 16] * code[i] - minimum[i / 16], exactly the number that widen() gives.
struct CodedBlock {
    std::uint8_t codes[32] = {};
    float scale[2] = {}, minimum[2] = {};
};

struct BlockFormat {
    std::string_view name;                // "Q4_K"
    std::int64_t elements = 1, bytes = 1; // of a block: `elements` neighbours of one row
    // The numbers of a block as f32.
    void (*widen)(const std::byte* block, float* out) = nullptr;
    // Elements 32 part .. 32 part + 31 of a block; not for formats that are kept as int8.
    void (*coded)(const std::byte* block, int part, CodedBlock& out) = nullptr;
    // In what a backend keeps them that can: I8 (a block is a scale in f16 and 32 codes, see int8_weights.h), Q4, Q5, Q6.
    ElementType kept = ElementType::F32;

    std::int64_t row_bytes(std::int64_t columns) const { return columns / elements * bytes; }
};

}  // namespace decodescope
