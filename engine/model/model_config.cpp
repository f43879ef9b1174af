#include "engine/model/model_config.h"

namespace decodescope {

std::string_view family_name(Family family) {
    switch (family) {
        case Family::Llama: return "LLaMA";
        case Family::Gpt2: return "GPT-2";
    }
    return "?";
}

std::int64_t ModelConfig::layer_matrix_parameters() const {
    const std::int64_t query = hidden * heads * head_dim;
    const std::int64_t key_value = 2 * hidden * kv_heads * head_dim;
    const std::int64_t output = heads * head_dim * hidden;
    const std::int64_t matrices = family == Family::Llama ? 3 : 2;  // gate, up, down; or up, down
    return layers * (query + key_value + output + matrices * hidden * feed_forward);
}

std::int64_t ModelConfig::parameters() const {
    const std::int64_t embedding = vocabulary * hidden;
    const std::int64_t head = tied_head ? 0 : embedding;
    if (family == Family::Llama) return embedding + head + layer_matrix_parameters() + layers * 2 * hidden + hidden;
    // Biases of Q, K, V, output, up and down; two norms of weight and bias.
    const std::int64_t biases = (heads + 2 * kv_heads) * head_dim + hidden + feed_forward + hidden;
    return embedding + head + context * hidden + layer_matrix_parameters() + layers * (biases + 4 * hidden) +
           2 * hidden;
}

std::int64_t ModelConfig::kv_bytes_per_token(ElementType k, ElementType v) const {
    const std::int64_t elements = layers * kv_heads * head_dim;
    return elements * static_cast<std::int64_t>(element_bytes(k) + element_bytes(v));
}

}  // namespace decodescope
