// How a KvStorage moves rows: within the device, between the device and memory that the backend does not know, and into
// the pool of an offloaded cache, layer by layer.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "engine/cache/kv_storage.h"

namespace decodescope {

// The staging buffer is never divided.
std::int64_t KvStorage::part_rows(const Block& block, KvPart part) const {
    return shape_.part_rows(part, block.capacity, page_tokens_ > 0);
}

std::int64_t KvStorage::page_rows(const Block& block, KvPart part) const {
    return page_tokens_ == 0 || &block == &staging_ ? part_rows(block, part) : page_tokens_;
}

// Bytes within the buffer. With shared scales `slot` is the first of a group.
std::int64_t KvStorage::row_offset(const Block& block, int layer, KvPart part, std::int64_t head,
                                   std::int64_t slot) const {
    const std::int64_t rows = page_rows(block, part), page = slot / rows;
    return part_offset(block, layer, part) + (page * shape_.kv_heads + head) * shape_.head_bytes(part, rows) +
           shape_.head_bytes(part, slot % rows);
}

// What of the moves concerns a part: rows that are not in its buffers are in the residual, and rows that share scales
// move together.
std::vector<SlotMove> KvStorage::part_moves(const Block& from, const Block& to, KvPart part,
                                            std::span<const SlotMove> moves) const {
    std::vector<SlotMove> clipped;
    for (SlotMove move : moves) {
        DS_CHECK(move.from + move.count <= from.capacity && move.to + move.count <= to.capacity);
        move.count = std::min({move.count, part_rows(from, part) - move.from, part_rows(to, part) - move.to});
        if (shape_.shares_scales(part)) {
            const std::int64_t group = shape_.format.group;
            DS_CHECK(move.from % group == 0 && move.to % group == 0);
            move.count = (move.count + group - 1) / group * group;
        }
        if (move.count > 0) clipped.push_back(move);
    }
    return clipped;
}

std::int64_t KvStorage::moved_bytes(const Block& from, const Block& to, std::span<const SlotMove> moves) const {
    std::int64_t bytes = 0;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        for (const auto& move : part_moves(from, to, part, moves))
            bytes += to.layers * shape_.kv_heads * shape_.head_bytes(part, move.count);
    }
    return bytes;
}

// The same moves in pieces that lie within one page on either side.
std::vector<SlotMove> KvStorage::within_pages(const Block& from, const Block& to, KvPart part,
                                              std::span<const SlotMove> moves) const {
    std::vector<SlotMove> pieces;
    for (SlotMove move : moves) {
        while (move.count > 0) {
            const std::int64_t from_rows = page_rows(from, part), to_rows = page_rows(to, part);
            const std::int64_t count =
                std::min({move.count, from_rows - move.from % from_rows, to_rows - move.to % to_rows});
            pieces.push_back({move.from, move.to, count});
            move = {move.from + count, move.to + count, move.count - count};
        }
    }
    return pieces;
}

Status KvStorage::copy_rows(const Block& from, Block& to, std::span<const SlotMove> moves) const {
    for (int layer = to.first_layer; layer < to.first_layer + to.layers; ++layer)
        DS_RETURN_IF_ERROR(copy_layer_rows(from, to, layer, moves));
    return {};
}

Status KvStorage::copy_layer_rows(const Block& from, const Block& to, int layer,
                                  std::span<const SlotMove> moves) const {
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        const std::int64_t from_stride = shape_.head_bytes(part, page_rows(from, part));
        const std::int64_t to_stride = shape_.head_bytes(part, page_rows(to, part));
        for (const auto& move : within_pages(from, to, part, part_moves(from, to, part, moves)))
            DS_RETURN_IF_ERROR(copy_runs(from, row_offset(from, layer, part, 0, move.from), from_stride, to,
                                         row_offset(to, layer, part, 0, move.to), to_stride,
                                         shape_.head_bytes(part, move.count)));
    }
    return {};
}

// One run of `bytes` for each KV head.
Status KvStorage::copy_runs(const Block& from, std::int64_t from_offset, std::int64_t from_stride, const Block& to,
                            std::int64_t to_offset, std::int64_t to_stride, std::int64_t bytes) const {
    const auto size = static_cast<std::size_t>(bytes);
    if (!from.offloaded && !to.offloaded) {
        return backend_->copy(from.memory(), static_cast<std::size_t>(from_offset),
                              static_cast<std::size_t>(from_stride), to.memory(), static_cast<std::size_t>(to_offset),
                              static_cast<std::size_t>(to_stride), size, static_cast<std::size_t>(shape_.kv_heads));
    }
    for (int head = 0; head < shape_.kv_heads; ++head) {
        const std::int64_t source = from_offset + head * from_stride, target = to_offset + head * to_stride;
        if (from.offloaded) {
            DS_RETURN_IF_ERROR(write_bytes(to, target, {from.memory().data() + source, size}));
        } else {
            DS_RETURN_IF_ERROR(read_bytes(from, source, {to.memory().data() + target, size}));
        }
    }
    return {};
}

Status KvStorage::read_bytes(const Block& from, std::int64_t offset, std::span<std::byte> to) const {
    if (!from.offloaded) return backend_->download(from.memory(), static_cast<std::size_t>(offset), to);
    std::memcpy(to.data(), from.memory().data() + offset, to.size());
    return {};
}

Status KvStorage::write_bytes(const Block& to, std::int64_t offset, std::span<const std::byte> from) const {
    if (!to.offloaded) return backend_->upload(to.memory(), static_cast<std::size_t>(offset), from);
    std::memcpy(to.memory().data() + offset, from.data(), from.size());
    return {};
}

// The pool as a block that holds this layer, its rows in the slots that they have in the cache.
KvStorage::Block KvStorage::pool_block(int layer) const {
    Block block;
    block.capacity = block_of(layer).capacity;
    block.first_layer = layer;
    block.layers = 1;
    block.borrowed = pool_->buffer();
    return block;
}

namespace {

void add_slot(std::vector<SlotMove>& runs, std::int64_t slot) {
    if (!runs.empty() && runs.back().from + runs.back().count == slot) ++runs.back().count;
    else runs.push_back({slot, slot, 1});
}

}  // namespace

// Staged rows are on the device already.
Status KvStorage::prepare_pool(const CachePlan& plan) {
    if (pool_ == nullptr) return {};
    fetched_.clear();
    returned_.clear();
    DS_CHECK(plan.store_entries.empty());
    for (std::int64_t e = 0; e < plan.entries.count - plan.new_tokens; ++e)
        if (const std::int64_t slot = plan.entries.slot(static_cast<std::int32_t>(e)); slot < plan.capacity_after)
            add_slot(fetched_, slot);
    for (const std::int64_t slot : plan.store_slots)
        if (slot < plan.capacity_after) add_slot(returned_, slot);
    return pool_->reserve(plan.capacity_after * shape_.entry_bytes());
}

Status KvStorage::fetch_layer(int layer) {
    if (pool_ == nullptr) return {};
    const Block pool = pool_block(layer);
#ifdef DECODESCOPE_DEBUG
    const std::vector<std::byte> pattern(static_cast<std::size_t>(pool_->bytes()), std::byte{0xFF});
    DS_RETURN_IF_ERROR(write_bytes(pool, 0, pattern));
#endif
    return move_layer(layer, block_of(layer), pool, fetched_, true);
}

Status KvStorage::return_layer(int layer) {
    if (pool_ == nullptr) return {};
    return move_layer(layer, pool_block(layer), block_of(layer), returned_, false);
}

Status KvStorage::move_layer(int layer, const Block& from, const Block& to, std::span<const SlotMove> moves,
                             bool fetch) {
    const auto start = std::chrono::steady_clock::now();
    DS_RETURN_IF_ERROR(copy_layer_rows(from, to, layer, moves));
    std::int64_t bytes = 0;
    for (const SlotMove& move : moves) bytes += move.count * shape_.entry_bytes();
    const double micros = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    pool_->add(fetch ? bytes : 0, fetch ? 0 : bytes, micros);
    return {};
}

}  // namespace decodescope
