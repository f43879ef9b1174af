#include "engine/cache/kv_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "kernels/api/half.h"

namespace decodescope {
namespace {

void widen(const std::byte* from, ElementType type, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (type == ElementType::F32) {
            std::memcpy(&out[i], from + i * 4, 4);
            continue;
        }
        std::uint16_t half = 0;
        std::memcpy(&half, from + i * 2, 2);
        out[i] = type == ElementType::F16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
}

std::int64_t rows_in(std::span<const SlotMove> moves) {
    std::int64_t rows = 0;
    for (const SlotMove& move : moves) rows += move.count;
    return rows;
}

double micros_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::int64_t KvShape::entry_bytes() const {
    return static_cast<std::int64_t>(kv_heads) * head_dim *
           static_cast<std::int64_t>(element_bytes(format.k) + element_bytes(format.v));
}

Result<std::int64_t> KvShape::total_bytes(std::int64_t capacity) const {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(entry_bytes(), static_cast<std::int64_t>(layers), &bytes) ||
        __builtin_mul_overflow(bytes, capacity, &bytes)) {
        return make_error(
            ErrorKind::Memory,
            fmt::format("A KV cache of {} tokens in {} layers of {} heads of {} is larger than any memory.", capacity,
                        layers, kv_heads, head_dim));
    }
    return bytes;
}

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
    auto bytes = shape.total_bytes(capacity);
    if (!bytes.ok()) return bytes.error();
    DS_RETURN_IF_ERROR(storage->reserve_fits(*bytes));
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

Status KvStorage::check_fits(const Backend& backend, std::int64_t bytes) {
    const std::int64_t limit = backend.info().memory_bytes;
    const std::int64_t taken = backend.memory().total_bytes();
    if (limit <= 0 || bytes <= limit - taken) return {};
    return make_error(ErrorKind::Memory,
                      fmt::format("The KV cache needs {} bytes and {} of {} bytes are free on {}.", bytes,
                                  std::max<std::int64_t>(limit - taken, 0), limit, backend.info().title),
                      "Choose a smaller capacity, a shorter context or f16 for the cache.");
}

Result<BufferPtr> KvStorage::allocate_block(const Block& block, std::int64_t capacity, MemoryPurpose purpose) {
    KvShape shape = shape_;
    shape.layers = block.layers;
    auto bytes = shape.total_bytes(capacity);
    if (!bytes.ok()) return bytes.error();
    DS_RETURN_IF_ERROR(reserve_fits(*bytes));
    const bool offloaded = place_ != OffloadPlace::None && purpose == MemoryPurpose::KvCache;
    auto buffer = offloaded ? allocate_offloaded(place_, static_cast<std::size_t>(*bytes))
                            : backend_->allocate(static_cast<std::size_t>(*bytes), purpose);
    if (!buffer.ok()) return buffer.error();
#ifdef DECODESCOPE_DEBUG
    // All bits set is NaN in every floating format: a read of a row that was never written shows.
    const std::vector<std::byte> pattern((*buffer)->bytes(), std::byte{0xFF});
    if (offloaded) std::memcpy((*buffer)->data(), pattern.data(), pattern.size());
    else DS_RETURN_IF_ERROR(backend_->upload(**buffer, 0, pattern));
#endif
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
        DS_RETURN_IF_ERROR(copy_rows(block, next, moves));
        live_bytes_ += static_cast<std::int64_t>(next.buffer->bytes());
        peak_bytes_ = std::max(peak_bytes_, live_bytes_);  // old and new lie side by side
        for (const auto& move : moves) copied_bytes_ += move.count * shape_.entry_bytes() * block.layers;
    }
    if (block.buffer) live_bytes_ -= static_cast<std::int64_t>(block.buffer->bytes());
    block = std::move(next);
    return {};
}

Status KvStorage::copy_within(std::span<const SlotMove> copies) {
    for (auto& block : blocks_) {
        DS_RETURN_IF_ERROR(copy_rows(block, block, copies));
        for (const auto& copy : copies) copied_bytes_ += copy.count * shape_.entry_bytes() * block.layers;
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
    return {};
}

Status KvStorage::settle(const CachePlan& plan) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<SlotMove> moves = plan.settled;
    for (auto& move : moves) move.from -= plan.capacity_after;
    for (auto& block : blocks_) DS_RETURN_IF_ERROR(copy_rows(staging_, block, moves));
    if (pool_ != nullptr)
        pool_->add(0, rows_in(moves) * shape_.entry_bytes() * shape_.layers, micros_since(start));
#ifdef DECODESCOPE_DEBUG
    if (plan.staged_rows > 0) {
        const std::vector<std::byte> pattern(staging_.buffer->bytes(), std::byte{0xFF});
        DS_RETURN_IF_ERROR(backend_->upload(*staging_.buffer, 0, pattern));
    }
#endif
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
    DS_RETURN_IF_ERROR(reserve_fits(live_bytes_));
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

std::int64_t KvStorage::element_size(KvPart part) const {
    return static_cast<std::int64_t>(element_bytes(part == KvPart::K ? shape_.format.k : shape_.format.v));
}

std::int64_t KvStorage::part_offset(const Block& block, int layer, KvPart part) const {
    const KvPart other = part == KvPart::K ? KvPart::V : KvPart::K;
    const bool first =
        element_size(part) != element_size(other) ? element_size(part) > element_size(other) : part == KvPart::K;
    const std::int64_t layer_elements = shape_.kv_heads * block.capacity * shape_.head_dim;
    const std::int64_t before = first ? 0 : block.layers * layer_elements * element_size(other);
    return before + (layer - block.first_layer) * layer_elements * element_size(part);
}

KvView KvStorage::view(int layer, const EntryTable& table, const std::int32_t* store_entries) const {
    const Block& block = block_of(layer);
    const bool staged = table.staged_first != kNothingStaged;
    DS_CHECK(page_tokens_ == 0 || (table.pages != nullptr && std::int64_t{1} << table.log2_page == page_tokens_));
    DS_CHECK(!staged || (table.staged_first == block.capacity && staging_.buffer != nullptr));
    KvView view;
    for (const KvPart part : {KvPart::K, KvPart::V}) {
        KvSide& side = part == KvPart::K ? view.k : view.v;
        side.type = part == KvPart::K ? shape_.format.k : shape_.format.v;
        if (pool_ != nullptr && pool_->buffer() != nullptr)
            side.data = pool_->buffer()->data() + part_offset(pool_block(layer), layer, part);
        else if (block.buffer != nullptr)
            side.data = block.buffer->data() + part_offset(block, layer, part);
        side.row_stride = shape_.head_dim;
        side.head_stride = page_rows(block) * shape_.head_dim;
        side.page_stride = table.pages == nullptr ? 0 : side.row_stride << table.log2_page;
        if (page_tokens_ > 0) side.page_stride = shape_.kv_heads * side.head_stride;
        if (!staged) continue;
        side.staged = staging_.buffer->data() + part_offset(staging_, layer, part);
        side.staged_head_stride = staging_.capacity * shape_.head_dim;
    }
    view.table = table;
    view.table.store_entries = store_entries;
    view.kv_heads = shape_.kv_heads;
    view.head_dim = shape_.head_dim;
    return view;
}

Status KvStorage::read_rows(int layer, KvPart part, std::int64_t first_slot, std::int64_t count,
                            std::span<float> out) const {
    const bool staged = first_slot >= block_of(layer).capacity && count > 0;
    const Block& block = staged ? staging_ : block_of(layer);
    if (staged) first_slot -= block_of(layer).capacity;
    DS_CHECK(first_slot >= 0 && count >= 0 && first_slot + count <= block.capacity);
    const std::int64_t row = shape_.head_dim * element_size(part);
    const std::size_t floats = static_cast<std::size_t>(count * shape_.head_dim);
    DS_CHECK(out.size() == floats * static_cast<std::size_t>(shape_.kv_heads));
    const SlotMove wanted{first_slot, 0, count};
    for (const auto& piece : within_pages(block, block, {&wanted, 1})) {
        std::vector<std::byte> raw(static_cast<std::size_t>(piece.count * row));
        for (int head = 0; head < shape_.kv_heads; ++head) {
            const std::int64_t offset = row_offset(block, layer, part, head, piece.from);
            DS_RETURN_IF_ERROR(read_bytes(block, offset, raw));
            widen(raw.data(), part == KvPart::K ? shape_.format.k : shape_.format.v,
                  out.subspan(static_cast<std::size_t>(head) * floats +
                                  static_cast<std::size_t>(piece.to * shape_.head_dim),
                              static_cast<std::size_t>(piece.count * shape_.head_dim)));
        }
    }
    return {};
}

void KvStorage::poison([[maybe_unused]] std::int64_t first_slot, [[maybe_unused]] std::int64_t count) {
#ifdef DECODESCOPE_DEBUG
    const SlotMove given_up{first_slot, first_slot, count};
    for (auto& block : blocks_) {
        if (block.buffer == nullptr || first_slot + count > block.capacity) continue;
        for (const auto& piece : within_pages(block, block, {&given_up, 1})) {
            for (int layer = block.first_layer; layer < block.first_layer + block.layers; ++layer) {
                for (const KvPart part : {KvPart::K, KvPart::V}) poison_rows(block, layer, part, piece);
            }
        }
    }
#endif
}

#ifdef DECODESCOPE_DEBUG
void KvStorage::poison_rows(Block& block, int layer, KvPart part, const SlotMove& rows) {
    const std::vector<std::byte> pattern(
        static_cast<std::size_t>(rows.count * shape_.head_dim * element_size(part)), std::byte{0xFF});
    for (int head = 0; head < shape_.kv_heads; ++head) {
        const std::int64_t offset = row_offset(block, layer, part, head, rows.from);
        (void)write_bytes(block, offset, pattern);
    }
}
#endif

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
