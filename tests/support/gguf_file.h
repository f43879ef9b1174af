// Makes small GGUF files, right ones and wrong ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/model_config.h"
#include "tests/support/fixtures.h"

namespace decodescope {

// Writes values of the format, lowest byte first; what is not written by hand here is written by GgufFile.
class GgufBytes {
public:
    GgufBytes& u8(std::uint8_t value) { return raw(&value, 1); }
    GgufBytes& u32(std::uint32_t value) { return raw(&value, 4); }
    GgufBytes& u64(std::uint64_t value) { return raw(&value, 8); }
    GgufBytes& f32(float value) { return raw(&value, 4); }
    GgufBytes& text(std::string_view value) {
        u64(value.size());
        return raw(value.data(), value.size());
    }
    GgufBytes& raw(const void* data, std::size_t bytes) {
        out_.append(static_cast<const char*>(data), bytes);
        return *this;
    }
    const std::string& bytes() const { return out_; }

private:
    std::string out_;
};

struct GgufFileTensor {
    std::string name, type;
    std::vector<std::int64_t> shape;  // rows first; written reversed
    std::string bytes;
};

// A whole file. Members may be set to what no right file has.
struct GgufFile {
    std::uint32_t version = 3;
    std::int64_t alignment = 32;
    std::vector<std::string> keys;  // each key with its value, as bytes
    std::vector<GgufFileTensor> tensors;

    void integer(std::string_view key, std::uint32_t value) {
        keys.push_back(GgufBytes().text(key).u32(4).u32(value).bytes());
    }
    void real(std::string_view key, float value) { keys.push_back(GgufBytes().text(key).u32(6).f32(value).bytes()); }
    void boolean(std::string_view key, bool value) {
        keys.push_back(GgufBytes().text(key).u32(7).u8(value ? 1 : 0).bytes());
    }
    void text(std::string_view key, std::string_view value) {
        keys.push_back(GgufBytes().text(key).u32(8).text(value).bytes());
    }
    void texts(std::string_view key, const std::vector<std::string>& values);
    void integers(std::string_view key, const std::vector<std::int32_t>& values);
    void reals(std::string_view key, const std::vector<float>& values);
    std::string bytes() const;
};

// Rows of `columns` numbers rounded to a type: the nearest codes for scales taken from each block's own range. An easy
// quantizer, not a good one. F32, F16, BF16 and every supported block type.
std::string gguf_rows(std::string_view type, const std::vector<float>& values);

// What the bytes of `type` mean by the format's definition, in double, written independently of the engine.
std::vector<double> gguf_meaning(std::string_view type, std::string_view bytes);

// A byte-level vocabulary of `size` tokens, none merged, the last one special and the end of a text.
void add_small_vocabulary(GgufFile& file, std::int64_t size);

}  // namespace decodescope
