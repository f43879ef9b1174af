// Which tensor of the file is which weight of the model. One list per family serves both the binding of a real file and
// the making of synthetic weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "engine/model/model_config.h"
#include "engine/model/tensor_set.h"
#include "kernels/api/status.h"

namespace decodescope {

struct BoundWeights {
    WeightTable table;
    ModelWeights index;
    ElementType file_type = ElementType::F32;  // of most matrix elements
};

// Takes the names with and without the prefix ("model.", "transformer."). Refused: a missing tensor, a shape other than
// the config says (with both), a type that is no float, a tensor that this architecture does not have. Buffers of old
// checkpoints (attn.bias, attn.masked_bias, rotary_emb.inv_freq) are ignored.
//
// Limit: rows of query and key are taken in the order of Hugging Face, where rotation turns the pairs (i, i + d/2) of a
// head. Meta's own order (pairs 2i, 2i + 1) has the same shapes: under Meta's names it is refused, but weights in that
// order under Hugging Face names cannot be told apart and give wrong text. Convert them first, Q with H and K with H_kv
// heads.
Result<BoundWeights> bind_weights(const ModelConfig& config, const TensorSet& set);

// One tensor as a checkpoint of this config has it.
struct ExpectedTensor {
    std::string name;                 // with prefix
    std::vector<std::int64_t> shape;  // as in the file: Conv1D [in, out], the others [out, in]
    std::int64_t inputs = 1;          // terms of one dot product; 1 for vectors and embeddings
};
std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config);

}  // namespace decodescope
