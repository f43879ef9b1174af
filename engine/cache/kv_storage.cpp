#include "engine/cache/kv_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "kernels/api/int8_row.h"

namespace decodescope {
namespace {

std::int64_t rows_in(std::span<const SlotMove> moves) {
    std::int64_t rows = 0;
    for (const SlotMove& move : moves) rows += move.count;
    return rows;
}

double micros_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

Status check_device(std::string_view what, const Backend& backend, std::int64_t bytes) {
    const std::int64_t limit = backend.info().memory_bytes;
    const std::int64_t taken = backend.memory().total_bytes();
    if (limit <= 0 || bytes <= limit - taken) return {};
    return make_error(ErrorKind::Memory,
                      fmt::format("{} needs {} bytes and {} of {} bytes are free on {}.", what, bytes,
                                  std::max<std::int64_t>(limit - taken, 0), limit, backend.info().title),
                      "Choose a smaller capacity, a shorter context or f16 for the cache.");
}

}  // namespace

KvStorage::KvStorage(std::shared_ptr<Backend> backend, const KvShape& shape)
    : backend_(std::move(backend)), shape_(shape) {}

Result<std::unique_ptr<KvStorage>> KvStorage::create(std::shared_ptr<Backend> backend, const KvShape& shape,
                                                     bool one_slab, std::int64_t capacity, std::int64_t page_tokens,
                                                     OffloadPlace place, std::shared_ptr<OffloadPool> pool) {
    DS_CHECK((place == OffloadPlace::None) == (pool == nullptr));
    std::unique_ptr<KvStorage> storage(new KvStorage(std::move(backend), shape));
    storage->page_tokens_ = page_tokens;
    storage->place_ = place;
    storage->pool_ = std::move(pool);
    auto bytes = shape.total_bytes(capacity, page_tokens > 0);
    if (!bytes.ok()) return bytes.error();
    DS_RETURN_IF_ERROR(check_fits(*storage->backend_, place, *bytes));
    const int layers_per_block = one_slab ? shape.layers : 1;
    for (int layer = 0; layer < shape.layers; layer += layers_per_block) {
        Block block;
        block.first_layer = layer;
        block.layers = layers_per_block;
        storage->blocks_.push_back(std::move(block));
        DS_RETURN_IF_ERROR(storage->exchange(storage->blocks_.back(), capacity, {}));
    }
    storage->begin_step();
    return storage;
}

Status KvStorage::check_fits(const Backend& backend, OffloadPlace place, std::int64_t bytes) {
    if (place != OffloadPlace::None) return check_offload_fits(place, bytes);
    return check_device("The KV cache", backend, bytes);
}

Status KvStorage::check_pool_fits(const Backend& backend, std::int64_t bytes) {
    return check_device("One layer of the offloaded KV cache", backend, bytes);
}

Result<BufferPtr> KvStorage::allocate_block(const Block& block, std::int64_t capacity, MemoryPurpose purpose) {
    KvShape shape = shape_;
    shape.layers = block.layers;
    auto bytes = shape.total_bytes(capacity, page_tokens_ > 0);
    if (!bytes.ok()) return bytes.error();
    const OffloadPlace place = purpose == MemoryPurpose::KvCache ? place_ : OffloadPlace::None;
    DS_RETURN_IF_ERROR(check_fits(*backend_, place, *bytes));
    auto buffer = place != OffloadPlace::None ? allocate_offloaded(place, static_cast<std::size_t>(*bytes))
                                              : backend_->allocate(static_cast<std::size_t>(*bytes), purpose);
    if (!buffer.ok()) return buffer.error();
    return buffer;
}

Status KvStorage::exchange(Block& block, std::int64_t capacity, std::span<const SlotMove> moves) {
    if (block.capacity == capacity) return {};
    Block next;
    next.first_layer = block.first_layer;
    next.layers = block.layers;
    next.capacity = capacity;
    next.offloaded = place_ != OffloadPlace::None;
    if (capacity > 0) {
        auto buffer = allocate_block(block, capacity, MemoryPurpose::KvCache);
        if (!buffer.ok()) return buffer.error();
        next.buffer = std::move(*buffer);
        poison_block(next);
        DS_RETURN_IF_ERROR(copy_rows(block, next, moves));
        live_bytes_ += static_cast<std::int64_t>(next.buffer->bytes());
        peak_bytes_ = std::max(peak_bytes_, live_bytes_);  // old and new lie side by side
        copied_bytes_ += moved_bytes(block, next, moves);
    }
    if (block.buffer) live_bytes_ -= static_cast<std::int64_t>(block.buffer->bytes());
    block = std::move(next);
    return {};
}

Status KvStorage::copy_within(std::span<const SlotMove> copies) {
    for (auto& block : blocks_) {
        DS_RETURN_IF_ERROR(copy_rows(block, block, copies));
        copied_bytes_ += moved_bytes(block, block, copies);
    }
    return {};
}

Status KvStorage::apply(const CachePlan& plan) {
    for (auto& block : blocks_) DS_RETURN_IF_ERROR(exchange(block, plan.capacity_after, plan.moves));
    DS_RETURN_IF_ERROR(stage(plan.staged_rows));
    DS_RETURN_IF_ERROR(prepare_pool(plan));
    // A page that is written for the first time holds nothing of its last owner.
    for (const std::int32_t page : plan.fresh_pages) poison(page * page_tokens_, page_tokens_);
    return copy_within(plan.copies);
}

// Kept from chunk to chunk; a long prefill must not leave its buffer behind for the single rows that follow.
Status KvStorage::stage(std::int64_t rows) {
    if (rows == staging_.capacity || (rows < staging_.capacity && rows != 1)) return {};
    staging_ = Block();  // nothing in it outlives a pass
    staging_.layers = shape_.layers;
    auto buffer = allocate_block(staging_, rows, MemoryPurpose::Activations);
    if (!buffer.ok()) return buffer.error();
    staging_.buffer = std::move(*buffer);
    staging_.capacity = rows;
    poison_block(staging_);
    return {};
}

Status KvStorage::settle(const CachePlan& plan) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<SlotMove> moves = plan.settled;
    for (auto& move : moves) move.from -= plan.capacity_after;
    for (auto& block : blocks_) DS_RETURN_IF_ERROR(copy_rows(staging_, block, moves));
    if (pool_ != nullptr)
        pool_->add(0, rows_in(moves) * shape_.entry_bytes() * shape_.layers, micros_since(start));
    if (plan.staged_rows > 0) poison_block(staging_);
    return {};
}

Status KvStorage::reset(std::int64_t capacity) {
    staging_ = Block();
    for (auto& block : blocks_) DS_RETURN_IF_ERROR(exchange(block, capacity, {}));
    poison(0, capacity);
    return {};
}

Result<std::unique_ptr<KvStorage>> KvStorage::clone(std::span<const SlotMove> used) const {
    std::unique_ptr<KvStorage> copy(new KvStorage(backend_, shape_));
    copy->page_tokens_ = page_tokens_;
    copy->place_ = place_;
    copy->pool_ = pool_;
    DS_RETURN_IF_ERROR(check_fits(*backend_, place_, live_bytes_));
    for (const auto& block : blocks_) {
        Block own;
        own.first_layer = block.first_layer;
        own.layers = block.layers;
        copy->blocks_.push_back(std::move(own));
        DS_RETURN_IF_ERROR(copy->exchange(copy->blocks_.back(), block.capacity, {}));
        DS_RETURN_IF_ERROR(copy_rows(block, copy->blocks_.back(), used));
    }
    copy->begin_step();
    return copy;
}

const KvStorage::Block& KvStorage::block_of(int layer) const {
    DS_CHECK(layer >= 0 && layer < shape_.layers);
    return blocks_[static_cast<std::size_t>(layer / blocks_.front().layers)];
}

std::int64_t KvStorage::part_offset(const Block& block, int layer, KvPart part) const {
    const auto layer_bytes = [&](KvPart of) {
        return shape_.kv_heads * shape_.head_bytes(of, part_rows(block, of));
    };
    // int8 rows have a scale, and are as long as keeps it aligned.
    const auto alignment = [&](KvPart of) {
        const ElementType type = shape_.format.type(of);
        return type == ElementType::I8 ? 4 : static_cast<int>(element_bytes(type));
    };
    const KvPart other = part == KvPart::K ? KvPart::V : KvPart::K;
    const bool first = alignment(part) != alignment(other) ? alignment(part) > alignment(other) : part == KvPart::K;
    return (first ? 0 : block.layers * layer_bytes(other)) + (layer - block.first_layer) * layer_bytes(part);
}

std::int64_t KvStorage::slot_bytes(std::int64_t slots) const {
    std::int64_t bytes = 0;
    for (const KvPart part : {KvPart::K, KvPart::V})
        bytes += shape_.head_bytes(part, shape_.part_rows(part, slots, page_tokens_ > 0));
    return shape_.layers * shape_.kv_heads * bytes;
}

KvView KvStorage::view(int layer, const EntryTable& table, const std::int32_t* store_entries) const {
    const Block& block = block_of(layer);
    const bool staged = table.staged_first != kNothingStaged;
    DS_CHECK(page_tokens_ == 0 || (table.pages != nullptr && std::int64_t{1} << table.log2_page == page_tokens_));
    DS_CHECK(!staged || (table.staged_first == block.capacity && staging_.buffer != nullptr));
    KvView view;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        KvSide& side = part == KvPart::K ? view.k : view.v;
        side.type = shape_.format.type(part);
        if (pool_ != nullptr && pool_->buffer() != nullptr)
            side.data = pool_->buffer()->data() + part_offset(pool_block(layer), layer, part);
        else if (block.buffer != nullptr)
            side.data = block.buffer->data() + part_offset(block, layer, part);
        const auto element = static_cast<std::int64_t>(element_bytes(side.type));
        side.row_stride = shape_.shares_scales(part) ? int8_code_bytes(shape_.head_dim)
                                                     : shape_.head_bytes(part, 1) / element;
        side.head_stride = shape_.head_bytes(part, page_rows(block, part)) / element;
        side.page_stride = table.pages == nullptr ? 0 : side.row_stride << table.log2_page;
        if (page_tokens_ > 0) side.page_stride = shape_.kv_heads * side.head_stride;
        if (shape_.shares_scales(part)) {
            side.group = shape_.format.group;
            side.group_stride = shape_.head_bytes(part, side.group);
        }
        if (!staged) continue;
        side.staged = staging_.buffer->data() + part_offset(staging_, layer, part);
        side.staged_head_stride = shape_.head_bytes(part, staging_.capacity) / element;
    }
    view.table = table;
    view.table.store_entries = store_entries;
    view.kv_heads = shape_.kv_heads;
    view.head_dim = shape_.head_dim;
    return view;
}

std::int64_t KvStorage::capacity() const {
    std::int64_t least = blocks_.front().capacity;
    for (const auto& block : blocks_) least = std::min(least, block.capacity);
    return least;
}

void KvStorage::begin_step() {
    copied_bytes_ = 0;
    peak_bytes_ = live_bytes_;
    if (pool_ != nullptr) pool_->begin_step();
}

}  // namespace decodescope
