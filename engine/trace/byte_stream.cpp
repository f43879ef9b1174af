#include "engine/trace/byte_stream.h"

#include <cstring>

#include <fmt/format.h>

namespace decodescope {

void ByteWriter::put(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void ByteWriter::text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    const auto* data = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), data, data + value.size());
}

void ByteWriter::u16_array(std::span<const std::uint16_t> values) {
    const std::size_t start = bytes_.size();
    bytes_.resize(start + 2 * values.size());
    std::byte* to = bytes_.data() + start;
    for (std::size_t i = 0; i < values.size(); ++i) {
        to[2 * i] = static_cast<std::byte>(values[i]);
        to[2 * i + 1] = static_cast<std::byte>(values[i] >> 8);
    }
}

void ByteWriter::i32_array(std::span<const std::int32_t> values) {
    for (std::int32_t value : values) i32(value);
}

void ByteReader::fail(const char* field, std::string_view what) {
    if (!ok()) return;
    error_ = item_ == nullptr ? fmt::format("{}: {} {}", where_, field, what)
                              : fmt::format("{}, {} {}: {} {}", where_, item_, item_index_, field, what);
}

bool ByteReader::need(const char* field, std::uint64_t bytes) {
    if (ok() && bytes > left()) fail(field, fmt::format("needs {} bytes and {} are left", bytes, left()));
    return ok();
}

std::uint64_t ByteReader::get(const char* field, std::size_t width) {
    if (!need(field, width)) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
        value |= static_cast<std::uint64_t>(std::to_integer<std::uint8_t>(bytes_[at_ + i])) << (8 * i);
    at_ += width;
    return value;
}

bool ByteReader::boolean(const char* field) {
    const std::uint8_t value = u8(field);
    if (value > 1) fail(field, fmt::format("is {}, which is neither 0 nor 1", value));
    return value == 1;
}

std::int32_t ByteReader::i32(const char* field, std::int32_t lowest, std::int32_t highest) {
    const auto value = static_cast<std::int32_t>(u32(field));
    if (ok() && (value < lowest || value > highest))
        fail(field, fmt::format("is {}, outside {} to {}", value, lowest, highest));
    return ok() ? value : lowest;
}

std::int64_t ByteReader::i64(const char* field, std::int64_t lowest, std::int64_t highest) {
    const auto value = static_cast<std::int64_t>(u64(field));
    if (ok() && (value < lowest || value > highest))
        fail(field, fmt::format("is {}, outside {} to {}", value, lowest, highest));
    return ok() ? value : lowest;
}

std::size_t ByteReader::count(const char* field, std::size_t bytes_each) {
    const std::uint64_t value = u64(field);
    const std::uint64_t most = left() / bytes_each;
    if (value > most) fail(field, fmt::format("is {}, and the bytes left hold at most {}", value, most));
    return ok() ? static_cast<std::size_t>(value) : 0;
}

std::string ByteReader::text(const char* field) {
    const std::uint32_t size = u32(field);
    if (!need(field, size)) return {};
    std::string value(size, '\0');
    if (size > 0) std::memcpy(value.data(), bytes_.data() + at_, size);
    at_ += size;
    return value;
}

void ByteReader::u16_array(const char* field, std::vector<std::uint16_t>& to, std::uint64_t count) {
    to.clear();
    if (count > left() / 2) fail(field, fmt::format("needs {} values of 2 bytes and {} bytes are left", count, left()));
    if (!ok()) return;
    to.resize(static_cast<std::size_t>(count));
    const std::byte* from = bytes_.data() + at_;
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<std::uint16_t>(std::to_integer<unsigned>(from[2 * i]) |
                                           std::to_integer<unsigned>(from[2 * i + 1]) << 8);
    at_ += 2 * to.size();
}

void ByteReader::i32_array(const char* field, std::vector<std::int32_t>& to, std::uint64_t count,
                           std::int32_t highest) {
    to.clear();
    if (count > left() / 4) fail(field, fmt::format("needs {} values of 4 bytes and {} bytes are left", count, left()));
    if (!ok()) return;
    to.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count && ok(); ++i) to.push_back(i32(field, 0, highest));
}

void ByteReader::finish() {
    if (!ok() || left() == 0) return;
    item_ = nullptr;
    fail("end", fmt::format("leaves {} bytes over", left()));
}

}  // namespace decodescope
