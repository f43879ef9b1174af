// The tensors of a GGUF file as weights: where they lie in the mapped file, but for rows in another order.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/model/gguf.h"
#include "engine/model/model_config.h"
#include "engine/model/tensor_set.h"
#include "engine/support/file.h"
#include "kernels/api/backend.h"

namespace decodescope {

struct GgufWeights {
    TensorSet set;
    std::int64_t widened_bytes = 0;  // memory of what is not used where it lies
    std::int64_t kept_bytes = 0;     // that a backend which keeps blocks as codes needs for all of them
    std::string stored_as;           // type of most matrix elements
};

enum class GgufMemory { Widen, CountOnly };

// In the rows' order of safetensors files: LLaMA's rotated pairs, which lie side by side in a GGUF file, are put a half
// head apart again, rows of Q by heads and rows of K by KV heads. CountOnly makes shapes and byte counts and leaves the
// tensors that would be widened without data. Memory error, before anything is allocated, when more is needed than
// `available_bytes` (0: unknown). Cancelled when stopped.
Result<GgufWeights> gguf_weights(const GgufHeader& header, std::shared_ptr<const FileMap> file,
                                 const ModelConfig& config, GgufMemory memory, std::int64_t available_bytes,
                                 const ProgressFn& progress, std::stop_token stop);

}  // namespace decodescope
