// The metadata of a GGUF file -> ModelConfig and vocabulary. Strict: a key of the architecture that would change the
// result and that this program does not know is refused by its name, never ignored.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/model/gguf.h"
#include "engine/model/model_config.h"
#include "engine/text/embedded_vocabulary.h"
#include "kernels/api/status.h"

namespace decodescope {

// `file` are the bytes of the whole file, `path` names it in messages, `model_name` becomes ModelConfig::name. Sizes
// that only tensors tell (the vocabulary, whether there is a head, factors of the rotations) are taken from them.
Result<ModelConfig> read_gguf_config(const GgufHeader& header, std::span<const std::byte> file, const std::string& path,
                                     const std::string& model_name);

// tokenizer.ggml.*, arrays of the right types; what they mean is for make_embedded_tokenizer to judge.
Result<EmbeddedVocabulary> read_gguf_vocabulary(const GgufHeader& header, const std::string& path);

// The name that a tensor of this family has in a GGUF file, from its name in a safetensors file; as it is when there is
// none.
std::string gguf_tensor_name(Family family, const std::string& name);

}  // namespace decodescope
