// Models without weights, for figures that come from shapes alone.
#pragma once

#include "engine/model/model.h"

namespace decodescope {

inline StepProgram program_of(const ModelConfig& config, ElementType type = ElementType::F32) {
    Model model;
    model.config = config;
    LayerWeights layer;
    if (config.family == Family::Gpt2) {
        layer.attention_norm_bias = layer.query_bias = layer.key_bias = layer.value_bias = layer.output_bias = 0;
        layer.feed_forward_norm_bias = layer.up_bias = layer.down_bias = 0;
        model.index.final_norm_bias = 0;
    }
    model.index.layers.assign(static_cast<std::size_t>(config.layers), layer);
    return emit_program(model, type);
}

inline ModelConfig gpt2_124m() {
    ModelConfig config;
    config.family = Family::Gpt2;
    config.name = "gpt2-124m";
    config.layers = 12;
    config.hidden = 768;
    config.heads = config.kv_heads = 12;
    config.head_dim = 64;
    config.feed_forward = 3072;
    config.vocabulary = 50257;
    config.context = 1024;
    return config;
}

inline ModelConfig llama_shape(std::int64_t layers, std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
    ModelConfig config;
    config.layers = layers;
    config.heads = heads;
    config.kv_heads = kv_heads;
    config.head_dim = head_dim;
    config.hidden = heads * head_dim;
    return config;
}

}  // namespace decodescope
