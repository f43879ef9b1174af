// Tensors of Hugging Face files whose layout is not that of the operations: rewritten when a model is opened.
#pragma once

#include "engine/model/model_config.h"
#include "engine/model/tensor_set.h"

namespace decodescope {

// GPT-NeoX: rows of the fused Q, K and V lie head by head ([heads, 3, head_dim]) and become all of Q, all of K, all of
// V. Gemma 3: norms multiply by 1 + weight; the 1 is added. Tensors of other shapes than the config asks for are left
// to be refused by bind_weights.
void prepare_tensors(const ModelConfig& config, TensorSet& set);

}  // namespace decodescope
