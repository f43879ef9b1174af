// Block formats as their authors define them (ggml's k-quants and the older formats of 32). d, m: scales in f16; q:
// codes. Codes of 4 bits lie two in a byte, the low halves first; fifth and sixth bits lie apart.
#include "engine/model/gguf_types.h"

#include <array>
#include <cstring>

#include "kernels/api/half.h"

namespace decodescope {
namespace {

constexpr int kSmall = 32;   // elements of a block of the older formats
constexpr int kLarge = 256;  // and of the k-quants

std::uint16_t bits16(const std::byte* at) {
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

float half_at(const std::byte* at) { return f16_to_f32(bits16(at)); }
int byte_at(const std::byte* at) { return std::to_integer<int>(*at); }
int low(const std::byte* at) { return byte_at(at) & 15; }
int high(const std::byte* at) { return byte_at(at) >> 4; }

void widen_f32(const std::byte* block, float* out) { std::memcpy(out, block, sizeof *out); }
void widen_f16(const std::byte* block, float* out) { *out = half_at(block); }
void widen_bf16(const std::byte* block, float* out) { *out = bf16_to_f32(bits16(block)); }

// x = d q, q a signed byte
void widen_q8_0(const std::byte* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < kSmall; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(byte_at(block + 2 + i)));
}

// x = d (q - 8)
void widen_q4_0(const std::byte* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < kSmall / 2; ++i) {
        out[i] = d * static_cast<float>(low(block + 2 + i) - 8);
        out[i + kSmall / 2] = d * static_cast<float>(high(block + 2 + i) - 8);
    }
}

// x = d q + m
void widen_q4_1(const std::byte* block, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < kSmall / 2; ++i) {
        out[i] = d * static_cast<float>(low(block + 4 + i)) + m;
        out[i + kSmall / 2] = d * static_cast<float>(high(block + 4 + i)) + m;
    }
}

// The fifth bit of element i is bit i of a 32-bit word.
int fifth_bit(const std::byte* word, int i) { return (byte_at(word + i / 8) >> i % 8 & 1) << 4; }

// x = d (q - 16)
void widen_q5_0(const std::byte* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < kSmall / 2; ++i) {
        const int other = i + kSmall / 2;
        out[i] = d * static_cast<float>((low(block + 6 + i) | fifth_bit(block + 2, i)) - 16);
        out[other] = d * static_cast<float>((high(block + 6 + i) | fifth_bit(block + 2, other)) - 16);
    }
}

// x = d q + m
void widen_q5_1(const std::byte* block, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < kSmall / 2; ++i) {
        const int other = i + kSmall / 2;
        out[i] = d * static_cast<float>(low(block + 8 + i) | fifth_bit(block + 4, i)) + m;
        out[other] = d * static_cast<float>(high(block + 8 + i) | fifth_bit(block + 4, other)) + m;
    }
}

// Scale and minimum of the j-th 32 elements of a large block, 6 bits each, packed in 12 bytes: the first four pairs
// have bytes of their own, the others take 4 low bits from bytes 8 to 11 and their 2 high bits from what those leave
// free.
struct ScaleMinimum {
    int scale, minimum;
};
ScaleMinimum scale_minimum(const std::byte* packed, int j) {
    if (j < 4) return {byte_at(packed + j) & 63, byte_at(packed + j + 4) & 63};
    return {low(packed + j + 4) | byte_at(packed + j - 4) >> 6 << 4,
            high(packed + j + 4) | byte_at(packed + j) >> 6 << 4};
}

// x = d scale q - m minimum; pairs of 32 elements share their bytes. fifth: 32 bytes, bit j for the j-th 32 elements.
void widen_k(const std::byte* block, const std::byte* codes, const std::byte* fifth, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    for (int j = 0; j < kLarge / kSmall; ++j) {
        const ScaleMinimum pair = scale_minimum(block + 4, j);
        const float scale = d * static_cast<float>(pair.scale), minimum = m * static_cast<float>(pair.minimum);
        const std::byte* from = codes + j / 2 * kSmall;
        for (int i = 0; i < kSmall; ++i) {
            int q = j % 2 == 0 ? low(from + i) : high(from + i);
            if (fifth != nullptr) q |= (byte_at(fifth + i) >> j & 1) << 4;
            out[j * kSmall + i] = scale * static_cast<float>(q) - minimum;
        }
    }
}

void widen_q4_k(const std::byte* block, float* out) { widen_k(block, block + 16, nullptr, out); }
void widen_q5_k(const std::byte* block, float* out) { widen_k(block, block + 48, block + 16, out); }

// x = d scale (q - 32), a scale for each 16 elements. Halves of 128 elements: 64 bytes of low bits, 32 of high ones.
void widen_q6_k(const std::byte* block, float* out) {
    const std::byte* scales = block + 192;
    const float d = half_at(block + 208);
    for (int i = 0; i < kLarge; ++i) {
        const int half = i / 128, quarter = i % 128 / 32, column = i % 32;
        const std::byte* codes = block + half * 64 + quarter % 2 * 32 + column;
        const int low_bits = quarter < 2 ? low(codes) : high(codes);
        const int high_bits = byte_at(block + 128 + half * 32 + column) >> 2 * quarter & 3;
        const int scale = static_cast<std::int8_t>(byte_at(scales + i / 16));
        out[i] = d * static_cast<float>(scale) * static_cast<float>((low_bits | high_bits << 4) - 32);
    }
}

// ---- the same as codes with scales and minima, 32 elements at a time

void set_scales(CodedBlock& out, float scale, float minimum) {
    out.scale[0] = out.scale[1] = scale;
    out.minimum[0] = out.minimum[1] = minimum;
}

// Low nibbles at `nibbles`, fifth bits at `fifth` (null: none).
void take_codes(const std::byte* nibbles, const std::byte* fifth, CodedBlock& out) {
    for (int i = 0; i < kSmall / 2; ++i) {
        const int other = i + kSmall / 2;
        out.codes[i] = static_cast<std::uint8_t>(low(nibbles + i) | (fifth != nullptr ? fifth_bit(fifth, i) : 0));
        out.codes[other] =
            static_cast<std::uint8_t>(high(nibbles + i) | (fifth != nullptr ? fifth_bit(fifth, other) : 0));
    }
}

void code_q4_0(const std::byte* block, int, CodedBlock& out) {
    take_codes(block + 2, nullptr, out);
    set_scales(out, half_at(block), 8 * half_at(block));
}
void code_q4_1(const std::byte* block, int, CodedBlock& out) {
    take_codes(block + 4, nullptr, out);
    set_scales(out, half_at(block), -half_at(block + 2));
}
void code_q5_0(const std::byte* block, int, CodedBlock& out) {
    take_codes(block + 6, block + 2, out);
    set_scales(out, half_at(block), 16 * half_at(block));
}
void code_q5_1(const std::byte* block, int, CodedBlock& out) {
    take_codes(block + 8, block + 4, out);
    set_scales(out, half_at(block), -half_at(block + 2));
}

void code_k(const std::byte* block, const std::byte* codes, const std::byte* fifth, int part, CodedBlock& out) {
    const ScaleMinimum pair = scale_minimum(block + 4, part);
    const std::byte* from = codes + part / 2 * kSmall;
    for (int i = 0; i < kSmall; ++i) {
        int q = part % 2 == 0 ? low(from + i) : high(from + i);
        if (fifth != nullptr) q |= (byte_at(fifth + i) >> part & 1) << 4;
        out.codes[i] = static_cast<std::uint8_t>(q);
    }
    set_scales(out, half_at(block) * static_cast<float>(pair.scale),
               half_at(block + 2) * static_cast<float>(pair.minimum));
}
void code_q4_k(const std::byte* block, int part, CodedBlock& out) { code_k(block, block + 16, nullptr, part, out); }
void code_q5_k(const std::byte* block, int part, CodedBlock& out) {
    code_k(block, block + 48, block + 16, part, out);
}

void code_q6_k(const std::byte* block, int part, CodedBlock& out) {
    const int half = part / 4, quarter = part % 4;
    for (int i = 0; i < kSmall; ++i) {
        const std::byte* codes = block + half * 64 + quarter % 2 * 32 + i;
        const int low_bits = quarter < 2 ? low(codes) : high(codes);
        const int high_bits = byte_at(block + 128 + half * 32 + i) >> 2 * quarter & 3;
        out.codes[i] = static_cast<std::uint8_t>(low_bits | high_bits << 4);
    }
    for (int i = 0; i < 2; ++i) {
        out.scale[i] = half_at(block + 208) *
                       static_cast<float>(static_cast<std::int8_t>(byte_at(block + 192 + 2 * part + i)));
        out.minimum[i] = 32 * out.scale[i];
    }
}

using enum ElementType;
constexpr std::array<GgufType, 33> kTypes = {{
    {0, "F32", 1, 4, widen_f32},        {1, "F16", 1, 2, widen_f16},        {30, "BF16", 1, 2, widen_bf16},
    {8, "Q8_0", 32, 34, widen_q8_0, I8},
    {2, "Q4_0", 32, 18, widen_q4_0, Q4, code_q4_0},
    {3, "Q4_1", 32, 20, widen_q4_1, Q4, code_q4_1},
    {6, "Q5_0", 32, 22, widen_q5_0, Q5, code_q5_0},
    {7, "Q5_1", 32, 24, widen_q5_1, Q5, code_q5_1},
    {12, "Q4_K", 256, 144, widen_q4_k, Q4, code_q4_k},
    {13, "Q5_K", 256, 176, widen_q5_k, Q5, code_q5_k},
    {14, "Q6_K", 256, 210, widen_q6_k, Q6, code_q6_k},
    {9, "Q8_1", 32, 36, nullptr},
    {10, "Q2_K", 256, 84, nullptr},     {11, "Q3_K", 256, 110, nullptr},    {15, "Q8_K", 256, 292, nullptr},
    {16, "IQ2_XXS", 256, 66, nullptr},  {17, "IQ2_XS", 256, 74, nullptr},   {18, "IQ3_XXS", 256, 98, nullptr},
    {19, "IQ1_S", 256, 50, nullptr},    {20, "IQ4_NL", 32, 18, nullptr},    {21, "IQ3_S", 256, 110, nullptr},
    {22, "IQ2_S", 256, 82, nullptr},    {23, "IQ4_XS", 256, 136, nullptr},  {24, "I8", 1, 1, nullptr},
    {25, "I16", 1, 2, nullptr},         {26, "I32", 1, 4, nullptr},         {27, "I64", 1, 8, nullptr},
    {28, "F64", 1, 8, nullptr},         {29, "IQ1_M", 256, 56, nullptr},    {34, "TQ1_0", 256, 54, nullptr},
    {35, "TQ2_0", 256, 66, nullptr},    {39, "MXFP4", 32, 17, nullptr},     {40, "NVFP4", 64, 36, nullptr},
}};

}  // namespace

const GgufType* find_gguf_type(std::uint32_t id) {
    for (const GgufType& type : kTypes)
        if (type.id == id) return &type;
    return nullptr;
}

const GgufType* find_gguf_type(std::string_view name) {
    for (const GgufType& type : kTypes)
        if (type.name == name) return &type;
    return nullptr;
}

}  // namespace decodescope
