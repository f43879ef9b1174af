#include "engine/measure/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/cache/cache_strategy.h"
#include "engine/cache/kv_storage.h"
#include "engine/model/layer_kinds.h"

namespace decodescope {
namespace {

// Of a strategy that bounds what it keeps: wide enough to be of use at thousands of tokens.
constexpr std::int64_t kWindow = 1024;

KvShape storage_shape(const KvModelShape& shape, const KvFormat& format) {
    KvShape storage;
    storage.layers = static_cast<int>(shape.layers);
    storage.kv_heads = static_cast<int>(shape.kv_heads);
    storage.head_dim = static_cast<int>(shape.head_dim);
    storage.format = format;
    return storage;
}

// Bytes that are live while storage is exchanged: all new blocks, and the old one of the block that comes last.
Result<std::int64_t> exchange_peak(const KvShape& storage, const CacheSlots& slots) {
    auto bytes = storage.total_bytes(slots.capacity, slots.paged);
    if (!bytes.ok() || slots.capacity_before == slots.capacity) return bytes;
    KvShape block = storage;
    if (!slots.one_slab) block.layers = std::min(1, storage.layers);
    const auto old = block.total_bytes(slots.capacity_before, slots.paged);
    if (!old.ok()) return old;
    return *bytes + *old;
}

}  // namespace

KvModelShape kv_model_shape(const ModelConfig& config) {
    const LayerKind local = local_kind(config);
    return {config.name,     config.layers,  config.heads, config.kv_heads,
            config.head_dim, config.context, local.window, local.layers};
}

std::int64_t kept_bytes(const ModelConfig& config, const KvFormat& format, std::int64_t tokens) {
    KvShape shape = KvShape::of(config, format);
    std::int64_t bytes = 0;
    for (const LayerKind& kind : layer_kinds(config)) {
        shape.layers = static_cast<int>(kind.layers);
        bytes += shape.stored_bytes(kind.rows(tokens));
    }
    return bytes;
}

const std::vector<KvModelShape>& published_shapes() {
    static const std::vector<KvModelShape> models = {
        {"GPT-2 124M", 12, 12, 12, 64, 1024},        {"GPT-2 medium 355M", 24, 16, 16, 64, 1024},
        {"GPT-2 large 774M", 36, 20, 20, 64, 1024},  {"GPT-2 XL 1.5B", 48, 25, 25, 64, 1024},
        {"LLaMA-7B", 32, 32, 32, 128, 2048},         {"Llama-2-70B", 80, 64, 8, 128, 4096},
        {"Llama-3-8B", 32, 32, 8, 128, 8192},        {"Mistral-7B", 32, 32, 8, 128, 32768, 4096, 32},
        {"TinyLlama-1.1B", 22, 32, 4, 64, 2048},     {"Llama-3.2-1B", 16, 32, 8, 64, 131072},
        {"Gemma-3-1B", 26, 4, 1, 256, 32768, 512, 22},
    };
    return models;
}

KvModelShape article_example() { return {"32 layers, 16 heads of 64", 32, 16, 16, 64, 512}; }

Result<CacheSlots> cache_slots(const CacheSpec& cache, std::int64_t tokens) {
    if (tokens < 1)
        return make_error(ErrorKind::Argument, fmt::format("A cache for {} tokens was asked for.", tokens),
                          "Choose at least 1.");
    CacheSlots slots;
    slots.tokens = tokens;
    const StrategyDescriptor* descriptor = find_strategy(cache.id);
    slots.keeps_rows = descriptor == nullptr || descriptor->has_cache;
    if (!slots.keeps_rows) return slots;
    RunLimits limits;
    limits.context = std::max(tokens, kMostParameterTokens);
    limits.expected_tokens = tokens;
    auto strategy = make_strategy(cache, limits);
    if (!strategy.ok()) return strategy.error();
    slots.capacity_before = slots.capacity = (*strategy)->capacity();
    if (cache.id == "ring") slots.ring = slots.capacity;
    slots.one_slab = (*strategy)->one_slab();
    slots.paged = (*strategy)->page_tokens() > 0;
    if ((*strategy)->wants_weight_sums()) {
        // Takes its rows one by one, with sums that only a pass can give; its room is there from the beginning.
        slots.stored = std::min(tokens, slots.capacity);
        return slots;
    }
    for (const std::int64_t count : {tokens - 1, std::int64_t{1}}) {
        if (count == 0) continue;
        const auto plan = (*strategy)->plan(count);
        if (!plan.ok()) return plan.error();
        slots.capacity_before = std::exchange(slots.capacity, plan->capacity_after);
        slots.stored = plan->stored_after;
        (*strategy)->commit(*plan);
    }
    return slots;
}

Result<CacheNeed> cache_need(const KvModelShape& shape, const CacheSlots& slots, const KvFormat& format) {
    KvShape storage = storage_shape(shape, format), local = storage;
    local.layers = static_cast<int>(shape.window > 0 ? shape.local_layers : 0);
    storage.layers -= local.layers;
    const auto reserved = storage.total_bytes(slots.capacity, slots.paged);
    if (!reserved.ok()) return reserved.error();
    const auto peak = exchange_peak(storage, slots);
    if (!peak.ok()) return peak.error();
    // Of local layers, which never exchange theirs.
    const std::int64_t window = slots.ring > 0 ? std::min(slots.ring, shape.window) : shape.window;
    const auto rings = local.total_bytes(slots.keeps_rows ? window : 0);
    if (!rings.ok()) return rings.error();
    CacheNeed need;
    need.tokens = slots.tokens;
    need.local_stored = local.layers > 0 && slots.keeps_rows ? std::min(slots.tokens, window) : 0;
    need.stored = storage.layers > 0 ? slots.stored : need.local_stored;
    const std::int64_t residual = format.has_residual() && slots.capacity > 0 ? storage.residual_bytes() : 0;
    need.used_bytes = storage.stored_bytes(slots.stored) + local.stored_bytes(need.local_stored);
    need.reserved_bytes = *reserved + *rings + residual;
    need.peak_bytes = *peak + *rings + residual;
    return need;
}

const std::vector<std::int64_t>& what_if_lengths() {
    static const std::vector<std::int64_t> lengths = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20};
    return lengths;
}

std::vector<KvFormat> what_if_formats() {
    std::vector<KvFormat> formats;
    for (const KvTypeInfo& info : kKvTypes) formats.push_back(kv_format_of(info, info));
    return formats;
}

std::vector<CacheSpec> what_if_caches(const CacheSpec& chosen) {
    std::vector<CacheSpec> caches;
    for (const StrategyDescriptor& descriptor : strategy_catalogue()) {
        if (!descriptor.has_cache) continue;
        CacheSpec spec;
        spec.id = descriptor.id;
        for (const ParameterDescriptor& parameter : descriptor.parameters) {
            const bool bound = parameter.name == "window" || parameter.name == "budget";
            spec.parameters[parameter.name] =
                bound ? std::max(parameter.default_value, kWindow) : parameter.default_value;
        }
        if (descriptor.id == chosen.id && descriptor.lossy) spec = chosen;
        caches.push_back(std::move(spec));
    }
    return caches;
}

}  // namespace decodescope
