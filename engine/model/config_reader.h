// config.json of a Hugging Face folder -> ModelConfig. Strict: an option that would change the result and is not
// implemented is refused by its name, never ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/model_config.h"
#include "kernels/api/status.h"

namespace decodescope {

struct ConfigFile {
    ModelConfig config;  // file_type is left at its default: the tensors say it
    std::optional<std::int64_t> bos_token_id;
    std::vector<std::int64_t> eos_token_ids;  // one, several where the file gives a list, or none
};

// `file` names the document in messages, `model_name` becomes ModelConfig::name.
Result<ConfigFile> read_config(std::string_view json, const std::string& file, const std::string& model_name);

// The ids of "eos_token_id" in generation_config.json, which names the ends of a turn where config.json does not.
Result<std::vector<std::int64_t>> read_end_ids(std::string_view json, const std::string& file);

// What every config must fulfil, wherever it comes from: positive sizes, heads a multiple of KV heads, an even head
// size where there is RoPE, no size so large that a product overflows.
Status validate(const ModelConfig& config);

}  // namespace decodescope
