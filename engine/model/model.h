// A model ready to be given to a backend: description, weights (mapped where they lie as the operations need them), tokenizer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/text/tokenizer.h"
#include "kernels/api/backend.h"
#include "kernels/api/status.h"

namespace decodescope {

// Indices into WeightTable::tensors; kNone where the family has none. GPT-2's fused c_attn appears as three tensors.
struct LayerWeights {
    int attention_norm = kNone, attention_norm_bias = kNone;
    int query = kNone, query_bias = kNone, key = kNone, key_bias = kNone, value = kNone, value_bias = kNone;
    int query_norm = kNone, key_norm = kNone;  // of each head
    int output = kNone, output_bias = kNone;
    int attention_post_norm = kNone, feed_forward_post_norm = kNone;  // of what the block adds to the stream
    int feed_forward_norm = kNone, feed_forward_norm_bias = kNone;
    int gate = kNone, up = kNone, up_bias = kNone, down = kNone, down_bias = kNone;
};

struct ModelWeights {
    int token_embedding = kNone, position_embedding = kNone;
    int final_norm = kNone, final_norm_bias = kNone;
    int head = kNone;  // equals token_embedding when tied
    std::vector<LayerWeights> layers;
};

// What the model card says of one attention head; empty for models without a card.
struct HeadRole {
    int layer = 0, head = 0;
    std::string role;  // "previous", "induction", "first", "none"
    double previous = 0, induction = 0, first = 0;  // average attention weight, 0..1
};

struct PromptPreset {
    std::string id, language, title, text, what;  // language "en" or "zh_CN"; what: one sentence on what to watch
};

struct Model {
    std::string source;       // the MODEL argument: "bundled", "synthetic:gpt2-small", a path
    ModelConfig config;
    WeightTable weights;
    ModelWeights index;
    std::shared_ptr<const Tokenizer> tokenizer;  // never null
    bool meaningless_text = false;               // synthetic weights
    std::string identity;  // xxh64 of config and weights' header and bytes sampled, for recordings
    std::vector<HeadRole> head_roles;
    std::vector<PromptPreset> presets;
    // Highest id that may be sampled + 1; smaller than the vocabulary when the embedding is padded.
    std::int64_t sampled_vocabulary = 0;
};

// The logits [vocabulary] of the ids that may be sampled; all of them where `sampled_vocabulary` is 0. Rows that only
// pad the embedding are numbers like any other: whatever picks or compares tokens looks at this part.
inline std::span<const float> sampled_part(std::span<const float> logits, std::int64_t sampled_vocabulary) {
    const auto limit = static_cast<std::size_t>(sampled_vocabulary);
    return limit > 0 ? logits.first(std::min(limit, logits.size())) : logits;
}

using ModelPtr = std::shared_ptr<const Model>;

struct ModelInfo {  // what `info` and the list of models show before loading
    std::string spec, title, description;
};

struct OpenOptions {
    std::string resource_folder;            // where "bundled" lies; empty = search (see find_resources)
    std::int64_t available_memory_bytes = 0;  // 0 = ask the system; what would need more is refused
};

// MODEL: "bundled", "synthetic:NAME[,context=N]", a folder, a GGUF file. Errors name the file, the tensor and both values.
Result<ModelPtr> open_model(const std::string& spec, const OpenOptions& options, const ProgressFn& progress,
                            std::stop_token stop);
// The configuration alone: no weights are generated, copied, widened or checked against memory (`info`, the dialog
// before loading).
Result<ModelConfig> describe_model(const std::string& spec, const OpenOptions& options);
// The built-in specs: bundled and every synthetic one.
std::vector<ModelInfo> known_models();
// The folder of resources: DECODESCOPE_RESOURCES, beside the executable, ../share/decodescope, the source tree. Empty
// when not found.
std::string find_resources();

// Emits the forward pass of a model whose matrices lie in memory as `matrix_type`.
StepProgram emit_program(const Model& model, ElementType matrix_type);
// Sets the bytes that each product and look-up reads to those of the types in which a backend keeps the matrices.
void price_program(StepProgram& program, const WeightSet& weights);
// Element type that matrices get for `--weights`.
ElementType resolve_weight_type(const ModelConfig& config, WeightType type);

}  // namespace decodescope
