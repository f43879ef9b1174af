// The head of a GGUF file, version 2 or 3, checked before anything is read through it: "GGUF", version, counts,
// metadata (keys with values of 13 types), tensor descriptions, and after padding the data. All little-endian. Names
// and texts point into the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/gguf_types.h"
#include "kernels/api/status.h"

namespace decodescope {

// Elements of one array of fixed-width values, as they lie in the file.
struct GgufNumbers {
    std::uint32_t type = 0;  // of the elements, as in the file
    std::int64_t count = 0;
    std::span<const std::byte> bytes;
};

struct GgufValue {
    // Whole numbers of every width (a uint64 beyond int64 is a Real), numbers with a fraction, and so on.
    std::variant<std::int64_t, double, bool, std::string_view, GgufNumbers, std::vector<std::string_view>> value;

    // As written in a message: `5`, `"llama"`, `an array of 3`.
    std::string described() const;
};

struct GgufTensor {
    std::string_view name;
    const GgufType* type = nullptr;
    std::vector<std::int64_t> shape;    // rows first, as other formats have it: {out, in}; the file lists it reversed
    std::int64_t begin = 0, bytes = 0;  // from the start of the data
};

struct GgufHeader {
    std::uint32_t version = 3;
    std::int64_t alignment = 32, data_offset = 0;  // bytes
    std::map<std::string_view, GgufValue> metadata;
    std::vector<GgufTensor> tensors;  // in the order of their data
};

// `file` are the bytes of the whole file, `name` names it in messages. Refused with the key or tensor and the values:
// other versions and byte orders, counts and lengths beyond the file, unknown value types, arrays of arrays, repeated
// keys or tensors, an alignment that is no power of two from 1 to 65536, tensors with more than 4 dimensions, unknown
// or unsupported tensor types, rows that are no whole number of blocks, data that overlap, lie outside the file, leave
// holes, or are followed by more than padding.
Result<GgufHeader> read_gguf(std::span<const std::byte> file, const std::string& name);

// Element `index` of an array; 0 when it is no such number.
double gguf_number(const GgufNumbers& numbers, std::int64_t index);

}  // namespace decodescope
