// What a CachedSession reads of its stored rows: sizes of those of a pass, and single cells.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/decode/cached_session.h"

namespace decodescope {
namespace {

// rows: [rows, width], one head of all rows.
void add_squares(std::span<const float> rows, std::vector<double>& squares) {
    const std::size_t width = rows.size() / squares.size();
    for (std::size_t r = 0; r < squares.size(); ++r) {
        for (const float x : rows.subspan(r * width, width)) squares[r] += static_cast<double>(x) * x;
    }
}

}  // namespace

Status CachedSession::read_back(PassResult& result) {
    const std::size_t layers = static_cast<std::size_t>(cache_.layers());
    result.k_rms.resize(plans_.front().store_slots.size() * layers);
    result.v_rms.resize(plans_.front().store_slots.size() * layers);
    for (int layer = 0; layer < cache_.layers(); ++layer) DS_RETURN_IF_ERROR(read_layer_sizes(layer, result));
    return {};
}

Status CachedSession::read_layer_sizes(int layer, PassResult& result) const {
    const KvShape& shape = storage_of(layer).shape();
    const std::size_t layers = static_cast<std::size_t>(cache_.layers());
    const std::size_t width = static_cast<std::size_t>(shape.head_dim);
    std::size_t first_row = 0;
    for (const auto& run : runs_of(plan_of(layer).store_slots)) {
        const std::size_t count = static_cast<std::size_t>(run.count);
        std::vector<float> values(static_cast<std::size_t>(shape.kv_heads) * count *
                                  width);  // [kv_heads, count, head_dim]
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            DS_RETURN_IF_ERROR(read_new_rows(layer, part, run, static_cast<std::int64_t>(first_row), values));
            std::vector<double> squares(count, 0.0);
            for (std::size_t at = 0; at < values.size(); at += count * width)
                add_squares(std::span(values).subspan(at, count * width), squares);
            auto& out = part == KvPart::K ? result.k_rms : result.v_rms;
            for (std::size_t r = 0; r < count; ++r) {
                out[(first_row + r) * layers + static_cast<std::size_t>(layer)] =
                    static_cast<float>(std::sqrt(squares[r] / static_cast<double>(shape.kv_heads * shape.head_dim)));
            }
        }
        first_row += count;
    }
    return {};
}

Status CachedSession::read_new_rows(int layer, KvPart part, const SlotMove& run, std::int64_t first_row,
                                    std::span<float> out) const {
    const KvStorage& storage = storage_of(layer);
    const KvShape& shape = storage.shape();
    if (!shape.format.is_grouped(part))
        return storage.read_rows(cache_.index_in_group(layer), part, run.from, run.count, out);
    const auto width = static_cast<std::size_t>(shape.head_dim), count = static_cast<std::size_t>(run.count);
    std::vector<float> row(static_cast<std::size_t>(shape.kv_heads) * width);
    for (std::size_t r = 0; r < count; ++r) {
        const std::int64_t entry = plans_.front().first_position + first_row + static_cast<std::int64_t>(r);
        DS_RETURN_IF_ERROR(residual_->read_row(layer, part, entry, row));
        for (std::size_t head = 0; head < static_cast<std::size_t>(shape.kv_heads); ++head)
            std::copy_n(row.data() + head * width, width, out.data() + (head * count + r) * width);
    }
    return {};
}

Result<DecodeSession::CellValues> CachedSession::cell(std::int32_t layer, std::int32_t position) const {
    if (layer < 0 || layer >= cache_.layers()) {
        return make_error(ErrorKind::Argument,
                          fmt::format("There is no layer {}; the model has {}.", layer, cache_.layers()));
    }
    const CacheStrategy& strategy = cache_.of_layer(layer);
    const auto slot = strategy.slot_of(position);
    if (!slot) {
        return make_error(ErrorKind::Unsupported,
                          fmt::format("The row of position {} is not in the cache of layer {}, which holds {} of {} "
                                      "tokens.",
                                      position, layer, strategy.tokens_stored(), strategy.tokens_seen()));
    }
    const KvStorage& storage = storage_of(layer);
    const KvShape& shape = storage.shape();
    CellValues values;
    values.kv_heads = shape.kv_heads;
    values.head_dim = shape.head_dim;
    values.k.resize(static_cast<std::size_t>(shape.kv_heads * shape.head_dim));
    values.v.resize(values.k.size());
    const bool recent = position >= shape.format.quantized_tokens(strategy.tokens_seen());
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        const bool full = recent && shape.format.is_grouped(part);
        auto& out = part == KvPart::K ? values.k : values.v;
        (part == KvPart::K ? values.k_type : values.v_type) = full ? "f32" : part_name(shape.format, part);
        DS_RETURN_IF_ERROR(full ? residual_->read_row(layer, part, position, out)
                                : storage.read_rows(cache_.index_in_group(layer), part, *slot, 1, out));
    }
    return values;
}

}  // namespace decodescope
