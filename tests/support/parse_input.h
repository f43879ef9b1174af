// What the fuzz targets and the replay of their corpus do with some bytes: read them as a file of a format, and follow
// what was read as far as opening a model would, without the weights' arithmetic.
#pragma once

#include <cstddef>
#include <span>

namespace decodescope {

void parse_gguf_input(std::span<const std::byte> bytes);
void parse_config_input(std::span<const std::byte> bytes);  // config.json and generation_config.json
void parse_safetensors_input(std::span<const std::byte> bytes);

}  // namespace decodescope
