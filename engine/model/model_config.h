// What a decoder looks like: everything that shapes, formulas and the step program are computed from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/element_type.h"

namespace decodescope {

enum class Family : std::uint8_t {
    Llama,  // RMSNorm, RoPE, grouped-query attention, SwiGLU, no biases
    Gpt2,   // LayerNorm, learned positions, GELU tanh, biases
};
std::string_view family_name(Family family);

struct ModelConfig {
    Family family = Family::Llama;
    std::string name;              // "bundled", "gpt2-small"
    std::int64_t layers = 0;
    std::int64_t hidden = 0;       // D
    std::int64_t heads = 0;        // H, query heads
    std::int64_t kv_heads = 0;     // H_kv, divides heads
    std::int64_t head_dim = 0;     // d; not always hidden / heads
    std::int64_t feed_forward = 0; // F
    std::int64_t vocabulary = 0;   // V, rows of the embedding
    std::int64_t context = 0;      // positions the model can use
    float norm_epsilon = 1e-5f;
    float rope_theta = 10000.0f;
    bool tied_head = true;         // the head is the token embedding
    ElementType file_type = ElementType::F32;  // of the matrices in the file
    // Tokens that end a text, in the order of the file, each once; chat models have several. Empty: the model has none.
    std::vector<std::int32_t> end_tokens;

    // N of the FLOP formulas: parameters of the matrix products of all layers, without embeddings and head.
    std::int64_t layer_matrix_parameters() const;
    // All parameters as counted in the file; a tied head counts once.
    std::int64_t parameters() const;
    // 2 * layers * kv_heads * head_dim elements; K and V bytes given apart.
    std::int64_t kv_bytes_per_token(ElementType k, ElementType v) const;
};

}  // namespace decodescope
