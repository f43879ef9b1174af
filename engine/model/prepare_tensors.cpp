#include "engine/model/prepare_tensors.h"

#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/model/safetensors.h"
#include "engine/support/numbers.h"
#include "kernels/api/half.h"

namespace decodescope {
namespace {

struct Rewritten {
    std::shared_ptr<const void> files;
    std::vector<std::unique_ptr<std::byte[]>> copies;
};

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

float element(const Tensor& tensor, ElementType type, std::int64_t index) {
    const auto* at =
        static_cast<const std::byte*>(tensor.data) + index * static_cast<std::int64_t>(element_bytes(type));
    if (type == ElementType::F32) {
        float value;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return type == ElementType::F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

// 1 + weight, in f32.
void add_one(Tensor& tensor, Rewritten& owner) {
    const auto type = element_type_of(tensor.dtype);
    if (!type || tensor.shape.size() != 1) return;
    const std::int64_t count = tensor.shape[0];
    auto copy = std::make_unique<std::byte[]>(static_cast<std::size_t>(count) * sizeof(float));
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = 1.0f + element(tensor, *type, i);
        std::memcpy(copy.get() + i * 4, &value, sizeof value);
    }
    tensor = {"F32", tensor.shape, copy.get(), count * 4};
    owner.copies.push_back(std::move(copy));
}

bool is_fused(std::string_view name) {
    return ends_with(name, "query_key_value.weight") || ends_with(name, "query_key_value.bias");
}

bool parts_heads(const Tensor& tensor, const ModelConfig& config) {
    const std::int64_t rows = 3 * config.heads * config.head_dim;
    return !tensor.shape.empty() && tensor.shape[0] == rows && rows > 0;
}

void part_heads(Tensor& tensor, const ModelConfig& config, Rewritten& owner) {
    const std::int64_t d = config.head_dim, rows = 3 * config.heads * d;
    const std::int64_t row_bytes = tensor.bytes / rows;
    std::unique_ptr<std::byte[]> copy(new std::byte[static_cast<std::size_t>(tensor.bytes)]);  // not filled first
    const auto* from = static_cast<const std::byte*>(tensor.data);
    for (std::int64_t head = 0; head < config.heads; ++head)
        for (std::int64_t part = 0; part < 3; ++part)
            std::memcpy(copy.get() + (part * config.heads + head) * d * row_bytes,
                        from + (head * 3 + part) * d * row_bytes, static_cast<std::size_t>(d * row_bytes));
    tensor.data = copy.get();
    owner.copies.push_back(std::move(copy));
}

}  // namespace

Result<std::int64_t> prepare_tensors(const ModelConfig& config, TensorSet& set, const PrepareOptions& options) {
    const bool neox = config.family == Family::GptNeoX, gemma = config.family == Family::Gemma3;
    std::int64_t copied = 0;
    for (const auto& [name, tensor] : set.tensors)
        if (neox && is_fused(name) && parts_heads(tensor, config)) copied += tensor.bytes;
    if ((!neox && !gemma) || options.count_only) return copied;
    if (options.available_bytes > 0 && copied > options.available_bytes)
        return make_error(ErrorKind::Memory,
                          fmt::format("The model needs {} ({} bytes) for its products of Q, K and V in the order of "
                                      "heads; {} are available.",
                                      format_bytes(copied), copied, format_bytes(options.available_bytes)),
                          "Close other programs or take a smaller model.");
    auto owner = std::make_shared<Rewritten>();
    owner->files = set.owner;
    for (auto& [name, tensor] : set.tensors) {
        if (gemma && ends_with(name, "norm.weight")) add_one(tensor, *owner);
        if (!neox || !is_fused(name) || !parts_heads(tensor, config)) continue;
        if (options.stop.stop_requested()) return make_error(ErrorKind::Cancelled, "Opening the model was cancelled.");
        part_heads(tensor, config, *owner);
    }
    set.owner = owner;
    return copied;
}

}  // namespace decodescope
