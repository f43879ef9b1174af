// What growing and preallocated share: entry e is position e in slot e, nothing leaves, full causal attention.
#pragma once

#include "engine/cache/cache_strategy.h"

namespace decodescope {

class ContiguousStrategy : public CacheStrategy {
public:
    Result<CachePlan> plan(std::int64_t new_tokens) const override;
    void commit(const CachePlan& plan) override;
    Status truncate(std::int64_t tokens) override;
    void reset() override;
    std::int64_t tokens_seen() const override { return seen_; }
    std::int64_t tokens_stored() const override { return stored_; }
    std::int64_t capacity() const override { return capacity_; }
    EntryList entries() const override;
    std::optional<std::int64_t> slot_of(std::int32_t position) const override;

protected:
    explicit ContiguousStrategy(std::int64_t initial_capacity)
        : initial_capacity_(initial_capacity), capacity_(initial_capacity) {}
    // Slots needed to hold `tokens`, or a Capacity error.
    virtual Result<std::int64_t> capacity_for(std::int64_t tokens) const = 0;

private:
    std::int64_t initial_capacity_ = 0;
    std::int64_t capacity_ = 0;
    std::int64_t seen_ = 0;
    std::int64_t stored_ = 0;
    std::uint64_t revision_ = 0;
};

}  // namespace decodescope
