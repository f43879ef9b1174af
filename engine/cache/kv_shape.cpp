// Bytes of K and V from the shape and the format.
#include <fmt/format.h>

#include "engine/cache/kv_format.h"
#include "engine/model/model_config.h"
#include "kernels/api/int8_row.h"

namespace decodescope {

KvShape KvShape::of(const ModelConfig& config, const KvFormat& format) {
    return {static_cast<int>(config.layers), static_cast<int>(config.kv_heads), static_cast<int>(config.head_dim),
            format};
}

std::int64_t KvShape::head_bytes(KvPart part, std::int64_t rows) const {
    if (!shares_scales(part)) return rows * kv_row_bytes(format.type(part), head_dim);
    DS_CHECK(rows % format.group == 0);
    return rows / format.group * int8_group_bytes(head_dim, format.group);
}

std::int64_t KvShape::entry_bytes() const {
    DS_CHECK(!format.has_residual());
    return kv_heads * (head_bytes(KvPart::K, 1) + head_bytes(KvPart::V, 1));
}

std::int64_t KvShape::layer_bytes(std::int64_t quantized, std::int64_t residual) const {
    std::int64_t bytes = 0;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        bytes += format.is_grouped(part) ? head_bytes(part, quantized) + residual * head_dim * 4
                                         : head_bytes(part, quantized + residual);
    }
    return kv_heads * bytes;
}

std::int64_t KvShape::stored_bytes(std::int64_t tokens) const {
    const std::int64_t quantized = format.quantized_tokens(tokens);
    return layers * layer_bytes(quantized, tokens - quantized);
}

std::int64_t KvShape::scale_bytes(std::int64_t tokens) const {
    const std::int64_t quantized = format.quantized_tokens(tokens);
    std::int64_t bytes = 0;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        if (format.type(part) != ElementType::I8) continue;
        const std::int64_t rows = format.is_grouped(part) ? quantized : tokens;
        bytes += shares_scales(part) ? rows / format.group * int8_channel_bytes(head_dim) : rows * 4;
    }
    return layers * kv_heads * bytes;
}

KvShape::Traffic KvShape::pass_traffic(std::int64_t past, std::int64_t rows) const {
    const std::int64_t quantized = format.quantized_tokens(past);
    const std::int64_t added = format.quantized_tokens(past + rows) - quantized;
    Traffic traffic{layer_bytes(quantized, past + rows - quantized), layer_bytes(0, rows)};
    for (const KvPart part : {KvPart::K, KvPart::V})
        if (format.is_grouped(part)) traffic.written_bytes += kv_heads * head_bytes(part, added);
    return traffic;
}

std::int64_t KvShape::part_rows(KvPart part, std::int64_t capacity, bool paged) const {
    return format.is_grouped(part) && !paged ? format.quantized_tokens(capacity) : capacity;
}

Result<std::int64_t> KvShape::total_bytes(std::int64_t capacity, bool paged) const {
    for (const KvPart part : {KvPart::K, KvPart::V})  // of a recording, say: a storage has whole groups
        if (shares_scales(part) && part_rows(part, capacity, paged) % format.group != 0)
            return make_error(ErrorKind::Argument,
                              fmt::format("{} rows are no whole number of groups of {}.", capacity, format.group));
    // An upper bound first: rows are never wider than f32 and two f32 more per element.
    std::int64_t bound = 0;
    const std::int64_t element = std::int64_t{2} * 12 * kv_heads * (head_dim + 4);
    if (__builtin_mul_overflow(element, static_cast<std::int64_t>(layers), &bound) ||
        __builtin_mul_overflow(bound, capacity, &bound)) {
        return make_error(
            ErrorKind::Memory,
            fmt::format("A KV cache of {} tokens in {} layers of {} heads of {} is larger than any memory.", capacity,
                        layers, kv_heads, head_dim));
    }
    std::int64_t bytes = 0;
    for (const KvPart part : {KvPart::K, KvPart::V}) bytes += head_bytes(part, part_rows(part, capacity, paged));
    return layers * kv_heads * bytes;
}

namespace {

std::int64_t residual_row_bytes(const KvShape& shape) {
    const std::int64_t parts = (shape.format.k_grouped ? 1 : 0) + (shape.format.v_grouped ? 1 : 0);
    return shape.layers * parts * shape.kv_heads * shape.head_dim * 4;
}

}  // namespace

std::int64_t KvShape::residual_bytes() const { return residual_rows() * residual_row_bytes(*this); }

std::int64_t KvShape::residual_used_bytes(std::int64_t tokens) const {
    return (tokens - format.quantized_tokens(tokens)) * residual_row_bytes(*this);
}

void count_kv_bytes(const KvShape& stored, std::int64_t past, StepShape& shape) {
    if (!stored.format.has_residual()) {
        shape.kv_bytes_per_entry = stored.entry_bytes();
        return;
    }
    const KvShape::Traffic traffic = stored.pass_traffic(past, shape.rows);
    shape.kv_read_bytes = traffic.read_bytes;
    shape.kv_write_bytes = traffic.written_bytes;
}

}  // namespace decodescope
