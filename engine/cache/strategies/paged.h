// Pages of a fixed number of tokens: entry e is position e, in the page that the block table names.
#pragma once

#include "engine/cache/cache_strategy.h"
#include "engine/cache/page_pool.h"

namespace decodescope {

class PagedStrategy final : public CacheStrategy {
public:
    struct Options {
        int log2_page = 4;
        bool slab = false;
        bool may_grow = false;  // more pages than the pool has are allocated for branches; else a Capacity error
        bool by_content = false;  // full pages are named in the pool's index, see take_prefix
    };

    PagedStrategy(std::shared_ptr<PagePool> pool, const Options& options);
    ~PagedStrategy() override;
    PagedStrategy& operator=(const PagedStrategy&) = delete;

    Result<CachePlan> plan(std::int64_t new_tokens) const override;
    void begin_write(const CachePlan& plan) override;
    void hold(const CachePlan& plan) override;
    void release() override;
    void commit(const CachePlan& plan) override;
    void name_tokens(std::span<const std::int32_t> tokens) override;
    std::int64_t take_prefix(std::span<const std::int32_t> tokens) override;
    Status truncate(std::int64_t tokens) override;
    void reset() override;
    std::unique_ptr<CacheStrategy> clone() const override;

    std::int64_t tokens_seen() const override { return seen_; }
    std::int64_t tokens_stored() const override { return seen_; }
    std::int64_t capacity() const override { return pool_->pages() << options_.log2_page; }
    EntryList entries() const override;
    std::optional<std::int64_t> slot_of(std::int32_t position) const override;
    bool capacity_can_grow() const override { return options_.may_grow; }
    bool one_slab() const override { return options_.slab; }
    std::optional<PageCounts> page_counts() const override;
    std::vector<PageRun> page_states() const override;
    std::int32_t sequence() const override { return sequence_; }
    std::int64_t page_tokens() const override { return std::int64_t{1} << options_.log2_page; }
    std::vector<SlotMove> dead_slots() const override;

    const std::vector<std::int32_t>& table() const { return table_; }  // block table
    const std::vector<std::int32_t>& named_tokens() const { return tokens_; }  // seen, as far as they were named
    const PagePool& pool() const { return *pool_; }

private:
    PagedStrategy(const PagedStrategy& other);  // owns the same pages
    Status room_for(CachePlan& plan, std::int64_t pages) const;
    void keep_pages(std::size_t count);

    std::shared_ptr<PagePool> pool_;
    Options options_;
    std::int64_t first_pages_ = 0;         // what the pool had when it was made: it grows by as much
    std::vector<std::int32_t> table_;
    std::vector<PageContent> contents_;    // of the full pages at the front that were named
    std::vector<std::int32_t> tokens_;     // seen, as far as they were named
    std::int64_t seen_ = 0;
    std::uint64_t revision_ = 0;
    std::vector<std::int32_t> held_;       // pages that were taken for the plan of this revision
    std::int32_t sequence_ = 0;            // among the owners of the pool's pages
};

}  // namespace decodescope
