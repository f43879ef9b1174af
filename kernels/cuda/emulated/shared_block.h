// Shared memory of an emulated block, with a guard behind it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace decodescope::simt {

#ifdef DECODESCOPE_SIMT_ASAN
constexpr std::size_t kGuardBytes = 0;  // the sanitizer sees the first byte beyond
#else
constexpr std::size_t kGuardBytes = 64;
#endif

// Shared memory of one block: all bits set is NaN in float and half, so that what was never written shows. Behind it a
// guard that must stay as it is: signalling NaNs, so that what is computed from it has other bits.
class SharedBlock {
public:
    SharedBlock(const void* tag, std::size_t bytes) : tag_(tag), bytes_(bytes) {
        data_ = static_cast<unsigned char*>(std::aligned_alloc(16, (bytes + kGuardBytes + 15) / 16 * 16));
#ifdef DECODESCOPE_SIMT_ASAN
        std::free(data_);
        data_ = static_cast<unsigned char*>(std::malloc(bytes == 0 ? 1 : bytes));  // exact
#endif
        std::memset(data_, 0xFF, bytes);
        for (std::size_t i = 0; i < kGuardBytes; ++i) data_[bytes + i] = kGuard[i % 4];
    }
    SharedBlock(SharedBlock&& other) noexcept
        : tag_(other.tag_), bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
    SharedBlock& operator=(SharedBlock&&) = delete;
    ~SharedBlock() { std::free(data_); }

    const void* tag() const { return tag_; }
    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    bool intact() const {
        for (std::size_t i = 0; i < kGuardBytes; ++i)
            if (data_[bytes_ + i] != kGuard[i % 4]) return false;
        return true;
    }

private:
    static constexpr unsigned char kGuard[4] = {0x55, 0x7D, 0xA1, 0x7F};
    const void* tag_;
    std::size_t bytes_;
    unsigned char* data_;
};

}  // namespace decodescope::simt
