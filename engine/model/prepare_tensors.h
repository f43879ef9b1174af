// Tensors of Hugging Face files whose layout is not that of the operations: rewritten when a model is opened.
#pragma once

#include <cstdint>
#include <stop_token>

#include "engine/model/model_config.h"
#include "engine/model/tensor_set.h"
#include "kernels/api/status.h"

namespace decodescope {

// GPT-NeoX: rows of the fused Q, K and V lie head by head ([heads, 3, head_dim]) and become all of Q, all of K, all of
// V. Gemma 3: norms multiply by 1 + weight; the 1 is added. Tensors of other shapes than the config asks for are left
// to be refused by bind_weights. Gives the bytes of matrices that are kept once more; Memory error with both numbers
// when there are not as many.
struct PrepareOptions {
    bool count_only = false;           // nothing is rewritten: only the config of such a model may be used
    std::int64_t available_bytes = 0;  // 0: not known
    std::stop_token stop = {};
};
Result<std::int64_t> prepare_tensors(const ModelConfig& config, TensorSet& set, const PrepareOptions& options);

}  // namespace decodescope
