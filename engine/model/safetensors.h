// The header of a safetensors file, checked before anything is read through it:
// 8 bytes little-endian header length, the header as JSON, the data of all tensors without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/element_type.h"
#include "kernels/api/status.h"

namespace decodescope {

struct SafetensorsEntry {
    std::string name;
    std::string dtype;                // one of the format's names: "F32", "BF16", "I64"
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct SafetensorsHeader {
    std::int64_t data_offset = 0;  // bytes from the start of the file
    std::vector<SafetensorsEntry> entries;  // in the order of their data
};

constexpr std::int64_t kSafetensorsHeaderLimit = 100'000'000;  // bytes, as in the reference library

// `file` are the bytes of the whole file, `name` names it in messages. Refused: a header that is too long or no JSON,
// repeated names, unknown types, sizes that contradict shapes, overlaps, holes, trailing bytes.
Result<SafetensorsHeader> read_safetensors(std::span<const std::byte> file, const std::string& name);

// The type of numbers that the engine computes with, or nothing for the others ("I64", "F64").
std::optional<ElementType> element_type_of(std::string_view dtype);

}  // namespace decodescope
