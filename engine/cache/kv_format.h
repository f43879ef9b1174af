// `--kv-type`: how an element of K and of V is stored, and how many bytes that takes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/api/element_type.h"
#include "kernels/api/op.h"
#include "kernels/api/status.h"

namespace decodescope {

enum class KvPart { K, V };

// What K or V may be stored as, in the order in which it is offered.
struct KvTypeInfo {
    std::string_view name;
    ElementType type = ElementType::F32;
    bool grouped = false;  // quantized in groups of tokens, the newest kept in full precision
    std::string_view help;  // one sentence
};
inline constexpr std::array kKvTypes = {
    KvTypeInfo{"f32", ElementType::F32, false, "4 bytes per element, as computed"},
    KvTypeInfo{"f16", ElementType::F16, false, "2 bytes per element, 11 bits of precision"},
    KvTypeInfo{"bf16", ElementType::BF16, false, "2 bytes per element, 8 bits of precision and the range of f32"},
    KvTypeInfo{"int8", ElementType::I8, false, "1 byte per element and an f32 scale per token and head"},
    KvTypeInfo{"int8-kivi", ElementType::I8, true,
               "1 byte per element, keys with scales per channel and group of tokens, values per token, the newest in "
               "f32; options: int8-kivi(group=32,residual=32)"}};

constexpr std::int32_t kDefaultGroup = 32, kDefaultResidual = 32;
constexpr std::int32_t kSmallestGroup = 2, kLargestGroup = 1024, kLargestResidual = 1 << 20;

// With int8-kivi for K, V or both (KIVI, Liu et al. 2024): rows are quantized `group` tokens at a time, keys with a
// scale and a centre per channel, values with a scale per token; at least `residual` of the newest stay in f32. K and V
// are quantized at the same moment, so both numbers are common.
struct KvFormat {
    ElementType k = ElementType::F32;
    ElementType v = ElementType::F32;
    bool k_grouped = false, v_grouped = false;
    std::int32_t group = 0, residual = 0;  // both 0 when neither is grouped
    bool operator==(const KvFormat&) const = default;

    ElementType type(KvPart part) const { return part == KvPart::K ? k : v; }
    bool is_grouped(KvPart part) const { return part == KvPart::K ? k_grouped : v_grouped; }
    bool has_residual() const { return k_grouped || v_grouped; }
    // Of `tokens` tokens, those that are quantized in groups: 0 below residual + group, else
    // tokens - residual - (tokens - residual) mod group. The others are the residual.
    std::int64_t quantized_tokens(std::int64_t tokens) const;
    // Rows are rounded to fewer than 11 bits: an answer may differ from that of full precision without any fault.
    bool is_lossy() const;
};

// "f32", "f16", "bf16", "int8", "int8-kivi", "int8-kivi(group=16,residual=64)", "k=f16,v=int8". Unknown names and
// values out of range are refused by name (kind Argument).
Result<KvFormat> parse_kv_format(std::string_view spec);
std::string to_string(const KvFormat& format);            // default options left out
std::string part_name(const KvFormat& format, KvPart part);  // "int8-kivi"
// K and V chosen apart from kKvTypes, with the default options.
KvFormat kv_format_of(const KvTypeInfo& k, const KvTypeInfo& v);

struct ModelConfig;

// Bytes of K and V as they are stored, scales included.
struct KvShape {
    int layers = 0;
    int kv_heads = 0;
    int head_dim = 0;
    KvFormat format;

    static KvShape of(const ModelConfig& config, const KvFormat& format);

    // K and V of one token in one layer, outside of a residual:
    // kv_heads * (bytes of a K row + bytes of a V row), a row being head_dim elements and the scale of int8. Formats
    // that share scales among tokens have no such number: only without format.has_residual().
    std::int64_t entry_bytes() const;
    // One part of one head and layer; with shared scales `rows` is a multiple of the group.
    std::int64_t head_bytes(KvPart part, std::int64_t rows) const;
    bool shares_scales(KvPart part) const { return part == KvPart::K && format.k_grouped; }
    // What is stored of `tokens` tokens, all layers: quantized rows and residual.
    std::int64_t stored_bytes(std::int64_t tokens) const;
    std::int64_t scale_bytes(std::int64_t tokens) const;  // of these, scales and centres
    std::int64_t layer_bytes(std::int64_t quantized, std::int64_t residual) const;  // one layer
    // One layer, a pass of `rows` tokens after `past` tokens that reads all of them: read in the pass; written in it
    // and when groups are quantized after it.
    struct Traffic {
        std::int64_t read_bytes = 0, written_bytes = 0;
    };
    Traffic pass_traffic(std::int64_t past, std::int64_t rows) const;
    // Rows of a part that the buffers of `capacity` tokens hold: those that can be quantized, or, with pages, all.
    std::int64_t part_rows(KvPart part, std::int64_t capacity, bool paged) const;
    // All layers, `capacity` tokens, without the residual's buffer. Memory error that names the shape when it is beyond
    // 64 bits.
    Result<std::int64_t> total_bytes(std::int64_t capacity, bool paged = false) const;
    // The residual's buffer, all layers: residual + group rows of every part that is grouped, in f32.
    std::int64_t residual_rows() const { return format.residual + format.group; }
    std::int64_t residual_bytes() const;
    std::int64_t residual_used_bytes(std::int64_t tokens) const;  // of it, what `tokens` tokens take
};

// What a pass of shape.rows tokens after `past` tokens reads and writes: the byte fields of `shape`, from its rows and
// entries.
void count_kv_bytes(const KvShape& stored, std::int64_t past, StepShape& shape);

}  // namespace decodescope
