#include "engine/cache/strategies/contiguous.h"

namespace decodescope {

Result<CachePlan> ContiguousStrategy::plan(std::int64_t new_tokens) const {
    DS_RETURN_IF_ERROR(check_new_tokens(new_tokens, seen_));
    auto capacity = capacity_for(stored_ + new_tokens);
    if (!capacity.ok()) return capacity.error();
    CachePlan plan;
    plan.revision = revision_;
    plan.new_tokens = new_tokens;
    plan.first_position = static_cast<std::int32_t>(seen_);
    plan.stored_after = stored_ + new_tokens;
    plan.entries.count = static_cast<std::int32_t>(plan.stored_after);
    plan.visibility = causal_visibility(seen_, new_tokens);
    for (std::int64_t r = 0; r < new_tokens; ++r) {
        plan.store_slots.push_back(stored_ + r);
        plan.row_entries.push_back(static_cast<std::int32_t>(stored_ + r + 1));
    }
    plan.capacity_before = capacity_;
    plan.capacity_after = *capacity;
    if (stored_ > 0) plan.moves.push_back({0, 0, stored_});
    return plan;
}

void ContiguousStrategy::commit(const CachePlan& plan) {
    DS_CHECK(plan.revision == revision_);
    seen_ += plan.new_tokens;
    stored_ = plan.stored_after;
    capacity_ = plan.capacity_after;
    ++revision_;
}

Status ContiguousStrategy::truncate(std::int64_t tokens) {
    DS_RETURN_IF_ERROR(check_truncate(tokens, seen_));
    stored_ -= seen_ - tokens;  // nothing ever left, so what is cut from the end was stored
    seen_ = tokens;
    ++revision_;
    return {};
}

void ContiguousStrategy::reset() {
    seen_ = stored_ = 0;
    capacity_ = initial_capacity_;
    ++revision_;
}

EntryList ContiguousStrategy::entries() const {
    EntryList list;
    list.count = static_cast<std::int32_t>(stored_);
    return list;
}

std::optional<std::int64_t> ContiguousStrategy::slot_of(std::int32_t position) const {
    if (position < 0 || position >= stored_) return std::nullopt;
    return position;
}

}  // namespace decodescope
