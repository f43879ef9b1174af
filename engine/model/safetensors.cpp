#include "engine/model/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "engine/model/tensor_set.h"
#include "engine/support/json_value.h"

namespace decodescope {
namespace {

Error refuse(const std::string& file, const std::string& reason) {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", file, reason),
                      "The file is damaged or incomplete; get it again.");
}

Error refuse_tensor(const std::string& file, const std::string& tensor, const std::string& reason) {
    return refuse(file, fmt::format("tensor \"{}\": {}", tensor.substr(0, 200), reason));
}

// Bytes per element; 0 for a name that the format does not have.
std::int64_t dtype_bytes(std::string_view dtype) {
    constexpr std::array<std::pair<std::string_view, int>, 15> table = {
        {{"BOOL", 1}, {"U8", 1}, {"I8", 1}, {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
         {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4}, {"F64", 8}, {"I64", 8}, {"U64", 8}}};
    for (const auto& [name, bytes] : table)
        if (name == dtype) return bytes;
    return 0;
}

Result<std::int64_t> read_dtype(const JsonValue& entry, const std::string& file, SafetensorsEntry& out) {
    const JsonValue* dtype = entry.find("dtype");
    if (dtype == nullptr) return refuse_tensor(file, out.name, "\"dtype\" is missing.");
    if (!dtype->is_string())
        return refuse_tensor(file, out.name, fmt::format("dtype is {}, not a name.", dtype->described()));
    out.dtype = dtype->as_string();
    const std::int64_t bytes = dtype_bytes(out.dtype);
    if (bytes == 0) return refuse_tensor(file, out.name, fmt::format("unknown dtype {}.", dtype->described()));
    return bytes;
}

// Fills the shape and gives the bytes that it needs.
Result<std::int64_t> read_shape(const JsonValue& entry, const std::string& file, std::int64_t element_bytes,
                                SafetensorsEntry& out) {
    const JsonValue* shape = entry.find("shape");
    if (shape == nullptr) return refuse_tensor(file, out.name, "\"shape\" is missing.");
    if (!shape->is_array())
        return refuse_tensor(file, out.name, fmt::format("shape is {}, not a list.", shape->described()));
    if (shape->items().size() > 8)
        return refuse_tensor(file, out.name,
                             fmt::format("{} dimensions; at most 8 are possible.", shape->items().size()));
    std::int64_t bytes = element_bytes;
    for (const JsonValue& item : shape->items()) {
        if (!item.is_integer() || item.as_integer() < 0)
            return refuse_tensor(file, out.name, fmt::format("a dimension is {}, not a size.", item.described()));
        out.shape.push_back(item.as_integer());
    }
    const bool empty = std::find(out.shape.begin(), out.shape.end(), 0) != out.shape.end();
    for (const std::int64_t size : out.shape) {
        if (empty) return 0;
        if (size > std::numeric_limits<std::int64_t>::max() / bytes)
            return refuse_tensor(file, out.name,
                                 fmt::format("shape {} is more than can be counted.", shape_text(out.shape)));
        bytes *= size;
    }
    return bytes;
}

Status read_offsets(const JsonValue& entry, const std::string& file, std::int64_t data_bytes, SafetensorsEntry& out) {
    const JsonValue* offsets = entry.find("data_offsets");
    if (offsets == nullptr) return refuse_tensor(file, out.name, "\"data_offsets\" is missing.");
    if (!offsets->is_array() || offsets->items().size() != 2)
        return refuse_tensor(file, out.name, fmt::format("data_offsets is {}, not two numbers.", offsets->described()));
    for (const JsonValue& item : offsets->items())
        if (!item.is_integer() || item.as_integer() < 0)
            return refuse_tensor(file, out.name, fmt::format("an offset is {}, not a position.", item.described()));
    out.begin = offsets->items()[0].as_integer();
    out.end = offsets->items()[1].as_integer();
    if (out.begin > out.end)
        return refuse_tensor(file, out.name, fmt::format("its data begins at {} and ends at {}.", out.begin, out.end));
    if (out.end > data_bytes)
        return refuse_tensor(file, out.name,
                             fmt::format("its data ends at {}, the file's at {}.", out.end, data_bytes));
    return {};
}

Result<SafetensorsEntry> read_entry(const JsonValue::Member& member, const std::string& file, std::int64_t data_bytes) {
    SafetensorsEntry out;
    out.name = member.first;
    if (!member.second.is_object())
        return refuse_tensor(file, out.name,
                             fmt::format("its description is {}, not an object.", member.second.described()));
    const auto size = read_dtype(member.second, file, out);
    if (!size) return size.error();
    const auto bytes = read_shape(member.second, file, *size, out);
    if (!bytes) return bytes.error();
    DS_RETURN_IF_ERROR(read_offsets(member.second, file, data_bytes, out));
    if (out.end - out.begin != *bytes)
        return refuse_tensor(file, out.name,
                             fmt::format("shape {} of {} needs {} bytes, its data has {}.", shape_text(out.shape),
                                         out.dtype, *bytes, out.end - out.begin));
    return out;
}

// Without this two tensors could share bytes, or bytes belong to none.
Status check_layout(std::vector<SafetensorsEntry>& entries, const std::string& file, std::int64_t data_bytes) {
    std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::int64_t next = 0;
    const SafetensorsEntry* before = nullptr;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin < next)
            return refuse_tensor(file, entry.name,
                                 fmt::format("its data overlaps that of \"{}\" (begins at {}, that ends at {}).",
                                             before->name, entry.begin, next));
        if (entry.begin > next)
            return refuse_tensor(file, entry.name, fmt::format("a hole of {} bytes lies before its data at {}.",
                                                               entry.begin - next, entry.begin));
        next = entry.end;
        before = &entry;
    }
    if (next != data_bytes)
        return refuse(file, fmt::format("{} trailing bytes belong to no tensor (data {} bytes, tensors {}).",
                                        data_bytes - next, data_bytes, next));
    return {};
}

Status check_metadata(const JsonValue& metadata, const std::string& file) {
    if (!metadata.is_object()) return refuse(file, "\"__metadata__\" is no object.");
    for (const auto& member : metadata.members())
        if (!member.second.is_string()) return refuse(file, fmt::format("metadata \"{}\" is no text.", member.first));
    return {};
}

// The length of the JSON, known to lie within the file.
Result<std::int64_t> header_length(std::span<const std::byte> file, const std::string& name) {
    if (file.size() < 8) return refuse(name, fmt::format("{} bytes are too few for a safetensors file.", file.size()));
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
        length = length << 8 | std::to_integer<std::uint64_t>(file[static_cast<std::size_t>(i)]);
    const std::uint64_t rest = file.size() - 8;
    if (length > rest)
        return refuse(name, fmt::format("a header of {} bytes in a file of {} bytes.", length, file.size()));
    if (length > static_cast<std::uint64_t>(kSafetensorsHeaderLimit))
        return refuse(name,
                      fmt::format("a header of {} bytes; at most {} are possible.", length, kSafetensorsHeaderLimit));
    if (length < 2) return refuse(name, fmt::format("a header of {} bytes cannot describe tensors.", length));
    return static_cast<std::int64_t>(length);
}

}  // namespace

std::optional<ElementType> element_type_of(std::string_view dtype) {
    if (dtype == "F32") return ElementType::F32;
    if (dtype == "F16") return ElementType::F16;
    if (dtype == "BF16") return ElementType::BF16;
    return std::nullopt;
}

Result<SafetensorsHeader> read_safetensors(std::span<const std::byte> file, const std::string& name) {
    const auto length = header_length(file, name);
    if (!length) return length.error();
    const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(*length));
    if (text[0] != '{') return refuse(name, "the header does not begin with '{'.");
    JsonLimits limits;
    limits.depth = 4;
    limits.values = 1'000'000;
    auto root = parse_json(text, name + ", header", limits);
    if (!root) return root.error();
    SafetensorsHeader out;
    out.data_offset = 8 + *length;
    const std::int64_t data_bytes = static_cast<std::int64_t>(file.size()) - out.data_offset;
    out.entries.reserve(root->members().size());
    for (const auto& member : root->members()) {
        if (member.first == "__metadata__") {
            DS_RETURN_IF_ERROR(check_metadata(member.second, name));
            continue;
        }
        auto entry = read_entry(member, name, data_bytes);
        if (!entry) return entry.error();
        out.entries.push_back(std::move(*entry));
    }
    DS_RETURN_IF_ERROR(check_layout(out.entries, name, data_bytes));
    return out;
}

}  // namespace decodescope
