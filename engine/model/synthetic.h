// Models of real shapes with seeded random weights, for timing without files. Their text means nothing.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/model.h"
#include "engine/model/tensor_set.h"

namespace decodescope {

// What follows "synthetic:" in MODEL -> the config: "gpt2-small", "tinyllama-1.1b,context=512". Argument errors name
// the known models and options.
Result<ModelConfig> synthetic_config(std::string_view spec);
std::vector<ModelInfo> synthetic_models();

// Bytes of the weights as generated (f16).
std::int64_t synthetic_weight_bytes(const ModelConfig& config);

// All tensors of a checkpoint of this config, f16. A value depends on the tensor's number and the element's index only,
// so neither threads nor the platform change it. Cancelled when stopped.
Result<TensorSet> synthetic_weights(const ModelConfig& config, const ProgressFn& progress, std::stop_token stop);

}  // namespace decodescope
