// Rows of a KvStorage one by one: read widened, written as they are stored, overwritten in the debug build.
#include <algorithm>
#include <cstring>

#include "engine/cache/kv_storage.h"
#include "kernels/api/half.h"
#include "kernels/api/int8_row.h"

namespace decodescope {
namespace {

// One row of head_dim elements.
void widen(const std::byte* row, ElementType type, std::int64_t head_dim, float* out) {
    for (std::int64_t i = 0; i < head_dim; ++i) {
        if (type == ElementType::I8) {
            out[i] = int8_value(row, head_dim, i);
        } else if (type == ElementType::F32) {
            std::memcpy(&out[i], row + i * 4, 4);
        } else {
            std::uint16_t half = 0;
            std::memcpy(&half, row + i * 2, 2);
            out[i] = type == ElementType::F16 ? f16_to_f32(half) : bf16_to_f32(half);
        }
    }
}

#ifdef DECODESCOPE_DEBUG
// What was never written, or was given up: NaN in every floating format (all bits set), codes of -128 behind scales
// that are NaN.
void fill_poison(std::span<std::byte> rows, ElementType type, std::int64_t head_dim) {
    std::fill(rows.begin(), rows.end(), std::byte{0xFF});
    if (type != ElementType::I8) return;
    const auto row = static_cast<std::size_t>(int8_row_bytes(head_dim));
    const auto codes = static_cast<std::size_t>(int8_code_bytes(head_dim));
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (i % row < codes) rows[i] = std::byte{0x80};
}
#endif

}  // namespace

Status KvStorage::read_rows(int layer, KvPart part, std::int64_t first_slot, std::int64_t count,
                            std::span<float> out) const {
    const bool staged = first_slot >= block_of(layer).capacity && count > 0;
    const Block& block = staged ? staging_ : block_of(layer);
    if (staged) first_slot -= block_of(layer).capacity;
    DS_CHECK(first_slot >= 0 && count >= 0 && first_slot + count <= part_rows(block, part));
    const std::int64_t width = shape_.head_dim, floats = count * width;
    DS_CHECK(out.size() == static_cast<std::size_t>(floats * shape_.kv_heads));
    const SlotMove wanted{first_slot, 0, count};
    for (const auto& piece : within_pages(block, block, part, {&wanted, 1})) {
        for (int head = 0; head < shape_.kv_heads; ++head) {
            const auto to = out.subspan(static_cast<std::size_t>(head * floats + piece.to * width),
                                        static_cast<std::size_t>(piece.count * width));
            if (shape_.shares_scales(part)) {
                DS_RETURN_IF_ERROR(read_groups(block, layer, head, piece, to));
                continue;
            }
            std::vector<std::byte> raw(static_cast<std::size_t>(shape_.head_bytes(part, piece.count)));
            const std::int64_t offset = row_offset(block, layer, part, head, piece.from);
            DS_RETURN_IF_ERROR(read_bytes(block, offset, raw));
            for (std::int64_t row = 0; row < piece.count; ++row)
                widen(raw.data() + shape_.head_bytes(part, row), shape_.format.type(part), width,
                      to.data() + row * width);
        }
    }
    return {};
}

// Keys that share scales, of one head; the rows of `piece` lie in one page.
Status KvStorage::read_groups(const Block& block, int layer, std::int64_t head, const SlotMove& piece,
                              std::span<float> out) const {
    const std::int64_t group = shape_.format.group, width = shape_.head_dim;
    std::vector<std::byte> raw(static_cast<std::size_t>(shape_.head_bytes(KvPart::K, group)));
    std::vector<float> channels(static_cast<std::size_t>(2 * width));  // scales, centres
    for (std::int64_t row = 0; row < piece.count; ++row) {
        const std::int64_t slot = piece.from + row;
        if (row == 0 || slot % group == 0) {
            const std::int64_t offset = row_offset(block, layer, KvPart::K, head, slot / group * group);
            DS_RETURN_IF_ERROR(read_bytes(block, offset, raw));
            std::memcpy(channels.data(), raw.data(), static_cast<std::size_t>(int8_channel_bytes(width)));
        }
        const std::byte* codes = raw.data() + int8_channel_bytes(width) + slot % group * int8_code_bytes(width);
        for (std::int64_t i = 0; i < width; ++i)
            out[static_cast<std::size_t>(row * width + i)] = int8_group_value(codes, channels.data(), width, i);
    }
    return {};
}

Status KvStorage::write_head(int layer, KvPart part, std::int64_t head, std::int64_t first_slot,
                             std::span<const std::byte> rows) {
    const Block& block = block_of(layer);
    return write_bytes(block, row_offset(block, layer, part, head, first_slot), rows);
}

void KvStorage::poison_block([[maybe_unused]] Block& block) {
#ifdef DECODESCOPE_DEBUG
    if (block.buffer == nullptr) return;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        const SlotMove all{0, 0, part_rows(block, part)};
        for (const auto& piece : within_pages(block, block, part, {&all, 1}))
            for (int layer = block.first_layer; layer < block.first_layer + block.layers; ++layer)
                poison_rows(block, layer, part, piece);
    }
#endif
}

void KvStorage::poison([[maybe_unused]] std::int64_t first_slot, [[maybe_unused]] std::int64_t count) {
#ifdef DECODESCOPE_DEBUG
    const SlotMove given_up{first_slot, first_slot, count};
    for (auto& block : blocks_) {
        if (block.buffer == nullptr || first_slot + count > block.capacity) continue;
        for (const KvPart part : {KvPart::K, KvPart::V}) {
            // Of rows that share scales only whole groups: the others of a group may still be read.
            SlotMove rows = given_up;
            rows.count = std::min(rows.count, part_rows(block, part) - rows.from);
            if (shape_.shares_scales(part)) {
                const std::int64_t group = shape_.format.group, end = rows.from + rows.count;
                rows.from = (rows.from + group - 1) / group * group;
                rows.count = end / group * group - rows.from;
            }
            for (const auto& piece : within_pages(block, block, part, {&rows, 1}))
                for (int layer = block.first_layer; layer < block.first_layer + block.layers; ++layer)
                    poison_rows(block, layer, part, piece);
        }
    }
#endif
}

#ifdef DECODESCOPE_DEBUG
void KvStorage::poison_rows(Block& block, int layer, KvPart part, const SlotMove& rows) {
    std::vector<std::byte> pattern(static_cast<std::size_t>(shape_.head_bytes(part, rows.count)));
    if (shape_.shares_scales(part)) {
        const auto group = static_cast<std::size_t>(shape_.head_bytes(part, shape_.format.group));
        const auto channels = static_cast<std::size_t>(int8_channel_bytes(shape_.head_dim));
        for (std::size_t i = 0; i < pattern.size(); ++i)
            pattern[i] = i % group < channels ? std::byte{0xFF} : std::byte{0x80};
    } else {
        fill_poison(pattern, shape_.format.type(part), shape_.head_dim);
    }
    for (int head = 0; head < shape_.kv_heads; ++head) {
        const std::int64_t offset = row_offset(block, layer, part, head, rows.from);
        (void)write_bytes(block, offset, pattern);
    }
}
#endif

}  // namespace decodescope
