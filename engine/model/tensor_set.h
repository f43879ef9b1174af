// Named tensors as they lie in memory, wherever they come from (safetensors files, synthetic weights), and the reader
// that fills one from a model folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/api/element_type.h"
#include "kernels/api/status.h"

namespace decodescope {

struct Tensor {
    std::string dtype;                // as in the file: "F16"
    std::vector<std::int64_t> shape;  // as in the file
    const void* data = nullptr;       // rows after rows; may be unaligned for its type
    std::int64_t bytes = 0;
};

struct TensorSet {
    std::map<std::string, Tensor, std::less<>> tensors;
    std::shared_ptr<const void> owner;  // keeps `data` alive
    std::string fingerprint;            // of names, shapes and (beyond 64 MiB sampled) bytes
};

// "[3, 4]"
std::string shape_text(const std::vector<std::int64_t>& shape);

// Opens model.safetensors, or the shards that model.safetensors.index.json names, in `folder`. Files are mapped, not
// read. Shards must lie in the folder itself, also after following links.
Result<TensorSet> open_weights(const std::string& folder);

}  // namespace decodescope
