// Layers of one model that attend differently: those that see every token, and those whose own attention is a window
// and whose cache therefore keeps no more than that.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/model_config.h"

namespace decodescope {

struct LayerKind {
    std::int64_t layers = 0;  // how many
    std::int64_t window = 0;  // tokens that a token attends to, itself included; 0: all
    bool local() const { return window > 0; }
    // Rows that a layer needs of a sequence: min(T, W).
    std::int64_t rows(std::int64_t tokens) const { return local() && window < tokens ? window : tokens; }
    bool operator==(const LayerKind&) const = default;
};

// Of a layer: its window where that is shorter than the context, else 0.
std::int64_t layer_window(const ModelConfig& config, std::int64_t layer);
// Those that see everything first; only kinds that the model has. One kind where all layers are alike.
std::vector<LayerKind> layer_kinds(const ModelConfig& config);
// The local one; no layers where there is none.
LayerKind local_kind(const ModelConfig& config);

// Entries that `rows` new tokens after `past` tokens read in one layer: the row at position p reads min(p + 1, W).
std::int64_t attended_entries(std::int64_t past, std::int64_t rows, std::int64_t window);
// FLOPs of a pass with the logits of its last row: 2 N rows + 4 H d (entries read, summed over layers) + 2 V D.
std::int64_t pass_flops(const ModelConfig& config, std::int64_t past, std::int64_t rows);

}  // namespace decodescope
