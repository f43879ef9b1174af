// Small models with seeded random weights, made in memory: no file is needed, the shapes show wrong axes (1 < H_kv < H,
// head not tied, at least two layers), and attention is far from uniform.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model/model.h"

namespace decodescope {

// G2: GPT-2, L=2, D=32, H=4, d=8, context 32, vocabulary 300, untied head.
ModelConfig tiny_gpt2_config();
// L3: LLaMA, L=3, D=64, H=8, H_kv=2, d=8, F=128, vocabulary 97, theta 10000, context 128, untied head.
ModelConfig tiny_llama_config();

// Tensors by name before they are given to the model, [out, in] row-major (biases and norms [out]): "embedding",
// "positions", "head", "final_norm", "final_norm_bias", and "N.query", "N.query_bias", "N.key", ... "N.down_bias" for
// layer N.
using TinyTensors = std::map<std::string, std::vector<float>>;

struct TinyOptions {
    std::uint64_t seed = 1;
    std::int32_t eos = -1;                         // -1: the tokenizer has none
    std::int64_t sampled_vocabulary = 0;           // 0: all
    std::function<void(TinyTensors&)> edit;        // changes weights before they are used
};

ModelPtr make_tiny_model(const ModelConfig& config, const TinyOptions& options = {});
ModelPtr make_tiny_llama(const TinyOptions& options = {});
ModelPtr make_tiny_gpt2(const TinyOptions& options = {});

// Deterministic token ids in 0 .. vocabulary - 1.
std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed);

}  // namespace decodescope
