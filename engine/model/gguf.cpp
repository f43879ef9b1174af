#include "engine/model/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "engine/model/tensor_set.h"
#include "engine/support/numbers.h"

namespace decodescope {
namespace {

enum ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

constexpr std::int64_t kMostKeys = 100'000, kMostTensors = 100'000, kMostTexts = 4'000'000;
constexpr std::int64_t kLongestKey = 65'535, kLongestName = 1'024, kLargestAlignment = 65'536;
constexpr std::int64_t kLeastKeyBytes = 13, kLeastTensorBytes = 32, kLeastTextBytes = 8;

// Bytes of a value of fixed width; 0 for the others.
std::int64_t width_of(std::uint32_t type) {
    switch (type) {
        case U8:
        case I8:
        case Bool: return 1;
        case U16:
        case I16: return 2;
        case U32:
        case I32:
        case F32: return 4;
        case U64:
        case I64:
        case F64: return 8;
        default: return 0;
    }
}

template <class T>
T number_at(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text.substr(0, 200)); }

// Reads forward; the first problem is kept and everything after it gives zeros.
class Cursor {
public:
    Cursor(std::span<const std::byte> file, std::string name) : file_(file), name_(std::move(name)) {}

    const Status& status() const { return status_; }
    std::int64_t left() const { return static_cast<std::int64_t>(file_.size() - at_); }
    std::int64_t at() const { return static_cast<std::int64_t>(at_); }

    void fail(const std::string& message, ErrorKind kind = ErrorKind::Model) {
        if (!status_.ok()) return;
        status_ = make_error(kind, fmt::format("{}: {}", name_, message),
                             kind == ErrorKind::Model ? "The file is damaged or incomplete; get it again."
                                                      : "Convert the model to a form that is supported.");
    }

    template <class T>
    T number() {
        const std::byte* from = take(sizeof(T));
        return from == nullptr ? T{} : number_at<T>(from);
    }

    // A count or length that the rest of the file could hold when each takes `least_bytes`.
    std::int64_t count(const char* what, std::int64_t least_bytes, std::int64_t most) {
        const auto value = number<std::uint64_t>();
        if (!status_.ok()) return 0;
        const std::int64_t fit = std::min(left() / least_bytes, most);
        if (value <= static_cast<std::uint64_t>(fit)) return static_cast<std::int64_t>(value);
        fail(fmt::format("the {} is {}; {} bytes follow{}.", what, value, left(),
                         most < left() / least_bytes ? fmt::format(" and at most {} are read", most) : ""));
        return 0;
    }

    std::string_view text(const char* what, std::int64_t longest) {
        const std::int64_t length = count(what, 1, longest);
        const std::byte* from = take(static_cast<std::size_t>(length));
        return from == nullptr
                   ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(from), static_cast<std::size_t>(length));
    }

    std::span<const std::byte> bytes(std::int64_t count) {
        const std::byte* from = take(static_cast<std::size_t>(count));
        return from == nullptr ? std::span<const std::byte>() : std::span(from, static_cast<std::size_t>(count));
    }

private:
    const std::byte* take(std::size_t bytes) {
        if (!status_.ok()) return nullptr;
        if (bytes > file_.size() - at_) {
            fail(fmt::format("it ends at byte {}, where {} more are needed.", file_.size(), bytes));
            return nullptr;
        }
        const std::byte* from = file_.data() + at_;
        at_ += bytes;
        return from;
    }

    std::span<const std::byte> file_;
    std::string name_;
    std::size_t at_ = 0;
    Status status_;
};

class Reader {
public:
    Reader(std::span<const std::byte> file, const std::string& name) : in_(file, name) {}

    Result<GgufHeader> run() {
        read_start();
        for (std::int64_t i = 0; i < keys_ && in_.status().ok(); ++i) read_key();
        if (in_.status().ok()) read_alignment();
        for (std::int64_t i = 0; i < tensors_ && in_.status().ok(); ++i) read_tensor();
        if (in_.status().ok()) place_data();
        if (!in_.status().ok()) return in_.status().error();
        return std::move(out_);
    }

private:
    void read_start() {
        const auto magic = in_.bytes(4);
        if (magic.empty() || std::memcmp(magic.data(), "GGUF", 4) != 0) return in_.fail("it is no GGUF file.");
        out_.version = in_.number<std::uint32_t>();
        if (!in_.status().ok()) return;
        if (out_.version != 0 && (out_.version & 0xFFFF) == 0)
            return in_.fail("its numbers are big-endian.", ErrorKind::Unsupported);
        if (out_.version != 2 && out_.version != 3)
            return in_.fail(fmt::format("it has version {}; 2 and 3 are read.", out_.version), ErrorKind::Unsupported);
        tensors_ = in_.count("number of tensors", kLeastTensorBytes, kMostTensors);
        keys_ = in_.count("number of metadata keys", kLeastKeyBytes, kMostKeys);
    }

    void read_key() {
        const std::string_view key = in_.text("length of a key", kLongestKey);
        const auto type = in_.number<std::uint32_t>();
        GgufValue value = read_value(key, type);
        if (!in_.status().ok()) return;
        if (!out_.metadata.emplace(key, std::move(value)).second)
            in_.fail(fmt::format("the key {} is there twice (duplicate).", quoted(key)));
    }

    GgufValue read_value(std::string_view key, std::uint32_t type) {
        switch (type) {
            case U8: return {std::int64_t{in_.number<std::uint8_t>()}};
            case I8: return {std::int64_t{in_.number<std::int8_t>()}};
            case U16: return {std::int64_t{in_.number<std::uint16_t>()}};
            case I16: return {std::int64_t{in_.number<std::int16_t>()}};
            case U32: return {std::int64_t{in_.number<std::uint32_t>()}};
            case I32: return {std::int64_t{in_.number<std::int32_t>()}};
            case I64: return {in_.number<std::int64_t>()};
            case F32: return {double{in_.number<float>()}};
            case F64: return {in_.number<double>()};
            case String: return {in_.text("length of a text", std::numeric_limits<std::int64_t>::max())};
            case Bool: return {read_boolean(key)};
            case Array: return read_array(key);
            case U64: {
                const auto value = in_.number<std::uint64_t>();
                if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                    return {static_cast<std::int64_t>(value)};
                return {static_cast<double>(value)};
            }
            default: in_.fail(fmt::format("the key {} has the unknown value type {}.", quoted(key), type)); return {};
        }
    }

    bool read_boolean(std::string_view key) {
        const auto value = in_.number<std::uint8_t>();
        if (value > 1) in_.fail(fmt::format("the key {} is neither true nor false but {}.", quoted(key), value));
        return value == 1;
    }

    GgufValue read_array(std::string_view key) {
        const auto element = in_.number<std::uint32_t>();
        if (!in_.status().ok()) return {};
        if (element == String) {
            const std::int64_t count = in_.count("number of texts of an array", kLeastTextBytes, kMostTexts);
            std::vector<std::string_view> texts;
            for (std::int64_t i = 0; i < count && in_.status().ok(); ++i)
                texts.push_back(in_.text("length of a text", std::numeric_limits<std::int64_t>::max()));
            return {std::move(texts)};
        }
        const std::int64_t width = width_of(element);
        if (width == 0) {
            in_.fail(fmt::format("the key {} is an array of elements of the type {}{}.", quoted(key), element,
                                 element == Array ? ", an array itself" : ", which is unknown"));
            return {};
        }
        const std::int64_t count = in_.count("length of an array", width, std::numeric_limits<std::int64_t>::max());
        return {GgufNumbers{element, count, in_.bytes(count * width)}};
    }

    void read_alignment() {
        const auto found = out_.metadata.find("general.alignment");
        if (found == out_.metadata.end()) return;
        const auto* value = std::get_if<std::int64_t>(&found->second.value);
        const bool fits = value != nullptr && *value >= 1 && *value <= kLargestAlignment &&
                          std::has_single_bit(static_cast<std::uint64_t>(*value));
        if (!fits)
            return in_.fail(fmt::format("general.alignment is {}; a power of two up to {} is possible.",
                                        found->second.described(), kLargestAlignment));
        out_.alignment = *value;
    }

    void read_tensor() {
        GgufTensor tensor;
        tensor.name = in_.text("length of a tensor's name", kLongestName);
        const auto dimensions = in_.number<std::uint32_t>();
        if (!in_.status().ok()) return;
        if (dimensions < 1 || dimensions > 4)
            return in_.fail(
                fmt::format("the tensor {} has {} dimensions; 1 to 4 are possible.", quoted(tensor.name), dimensions));
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            const auto size = in_.number<std::uint64_t>();
            if (size == 0 || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                return in_.fail(fmt::format("the tensor {} has the dimension {}.", quoted(tensor.name), size));
            tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
        }
        const auto type = in_.number<std::uint32_t>();
        const auto offset = in_.number<std::uint64_t>();
        if (!in_.status().ok()) return;
        tensor.type = find_gguf_type(type);
        if (tensor.type == nullptr)
            return in_.fail(fmt::format("the tensor {} has the unknown type {}.", quoted(tensor.name), type),
                            ErrorKind::Unsupported);
        if (!tensor.type->is_supported())
            return in_.fail(fmt::format("the tensor {} is stored as {}, which is not supported.", quoted(tensor.name),
                                        tensor.type->name),
                            ErrorKind::Unsupported);
        size_tensor(tensor, offset);
    }

    void size_tensor(GgufTensor& tensor, std::uint64_t offset) {
        const std::int64_t row = tensor.shape.back();
        if (row % tensor.type->elements != 0)
            return in_.fail(fmt::format("the tensor {} has rows of {} elements, no whole number of blocks of {} ({}).",
                                        quoted(tensor.name), row, tensor.type->elements, tensor.type->name));
        std::int64_t bytes = 0;
        bool wraps = __builtin_mul_overflow(row / tensor.type->elements, tensor.type->bytes, &bytes);
        for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
            wraps = wraps || __builtin_mul_overflow(bytes, tensor.shape[i], &bytes);
        if (wraps)
            return in_.fail(fmt::format("the tensor {} has the shape {}, larger than any memory.", quoted(tensor.name),
                                        shape_text(tensor.shape)));
        if (offset % static_cast<std::uint64_t>(out_.alignment) != 0)
            return in_.fail(fmt::format("the tensor {} begins at {}, which is no multiple of the alignment {}.",
                                        quoted(tensor.name), offset, out_.alignment));
        if (offset > static_cast<std::uint64_t>(in_.at() + in_.left()))
            return in_.fail(
                fmt::format("the tensor {} begins at {}, beyond the end of the file.", quoted(tensor.name), offset));
        tensor.begin = static_cast<std::int64_t>(offset);
        tensor.bytes = bytes;
        out_.tensors.push_back(std::move(tensor));
    }

    std::int64_t aligned(std::int64_t offset) const {
        return (offset + out_.alignment - 1) / out_.alignment * out_.alignment;
    }

    // Each tensor begins where the one before it ends, after padding.
    void place_data() {
        out_.data_offset = aligned(in_.at());
        const std::int64_t size = in_.at() + in_.left() - out_.data_offset;  // negative: the padding is cut off
        std::vector<std::string_view> names;
        for (const GgufTensor& tensor : out_.tensors) names.push_back(tensor.name);
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        if (twice != names.end())
            return in_.fail(fmt::format("the tensor {} is there twice (duplicate).", quoted(*twice)));
        std::stable_sort(out_.tensors.begin(), out_.tensors.end(),
                         [](const GgufTensor& a, const GgufTensor& b) { return a.begin < b.begin; });
        std::int64_t end = 0;
        for (const GgufTensor& tensor : out_.tensors) {
            if (tensor.begin != aligned(end))
                return in_.fail(fmt::format("the tensor {} begins at {}; the data before it end at {} ({}).",
                                            quoted(tensor.name), tensor.begin, end,
                                            tensor.begin < aligned(end) ? "overlap" : "hole"));
            if (tensor.bytes > size - tensor.begin)
                return in_.fail(fmt::format("the tensor {} needs {} bytes from {} on, and the data end at {}.",
                                            quoted(tensor.name), tensor.bytes, tensor.begin, size));
            end = tensor.begin + tensor.bytes;
        }
        if (!out_.tensors.empty() && size >= aligned(end) + out_.alignment)
            in_.fail(fmt::format("{} bytes follow the last tensor.", size - end));
    }

    Cursor in_;
    std::int64_t tensors_ = 0, keys_ = 0;
    GgufHeader out_;
};

}  // namespace

std::string GgufValue::described() const {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
    if (const auto* real = std::get_if<double>(&value)) return format_number(*real);
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
    if (const auto* text = std::get_if<std::string_view>(&value)) return quoted(*text);
    if (const auto* numbers = std::get_if<GgufNumbers>(&value)) return fmt::format("an array of {}", numbers->count);
    return fmt::format("an array of {} texts", std::get<std::vector<std::string_view>>(value).size());
}

Result<GgufHeader> read_gguf(std::span<const std::byte> file, const std::string& name) {
    return Reader(file, name).run();
}

double gguf_number(const GgufNumbers& numbers, std::int64_t index) {
    const std::int64_t width = width_of(numbers.type);
    if (width == 0 || index < 0 || index >= numbers.count) return 0;
    const std::byte* at = numbers.bytes.data() + index * width;
    switch (numbers.type) {
        case U8:
        case Bool: return number_at<std::uint8_t>(at);
        case I8: return number_at<std::int8_t>(at);
        case U16: return number_at<std::uint16_t>(at);
        case I16: return number_at<std::int16_t>(at);
        case U32: return number_at<std::uint32_t>(at);
        case I32: return number_at<std::int32_t>(at);
        case F32: return static_cast<double>(number_at<float>(at));
        case U64: return static_cast<double>(number_at<std::uint64_t>(at));
        case I64: return static_cast<double>(number_at<std::int64_t>(at));
        default: return number_at<double>(at);
    }
}

}  // namespace decodescope
