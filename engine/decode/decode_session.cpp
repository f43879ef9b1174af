#include "engine/decode/decode_session.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/cache/supported_pairs.h"
#include "engine/decode/cached_session.h"
#include "engine/decode/prefix_cache.h"
#include "engine/decode/recompute_session.h"

namespace decodescope {

std::int32_t PassResult::entry_count(std::int32_t row, std::int64_t layer) const {
    const auto& counts =
        layer_entries.empty() ? row_entries : layer_entries[static_cast<std::size_t>(layer)].row_entries;
    return counts[static_cast<std::size_t>(row)];
}

std::span<const std::int32_t> PassResult::entry_positions(std::int32_t row, std::int64_t layer) const {
    const bool differ = !layer_entries.empty();
    const auto& positions = differ ? layer_entries[static_cast<std::size_t>(layer)].seen_positions : seen_positions;
    if (positions.empty()) return {};
    const auto& counts = differ ? layer_entries[static_cast<std::size_t>(layer)].row_entries : row_entries;
    const auto first = std::accumulate(counts.begin(), counts.begin() + row, std::size_t{0});
    return positions.subspan(first, static_cast<std::size_t>(entry_count(row, layer)));
}

Result<LoadedModelPtr> load_model(ModelPtr model, std::shared_ptr<Backend> backend, WeightType type,
                                  const ProgressFn& progress, std::stop_token stop) {
    auto loaded = std::make_shared<LoadedModel>();
    loaded->program = emit_program(*model, resolve_weight_type(model->config, type));
    auto weights = backend->load_weights(model->weights, loaded->program, type, progress, stop);
    if (!weights.ok()) return weights.error();
    if (type == WeightType::AsInFile) price_program(loaded->program, **weights);
    loaded->model = std::move(model);
    loaded->backend = std::move(backend);
    loaded->weights = std::move(*weights);
    loaded->weight_type = type;
    return LoadedModelPtr(std::move(loaded));
}

std::string LoadedModel::weights_name() const {
    const ElementType kept = weights->matrix_type();
    const bool codes = kept == ElementType::I8 || is_coded(kept);
    if (weight_type == WeightType::AsInFile && model->config.kept_bytes > 0 && codes) return model->config.stored_as;
    return std::string(element_name(kept));
}

bool has_local_layers(const ModelConfig& config) { return config.window > 0 && config.window < config.context; }

RunLimits run_limits(const ModelConfig& config, std::int64_t expected_tokens) {
    RunLimits limits{config.context, expected_tokens, config.learned_positions()};
    for (std::int64_t layer = 0; layer < config.layers && has_local_layers(config); ++layer)
        limits.layer_windows.push_back(config.is_local(layer) ? config.window : 0);
    return limits;
}

namespace {

Result<std::unique_ptr<DecodeSession>> create_sharing(LoadedModelPtr model, const SessionConfig& config,
                                                      RunLimits limits) {
    auto group = config.prefixes->group_for(model, config.cache, config.kv, limits);
    if (!group.ok()) return group.error();
    limits.pages = group->pages;
    auto strategy = make_layer_groups(config.cache, limits, static_cast<int>(model->model->config.layers));
    if (!strategy.ok()) return strategy.error();
    return CachedSession::create(std::move(model), config, std::move(*strategy), {group->storage});
}

}  // namespace

Result<std::unique_ptr<DecodeSession>> DecodeSession::create(LoadedModelPtr model, const SessionConfig& config) {
    auto spec = complete_cache_spec(config.cache);
    if (!spec.ok()) return spec.error();
    const auto& shape = model->model->config;
    if (shape.kv_heads <= 0 || shape.heads % shape.kv_heads != 0) {
        return make_error(ErrorKind::Model, fmt::format("{} query heads cannot be divided among {} KV heads.",
                                                        shape.heads, shape.kv_heads));
    }
    if (config.prefill_chunk < 0) {
        return make_error(ErrorKind::Argument,
                          fmt::format("A prefill chunk cannot have {} rows.", config.prefill_chunk),
                          "Choose 1 or more, or 0 for the default.");
    }
    const RunLimits limits = run_limits(shape, config.expected_tokens);
    auto strategy = make_layer_groups(*spec, limits, static_cast<int>(shape.layers));
    if (!strategy.ok()) return strategy.error();
    const bool shares = config.prefixes != nullptr && strategy->count() == 1 && strategy->group(0).page_tokens() > 0;
    DS_RETURN_IF_ERROR(check_supported({shape.family, *spec, config.kv, model->backend->info().id, shares, false,
                                        has_local_layers(shape)}));
    SessionConfig complete = config;
    complete.cache = std::move(*spec);
    if (shares) return create_sharing(std::move(model), complete, limits);
    if (!find_strategy(complete.cache.id)->has_cache)
        return RecomputeSession::create(std::move(model), complete, std::move(*strategy));
    return CachedSession::create(std::move(model), complete, std::move(*strategy));
}

}  // namespace decodescope
