// No cache: nothing is kept, so every step computes the whole sequence again. The plan says what the last rows see;
// what they read lies in scratch memory of the pass.
#include "engine/cache/cache_strategy.h"

namespace decodescope {
namespace {

class RecomputeStrategy final : public CacheStrategy {
public:
    explicit RecomputeStrategy(std::int64_t window) : window_(window) {}  // of the model's own attention; 0: none

    Result<CachePlan> plan(std::int64_t new_tokens) const override {
        DS_RETURN_IF_ERROR(check_new_tokens(new_tokens, seen_));
        CachePlan plan;
        plan.revision = revision_;
        plan.new_tokens = new_tokens;
        plan.first_position = static_cast<std::int32_t>(seen_);
        plan.entries.count = static_cast<std::int32_t>(seen_ + new_tokens);
        plan.visibility = causal_visibility(seen_, new_tokens, window_);
        for (const auto& row : plan.visibility) plan.row_entries.push_back(row.position + 1 - row.window_first);
        return plan;
    }
    void commit(const CachePlan& plan) override {
        DS_CHECK(plan.revision == revision_);
        seen_ += plan.new_tokens;
        ++revision_;
    }
    Status truncate(std::int64_t tokens) override {
        DS_RETURN_IF_ERROR(check_truncate(tokens, seen_));
        seen_ = tokens;
        ++revision_;
        return {};
    }
    void reset() override {
        seen_ = 0;
        ++revision_;
    }
    std::unique_ptr<CacheStrategy> clone() const override { return std::make_unique<RecomputeStrategy>(*this); }
    std::int64_t tokens_seen() const override { return seen_; }
    std::int64_t tokens_stored() const override { return 0; }
    std::int64_t capacity() const override { return 0; }
    EntryList entries() const override { return {}; }
    std::optional<std::int64_t> slot_of(std::int32_t) const override { return std::nullopt; }

private:
    std::int64_t window_ = 0;
    std::int64_t seen_ = 0;
    std::uint64_t revision_ = 0;
};

}  // namespace

StrategyDescriptor recompute_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "recompute";
    descriptor.title = "No cache (recompute)";
    descriptor.explanation =
        "Nothing is kept: every step runs all tokens of the sequence through the model again and uses the last row "
        "only. "
        "This is what a decoder costs without a cache.";
    descriptor.has_cache = false;
    descriptor.create = [](const ParameterValues&, const RunLimits& limits) -> std::unique_ptr<CacheStrategy> {
        return std::make_unique<RecomputeStrategy>(limits.window);
    };
    return descriptor;
}

}  // namespace decodescope
