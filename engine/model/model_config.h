// What a decoder looks like: everything that shapes, formulas and the step program are computed from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/element_type.h"

namespace decodescope {

// What the members of a family have in common; numbers and options are in ModelConfig. Recordings hold the number.
enum class Family : std::uint8_t {
    Llama,    // RMSNorm, RoPE, grouped-query attention, SwiGLU, no biases
    Gpt2,     // LayerNorm, learned positions, GELU tanh, biases
    Mistral,  // LLaMA with a window
    Qwen2,    // LLaMA with biases of Q, K and V
    Qwen3,    // LLaMA with a norm of each head of Q and K
    GptNeoX,  // LayerNorm, RoPE of a part of each head, exact GELU, biases; both blocks may read the same row
    Gemma3,   // RMSNorm before and after both blocks and of each head of Q and K, GeGLU, scaled embedding
};
constexpr Family kLastFamily = Family::Gemma3;
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
    // Frequency i is divided by rope_divisors[i], [rotary / 2]; empty: by 1. Of layers without a window only.
    std::vector<float> rope_divisors;
    std::int64_t rotary_dim = 0;   // leading dimensions of each head that are rotated; 0: all
    // Positions that a token of a local layer attends to, itself included; 0: there is no such layer.
    std::int64_t window = 0;
    std::vector<bool> local_layers;    // [layers]; empty: with a window all are
    float local_rope_theta = 0.0f;     // of local layers; 0: rope_theta with its divisors
    bool parallel_blocks = false;      // attention and feed-forward read the same row of the stream
    float query_scale = 0.0f;          // scores are multiplied by it; 0: 1 / sqrt(head_dim)
    float embedding_scale = 1.0f;
    bool tied_head = true;         // the head is the token embedding
    ElementType file_type = ElementType::F32;  // of the matrices as they are given to a backend
    std::string stored_as;             // of the matrices in the file where that is another type, "Q4_K"
    std::int64_t kept_bytes = 0;       // of the weights as in the file where that is blocks of codes; 0: by file_type
    bool chat_template = false;        // the files hold one; texts are never put into it
    std::int64_t widened_bytes = 0;    // of tensors that are widened when the model is opened, kept beside the backend's
    // Tokens that end a text, in the order of the file, each once; chat models have several. Empty: the model has none.
    std::vector<std::int32_t> end_tokens;

    bool learned_positions() const { return family == Family::Gpt2; }
    bool layer_norms() const { return family == Family::Gpt2 || family == Family::GptNeoX; }  // with biases; else RMS
    bool linear_biases() const { return layer_norms(); }                                     // of every product
    bool attention_biases() const { return linear_biases() || family == Family::Qwen2; }     // of Q, K and V
    bool head_norms() const { return family == Family::Qwen3 || family == Family::Gemma3; }  // of Q and K
    bool norms_after() const { return family == Family::Gemma3; }                            // of both blocks
    bool gated() const { return !layer_norms(); }  // the feed-forward block has a gate
    bool is_local(std::int64_t layer) const {
        return window > 0 && (local_layers.empty() || local_layers[static_cast<std::size_t>(layer)]);
    }

    // N of the FLOP formulas: parameters of the matrix products of all layers, without embeddings and head.
    std::int64_t layer_matrix_parameters() const;
    // Those of the matrices, the embeddings included; a tied head counts once. The others are norms and biases.
    std::int64_t matrix_parameters() const;
    // All parameters as counted in the file; a tied head counts once.
    std::int64_t parameters() const;
    // Weights with matrices of this type and vectors in f32.
    std::int64_t weight_bytes(ElementType matrices) const;
    // As in the file, on a backend that keeps blocks as codes.
    std::int64_t file_weight_bytes() const { return kept_bytes > 0 ? kept_bytes : weight_bytes(file_type); }
    // 2 * layers * kv_heads * head_dim elements; K and V bytes given apart.
    std::int64_t kv_bytes_per_token(ElementType k, ElementType v) const;
};

}  // namespace decodescope
