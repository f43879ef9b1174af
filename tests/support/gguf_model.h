// A model as a GGUF file, from the tensors of its safetensors file.
#pragma once

#include <string>
#include <vector>

#include "tests/support/gguf_file.h"

namespace decodescope {

// Matrices (not embeddings' positions, norms or biases) in `type`, the rest in F32, in the names and orders of GGUF
// files: rotated pairs of LLaMA side by side, Conv1D matrices turned, GPT-NeoX's heads parted, 1 added to Gemma's
// norms. All tensors must be F32.
GgufFile gguf_of(const ModelConfig& config, const std::vector<FileTensor>& tensors, const std::string& type = "F32");

// The values of an F32 tensor, and bytes of values.
std::vector<float> floats_of(const std::string& bytes);
std::string bytes_of_floats(const std::vector<float>& values);

// Seeded values for every tensor that a safetensors file of this config has.
std::vector<FileTensor> random_tensors(const ModelConfig& config, std::uint64_t seed);

}  // namespace decodescope
