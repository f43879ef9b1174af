// Named tensors as they lie in memory, wherever they come from (safetensors files, synthetic weights), and the reader
// that fills one from a model folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/support/hash.h"
#include "kernels/api/block_format.h"
#include "kernels/api/status.h"

namespace decodescope {

struct Tensor {
    std::string dtype;                // as in the file: "F16"
    std::vector<std::int64_t> shape;  // as in the file
    const void* data = nullptr;       // rows after rows; may be unaligned for its type
    std::int64_t bytes = 0;
    bool by_columns = false;          // of a matrix: columns after columns
    const BlockFormat* blocks = nullptr;  // not null: stored in blocks, which mean numbers of `dtype` F32
};

struct TensorSet {
    std::map<std::string, Tensor, std::less<>> tensors;
    std::shared_ptr<const void> owner;  // keeps `data` alive
    std::string fingerprint;            // of names, shapes and (beyond 64 MiB sampled) bytes
    // From the name that a safetensors file would have to the name here; null: they are the same, with or without prefix.
    std::function<std::string(const std::string&)> name_here;
};

// Adds a file to a fingerprint: all of a small one; of one beyond 64 MiB what lies before the data, and 256 samples.
void add_file(Hasher& hasher, std::span<const std::byte> bytes, std::int64_t data_offset);

// "[3, 4]"
std::string shape_text(const std::vector<std::int64_t>& shape);

// Opens model.safetensors, or the shards that model.safetensors.index.json names, in `folder`. Files are mapped, not
// read. Shards must lie in the folder itself, also after following links.
Result<TensorSet> open_weights(const std::string& folder);

}  // namespace decodescope
