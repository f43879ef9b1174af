// K and V of one sequence, or of a group that shares pages, in buffers of one backend. Applies plans, hands out views,
// counts bytes. Reaches the memory through upload, download and copy only, so that it may lie on any device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cache/cache_strategy.h"
#include "engine/cache/kv_format.h"
#include "engine/cache/offload.h"
#include "kernels/api/backend.h"
#include "kernels/api/kv_view.h"
#include "kernels/api/status.h"

namespace decodescope {

class KvStorage {
public:
    // One allocation of purpose KvCache per layer, or one for all layers. Memory error with both numbers, before
    // anything is allocated, when the memory in which the rows are to lie cannot hold them.
    // `page_tokens`: rows of one page, of which `capacity` is a multiple; 0: not divided.
    // `place`, `pool`: where the rows lie when not on the device, and what the views then point into; see fetch_layer.
    static Result<std::unique_ptr<KvStorage>> create(std::shared_ptr<Backend> backend, const KvShape& shape,
                                                     bool one_slab, std::int64_t capacity, std::int64_t page_tokens = 0,
                                                     OffloadPlace place = OffloadPlace::None,
                                                     std::shared_ptr<OffloadPool> pool = nullptr);

    // Memory error with both numbers when `bytes` more do not fit where the rows are to lie.
    static Status check_fits(const Backend& backend, OffloadPlace place, std::int64_t bytes);
    // The same of the pool: room on the device for one layer of an offloaded cache.
    static Status check_pool_fits(const Backend& backend, std::int64_t bytes);

    // Makes the room that the plan asks for: per block (a layer, or the slab) new memory, copy, free old; the staging
    // buffer, which counts as activations; and the copies within the storage. After an error every stored row is still
    // there and every view is valid; blocks that were exchanged before the error keep their new size.
    Status apply(const CachePlan& plan);
    // Copies the staged rows that stay to their slots, once the pass has succeeded. Cannot run out of memory.
    Status settle(const CachePlan& plan);
    // Gives up all rows and the staging buffer; blocks of another capacity are exchanged. Cannot fail for capacity 0.
    Status reset(std::int64_t capacity);
    // An independent copy of the rows in `used`.
    Result<std::unique_ptr<KvStorage>> clone(std::span<const SlotMove> used) const;
    // Offloaded rows: brings those that the applied plan reads into the pool, and takes its new ones back. Between the
    // two the layer's view can be used, and no other's. Nothing to do when the rows lie on the device.
    Status fetch_layer(int layer);
    Status return_layer(int layer);
    // The view of one layer; `table` and `store_entries` must outlive it.
    KvView view(int layer, const EntryTable& table, const std::int32_t* store_entries) const;
    // Rows in slots first .. first + count - 1, all of the cache or all staged, widened to f32:
    // [kv_heads, count, head_dim].
    Status read_rows(int layer, KvPart part, std::int64_t first_slot, std::int64_t count, std::span<float> out) const;
    // Rows of one head as they are stored, scales included, for slots from first_slot on in one page: KvShape's
    // head_bytes of the rows. With shared scales first_slot is the first of a group.
    Status write_head(int layer, KvPart part, std::int64_t head, std::int64_t first_slot,
                      std::span<const std::byte> rows);
    // Debug builds overwrite rows that were given up, so that reading one shows as NaN. Nothing in release builds.
    void poison(std::int64_t first_slot, std::int64_t count);

    const KvShape& shape() const { return shape_; }
    const OffloadPool* pool() const { return pool_.get(); }  // null: the rows lie on the device
    // Of the buffers, without the residual's: what `tokens` tokens take, and what `capacity` tokens reserve.
    std::int64_t used_bytes(std::int64_t tokens) const { return shape_.stored_bytes(tokens); }
    std::int64_t slot_bytes(std::int64_t slots) const;
    std::int64_t capacity() const;                               // tokens that fit into every layer
    std::int64_t reserved_bytes() const { return live_bytes_; }  // as allocated
    void begin_step();                                           // restarts the two below
    std::int64_t copied_bytes() const { return copied_bytes_; }  // to new storage or other pages since begin_step
    std::int64_t peak_bytes() const { return peak_bytes_; }      // highest reserved_bytes since begin_step
    std::int64_t block_count() const { return static_cast<std::int64_t>(blocks_.size()); }  // layers, or 1 for a slab
    std::int64_t staged_capacity() const { return staging_.capacity; }  // rows that the staging buffer has room for

private:
    // Layers first_layer .. first_layer + layers - 1 in one buffer: all of the wider part, then all of the other, so
    // that every element and scale is aligned. Within a part [layers, pages, kv_heads, page, row]; not divided, the
    // whole capacity is one page. What a row is: kernels/api/int8_row.h, else head_dim elements.
    struct Block {
        BufferPtr buffer;
        std::int64_t capacity = 0;
        int first_layer = 0, layers = 0;
        bool offloaded = false;        // host code follows its address, and the backend does not know it
        Buffer* borrowed = nullptr;    // the pool's
        Buffer& memory() const { return borrowed != nullptr ? *borrowed : *buffer; }
    };

    KvStorage(std::shared_ptr<Backend> backend, const KvShape& shape);
    Result<BufferPtr> allocate_block(const Block& block, std::int64_t capacity, MemoryPurpose purpose);
    std::int64_t moved_bytes(const Block& from, const Block& to, std::span<const SlotMove> moves) const;
    Status stage(std::int64_t rows);
    Status exchange(Block& block, std::int64_t capacity, std::span<const SlotMove> moves);
    Status copy_rows(const Block& from, Block& to, std::span<const SlotMove> moves) const;
    void poison_block(Block& block);
    Status copy_layer_rows(const Block& from, const Block& to, int layer, std::span<const SlotMove> moves) const;
    Status copy_runs(const Block& from, std::int64_t from_offset, std::int64_t from_stride, const Block& to,
                     std::int64_t to_offset, std::int64_t to_stride, std::int64_t bytes) const;
    Status read_bytes(const Block& from, std::int64_t offset, std::span<std::byte> to) const;
    Status write_bytes(const Block& to, std::int64_t offset, std::span<const std::byte> from) const;
    Block pool_block(int layer) const;
    Status prepare_pool(const CachePlan& plan);
    Status move_layer(int layer, const Block& from, const Block& to, std::span<const SlotMove> moves, bool fetch);
#ifdef DECODESCOPE_DEBUG
    void poison_rows(Block& block, int layer, KvPart part, const SlotMove& rows);
#endif
    Status copy_within(std::span<const SlotMove> copies);
    std::int64_t part_rows(const Block& block, KvPart part) const;
    std::int64_t page_rows(const Block& block, KvPart part) const;
    std::int64_t row_offset(const Block& block, int layer, KvPart part, std::int64_t head, std::int64_t slot) const;
    std::vector<SlotMove> part_moves(const Block& from, const Block& to, KvPart part,
                                     std::span<const SlotMove> moves) const;
    std::vector<SlotMove> within_pages(const Block& from, const Block& to, KvPart part,
                                       std::span<const SlotMove> moves) const;
    Status read_groups(const Block& block, int layer, std::int64_t head, const SlotMove& piece,
                       std::span<float> out) const;
    const Block& block_of(int layer) const;
    std::int64_t part_offset(const Block& block, int layer, KvPart part) const;  // bytes within the buffer

    std::shared_ptr<Backend> backend_;
    KvShape shape_;
    std::vector<Block> blocks_;
    Block staging_;  // of all layers; its row i is slot capacity() + i
    std::int64_t page_tokens_ = 0;
    OffloadPlace place_ = OffloadPlace::None;
    std::shared_ptr<OffloadPool> pool_;
    std::vector<SlotMove> fetched_, returned_;  // rows of the applied plan, of every layer
    std::int64_t live_bytes_ = 0, peak_bytes_ = 0, copied_bytes_ = 0;
};

}  // namespace decodescope
