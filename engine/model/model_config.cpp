#include "engine/model/model_config.h"

namespace decodescope {

std::string_view family_name(Family family) {
    switch (family) {
        case Family::Llama: return "LLaMA";
        case Family::Gpt2: return "GPT-2";
        case Family::Mistral: return "Mistral";
        case Family::Qwen2: return "Qwen2";
        case Family::Qwen3: return "Qwen3";
        case Family::GptNeoX: return "GPT-NeoX";
        case Family::Gemma3: return "Gemma 3";
    }
    return "?";
}

std::int64_t ModelConfig::layer_matrix_parameters() const {
    const std::int64_t query = hidden * heads * head_dim;
    const std::int64_t key_value = 2 * hidden * kv_heads * head_dim;
    const std::int64_t output = heads * head_dim * hidden;
    const std::int64_t matrices = gated() ? 3 : 2;  // gate, up, down; or up, down
    return layers * (query + key_value + output + matrices * hidden * feed_forward);
}

std::int64_t ModelConfig::matrix_parameters() const {
    const std::int64_t embedding = vocabulary * hidden;
    const std::int64_t head = tied_head ? 0 : embedding;
    return embedding + head + (learned_positions() ? context * hidden : 0) + layer_matrix_parameters();
}

std::int64_t ModelConfig::parameters() const {
    const std::int64_t norm = (layer_norms() ? 2 : 1) * hidden;  // weight and bias, or weight
    std::int64_t vectors = (norms_after() ? 4 : 2) * norm;       // of a layer
    if (head_norms()) vectors += 2 * head_dim;
    if (attention_biases()) vectors += (heads + 2 * kv_heads) * head_dim;
    if (linear_biases()) vectors += hidden + feed_forward + hidden;  // output, up, down
    return matrix_parameters() + layers * vectors + norm;
}

std::int64_t ModelConfig::weight_bytes(ElementType matrices) const {
    const std::int64_t in_matrices = matrix_parameters();
    return in_matrices * static_cast<std::int64_t>(element_bytes(matrices)) + (parameters() - in_matrices) * 4;
}

std::int64_t ModelConfig::kv_bytes_per_token(ElementType k, ElementType v) const {
    const std::int64_t elements = layers * kv_heads * head_dim;
    return elements * static_cast<std::int64_t>(element_bytes(k) + element_bytes(v));
}

}  // namespace decodescope
