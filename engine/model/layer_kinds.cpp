#include "engine/model/layer_kinds.h"

#include <algorithm>

namespace decodescope {

std::int64_t layer_window(const ModelConfig& config, std::int64_t layer) {
    // A window as long as the context never ends.
    return config.is_local(layer) && config.window < config.context ? config.window : 0;
}

LayerKind local_kind(const ModelConfig& config) {
    LayerKind kind{0, config.window};
    for (std::int64_t layer = 0; layer < config.layers; ++layer) kind.layers += layer_window(config, layer) > 0 ? 1 : 0;
    return kind.layers > 0 ? kind : LayerKind{};
}

std::vector<LayerKind> layer_kinds(const ModelConfig& config) {
    const LayerKind local = local_kind(config);
    std::vector<LayerKind> kinds;
    if (local.layers < config.layers) kinds.push_back({config.layers - local.layers, 0});
    if (local.layers > 0) kinds.push_back(local);
    return kinds;
}

std::int64_t attended_entries(std::int64_t past, std::int64_t rows, std::int64_t window) {
    if (window <= 0) return rows * past + rows * (rows + 1) / 2;
    const std::int64_t growing = std::clamp<std::int64_t>(window - past, 0, rows);  // rows that see less than a window
    return growing * past + growing * (growing + 1) / 2 + (rows - growing) * window;
}

std::int64_t pass_flops(const ModelConfig& config, std::int64_t past, std::int64_t rows) {
    std::int64_t attended = 0;
    for (const LayerKind& kind : layer_kinds(config))
        attended += kind.layers * attended_entries(past, rows, kind.window);
    return 2 * config.layer_matrix_parameters() * rows + 4 * config.heads * config.head_dim * attended +
           2 * config.vocabulary * config.hidden;
}

}  // namespace decodescope
