#include "tests/support/parse_input.h"

#include <string_view>
#include <vector>

#include "engine/model/config_reader.h"
#include "engine/model/gguf.h"
#include "engine/model/gguf_config.h"
#include "engine/model/safetensors.h"

namespace decodescope {

void parse_gguf_input(std::span<const std::byte> bytes) {
    const auto header = read_gguf(bytes, "input.gguf");
    if (!header.ok()) return;
    (void)read_gguf_config(*header, bytes, "input.gguf", "input");
    (void)read_gguf_vocabulary(*header, "input.gguf");
    for (const GgufTensor& tensor : header->tensors) {  // the last block of each: its end is the tensor's
        std::vector<float> out(static_cast<std::size_t>(tensor.type->elements));
        const std::int64_t last = header->data_offset + tensor.begin + tensor.bytes - tensor.type->bytes;
        tensor.type->widen(bytes.data() + last, out.data());
    }
}

void parse_config_input(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    (void)read_end_ids(text, "generation_config.json");
    const auto file = read_config(text, "config.json", "input");
    if (!file.ok()) return;
    (void)file->config.parameters();
    (void)file->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
}

void parse_safetensors_input(std::span<const std::byte> bytes) {
    const auto header = read_safetensors(bytes, "input.safetensors");
    if (!header.ok()) return;
    unsigned sum = 0;
    for (const SafetensorsEntry& entry : header->entries)
        if (entry.end > entry.begin) sum += std::to_integer<unsigned>(bytes[static_cast<std::size_t>(header->data_offset + entry.end - 1)]);
    static_cast<void>(sum);
}

}  // namespace decodescope
