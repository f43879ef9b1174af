#include "engine/decode/prefix_cache.h"

#include <utility>

#include "engine/decode/cached_session.h"

namespace decodescope {

Result<PrefixCache::Group> PrefixCache::group_for(const LoadedModelPtr& model, const CacheSpec& cache,
                                                  const KvFormat& format, const RunLimits& limits) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.model.expired(); });
    for (const auto& entry : entries_) {
        if (entry.model.lock() == model && entry.cache == cache && entry.format == format) return entry.group;
    }
    auto strategies = make_layer_groups(cache, limits, static_cast<int>(model->model->config.layers));
    if (!strategies.ok()) return strategies.error();
    const CacheStrategy& strategy = strategies->group(0);
    const std::int64_t page = strategy.page_tokens();
    DS_CHECK(page > 0 && strategies->count() == 1);
    auto storages = make_storages(*model, format, *strategies, offload_of(cache));
    if (!storages.ok()) return storages.error();
    Group group{std::make_shared<PagePool>(strategy.capacity() / page, page, hash_), std::move(storages->front())};
    entries_.push_back({model, cache, format, group});
    return group;
}

}  // namespace decodescope
