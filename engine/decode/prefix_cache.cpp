#include "engine/decode/prefix_cache.h"

#include <algorithm>
#include <utility>

#include "engine/decode/cached_session.h"

namespace decodescope {

Result<PrefixCache::Group> PrefixCache::group_for(const LoadedModelPtr& model, const CacheSpec& cache,
                                                  const KvFormat& format, const RunLimits& limits,
                                                  std::int64_t tokens) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.model.expired(); });
    for (const auto& entry : entries_) {
        if (entry.model.lock() == model && entry.cache == cache && entry.format == format) return entry.group;
    }
    const int layers = static_cast<int>(model->model->config.layers);
    auto strategies = make_layer_groups(cache, limits, layers);
    if (!strategies.ok()) return strategies.error();
    const CacheStrategy& strategy = strategies->group(0);
    const std::int64_t page = strategy.page_tokens();
    DS_CHECK(page > 0 && strategies->count() == 1);
    std::int64_t pages = strategy.capacity() / page;
    if (strategy.capacity_can_grow()) pages = std::max(pages, (tokens + page - 1) / page);
    RunLimits of_group = limits;
    of_group.pages = std::make_shared<PagePool>(pages, page, hash_);
    strategies = make_layer_groups(cache, of_group, layers);
    if (!strategies.ok()) return strategies.error();
    auto storages = make_storages(*model, format, *strategies, offload_of(cache));
    if (!storages.ok()) return storages.error();
    Group group{of_group.pages, std::move(storages->front())};
    entries_.push_back({model, cache, format, group});
    return group;
}

}  // namespace decodescope
