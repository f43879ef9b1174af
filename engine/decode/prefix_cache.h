// Pages that several conversations share: one that begins like an earlier one finds its full pages and computes only
// the rest. Conversations share when everything that decides what a row holds is the same: the loaded model (its
// backend and weights included), the format of K and V, the page size and how storage is divided.
#pragma once

#include <memory>
#include <vector>

#include "engine/cache/kv_storage.h"
#include "engine/cache/page_pool.h"
#include "engine/decode/decode_session.h"

namespace decodescope {

class PrefixCache {
public:
    struct Group {
        std::shared_ptr<PagePool> pages;
        std::shared_ptr<KvStorage> storage;
    };

    explicit PrefixCache(PagePool::Hash hash = {}) : hash_(std::move(hash)) {}

    // The group of such conversations, made for the limits of the first of them; where the number of pages is not
    // given, for at least `tokens`. Memory error when there is no room.
    Result<Group> group_for(const LoadedModelPtr& model, const CacheSpec& cache, const KvFormat& format,
                            const RunLimits& limits, std::int64_t tokens = 0);

private:
    struct Entry {
        std::weak_ptr<const LoadedModel> model;
        CacheSpec cache;
        KvFormat format;
        Group group;
    };

    PagePool::Hash hash_;
    std::vector<Entry> entries_;
};

}  // namespace decodescope
