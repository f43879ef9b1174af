// Little-endian fields in memory, whatever the machine's byte order. The reader never reads beyond its bytes, checks
// every value where it is read, and keeps the first thing that was wrong as a sentence that names the field and both
// values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace decodescope {

class ByteWriter {
public:
    void u8(std::uint8_t value) { put(value, 1); }
    void u16(std::uint16_t value) { put(value, 2); }
    void u32(std::uint32_t value) { put(value, 4); }
    void u64(std::uint64_t value) { put(value, 8); }
    void i32(std::int32_t value) { u32(static_cast<std::uint32_t>(value)); }
    void i64(std::int64_t value) { u64(static_cast<std::uint64_t>(value)); }
    void f32(float value) { u32(std::bit_cast<std::uint32_t>(value)); }
    void f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }
    void boolean(bool value) { u8(value ? 1 : 0); }
    void count(std::size_t value) { u64(value); }
    void text(std::string_view value);
    void u16_array(std::span<const std::uint16_t> values);
    void i32_array(std::span<const std::int32_t> values);

    std::span<const std::byte> bytes() const { return bytes_; }
    std::size_t size() const { return bytes_.size(); }
    void clear() { bytes_.clear(); }

private:
    void put(std::uint64_t value, int width);
    std::vector<std::byte> bytes_;
};

class ByteReader {
public:
    // `where` names the part of the file in messages: "section ROWS".
    ByteReader(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

    std::uint8_t u8(const char* field) { return static_cast<std::uint8_t>(get(field, 1)); }
    std::uint16_t u16(const char* field) { return static_cast<std::uint16_t>(get(field, 2)); }
    std::uint32_t u32(const char* field) { return static_cast<std::uint32_t>(get(field, 4)); }
    std::uint64_t u64(const char* field) { return get(field, 8); }
    float f32(const char* field) { return std::bit_cast<float>(u32(field)); }
    double f64(const char* field) { return std::bit_cast<double>(u64(field)); }
    bool boolean(const char* field);
    // A value outside lowest .. highest is an error and gives `lowest`.
    std::int32_t i32(const char* field, std::int32_t lowest, std::int32_t highest);
    std::int64_t i64(const char* field, std::int64_t lowest, std::int64_t highest = kLargest);
    // Number of records of at least `bytes_each` that follow: never more than what is left can hold.
    std::size_t count(const char* field, std::size_t bytes_each);
    std::string text(const char* field);
    // `to.size()` values; nothing is read when they are not all there.
    void u16_array(const char* field, std::vector<std::uint16_t>& to, std::uint64_t count);
    void i32_array(const char* field, std::vector<std::int32_t>& to, std::uint64_t count, std::int32_t highest);

    bool ok() const { return error_.empty(); }
    const std::string& error() const { return error_; }
    std::size_t left() const { return bytes_.size() - at_; }
    // What is being read, for messages: "row 17". Kept until the next call.
    void set_item(const char* kind, std::int64_t index) {
        item_ = kind;
        item_index_ = index;
    }
    void fail(const char* field, std::string_view what);
    // Error when bytes are left over.
    void finish();

private:
    static constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    std::uint64_t get(const char* field, std::size_t width);
    bool need(const char* field, std::uint64_t bytes);

    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    std::string where_, error_;
    const char* item_ = nullptr;
    std::int64_t item_index_ = 0;
};

}  // namespace decodescope
