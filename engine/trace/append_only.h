// Containers with one writer and any number of readers, without a lock: what was stored never moves and never changes,
// and a count or pointer is published (release) after the data it leads to.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

// Growing list whose chunks double in size: 64, 64, 128, 256, ... elements. An append costs O(1) and allocates only
// when a chunk is full; elements are constructed one by one, so that a new chunk costs nothing but its allocation.
template <class T>
class AppendOnlyList {
public:
    AppendOnlyList() = default;
    AppendOnlyList(const AppendOnlyList&) = delete;
    AppendOnlyList& operator=(const AppendOnlyList&) = delete;
    ~AppendOnlyList() {
        const std::int32_t count = count_.load(std::memory_order_relaxed);
        for (std::int32_t i = 0; i < count; ++i) std::destroy_at(slot(i));
        for (std::size_t c = 0; c < chunks_.size(); ++c)
            if (chunks_[c] != nullptr) std::allocator<T>().deallocate(chunks_[c], chunk_size(c));
    }

    std::int32_t size() const { return count_.load(std::memory_order_acquire); }

    const T& operator[](std::int32_t index) const {
        DS_CHECK(index >= 0 && index < size());
        return *slot(index);
    }

    // Writer only. Returns the bytes that had to be allocated, mostly 0.
    std::int64_t push_back(T value) {
        const std::int32_t index = count_.load(std::memory_order_relaxed);
        const auto [chunk, offset] = locate(index);
        DS_CHECK(chunk < chunks_.size());
        std::int64_t allocated = 0;
        if (chunks_[chunk] == nullptr) {
            chunks_[chunk] = std::allocator<T>().allocate(chunk_size(chunk));
            allocated = static_cast<std::int64_t>(chunk_size(chunk) * sizeof(T));
        }
        std::construct_at(chunks_[chunk] + offset, std::move(value));
        count_.store(index + 1, std::memory_order_release);
        return allocated;
    }

private:
    static constexpr int kFirstLog2 = 6;

    static constexpr std::size_t chunk_size(std::size_t chunk) {
        return std::size_t{1} << (kFirstLog2 + (chunk == 0 ? 0 : chunk - 1));
    }
    static std::pair<std::size_t, std::size_t> locate(std::int32_t index) {
        const auto i = static_cast<std::uint32_t>(index);
        if (i < (1u << kFirstLog2)) return {0, i};
        const auto chunk = static_cast<std::size_t>(std::bit_width(i)) - kFirstLog2;
        return {chunk, i - chunk_size(chunk)};
    }
    T* slot(std::int32_t index) const {
        const auto [chunk, offset] = locate(index);
        return chunks_[chunk] + offset;
    }

    std::array<T*, 32 - kFirstLog2> chunks_{};  // published by count_
    std::atomic<std::int32_t> count_{0};
};

// Small keys (token ids, positions) -> atomic values, in leaves of 1024 that appear when first written. Keys from
// kLimit on are not kept, so that a hostile key cannot cost more than 8 MiB.
template <class T>
class SparseTable {
public:
    static constexpr std::int32_t kLimit = 1 << 20;

    SparseTable() = default;
    SparseTable(const SparseTable&) = delete;
    SparseTable& operator=(const SparseTable&) = delete;
    ~SparseTable() {
        for (auto& leaf : root_) delete leaf.load(std::memory_order_relaxed);
    }

    // Null when the key was never written (or is not kept).
    const T* find(std::int32_t key) const {
        if (key < 0 || key >= kLimit) return nullptr;
        const Leaf* leaf = root_[key >> kLeafLog2].load(std::memory_order_acquire);
        return leaf == nullptr ? nullptr : &(*leaf)[key & (kLeaf - 1)];
    }
    // Writer only; null for a key that is not kept. Adds the bytes that had to be allocated to `allocated`.
    T* at(std::int32_t key, std::int64_t& allocated) {
        if (key < 0 || key >= kLimit) return nullptr;
        auto& entry = root_[key >> kLeafLog2];
        Leaf* leaf = entry.load(std::memory_order_relaxed);
        if (leaf == nullptr) {
            leaf = new Leaf();
            allocated += static_cast<std::int64_t>(sizeof(Leaf));
            entry.store(leaf, std::memory_order_release);
        }
        return &(*leaf)[key & (kLeaf - 1)];
    }

private:
    static constexpr int kLeafLog2 = 10;
    static constexpr int kLeaf = 1 << kLeafLog2;
    using Leaf = std::array<T, kLeaf>;
    std::array<std::atomic<Leaf*>, kLimit / kLeaf> root_{};
};

// Memory handed out piece by piece and freed all at once; only the writer calls it, readers follow published pointers.
class Arena {
public:
    // Null when memory is short.
    std::byte* allocate(std::size_t bytes, std::size_t alignment) {
        const std::size_t start = (used_ + alignment - 1) & ~(alignment - 1);
        if (!blocks_.empty() && start + bytes <= size_) {
            used_ = start + bytes;
            return blocks_.back().get() + start;
        }
        return allocate_block(bytes);
    }
    template <class T>
    T* array(std::size_t count) {
        return reinterpret_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    }
    std::string_view copy(std::string_view text);

    std::int64_t allocated_bytes() const { return allocated_; }

private:
    std::byte* allocate_block(std::size_t bytes);

    static constexpr std::size_t kLargestBlock = std::size_t{4} << 20;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;  // the last one is being filled
    std::size_t used_ = 0, size_ = 0;
    std::size_t next_size_ = std::size_t{32} << 10;
    std::int64_t allocated_ = 0;
};

}  // namespace decodescope
