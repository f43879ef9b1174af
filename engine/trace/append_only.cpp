#include "engine/trace/append_only.h"

#include <algorithm>
#include <cstring>

namespace decodescope {

std::byte* Arena::allocate_block(std::size_t bytes) {
    const bool own_block = bytes > kLargestBlock / 4;  // would leave too much of a shared block unused
    const std::size_t size = own_block ? bytes : std::max(bytes, next_size_);
    std::unique_ptr<std::byte[]> block(new (std::nothrow) std::byte[size]);
    if (block == nullptr) return nullptr;
    std::byte* start = block.get();
    allocated_ += static_cast<std::int64_t>(size);
    if (own_block && !blocks_.empty()) {
        blocks_.insert(blocks_.end() - 1, std::move(block));
        return start;
    }
    blocks_.push_back(std::move(block));
    size_ = size;
    used_ = bytes;
    next_size_ = std::min(next_size_ * 2, kLargestBlock);
    return start;
}

std::string_view Arena::copy(std::string_view text) {
    if (text.empty()) return {};
    auto* to = array<char>(text.size());
    if (to == nullptr) return {};
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
}

}  // namespace decodescope
