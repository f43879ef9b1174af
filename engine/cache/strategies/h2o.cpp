#include "engine/cache/strategies/h2o.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace decodescope {
namespace {

constexpr double kUnit = 1.0 / static_cast<double>(std::int64_t{1} << 30);

// A pass whose sums are not finite is refused before it comes here, unless the row in question reaches no logits.
std::int64_t to_units(float sum) {
    return std::isfinite(sum) ? std::llround(static_cast<double>(sum) / kUnit) : 0;
}

Status check_h2o(const ParameterValues& values, const RunLimits& limits) {
    const std::int64_t budget = values.at("budget"), recent = values.at("recent");
    if (recent >= budget) {
        return make_error(ErrorKind::Argument,
                          fmt::format("{} recent tokens leave no room for heavy hitters in a budget of {}.", recent,
                                      budget),
                          fmt::format("Choose recent from 1 to {}, or a larger budget.", budget - 1));
    }
    if (limits.context > 0 && budget > limits.context) {
        return make_error(ErrorKind::Argument,
                          fmt::format("The budget of {} tokens is larger than the model's context of {}.", budget,
                                      limits.context),
                          fmt::format("Choose a budget from 2 to {}.", limits.context));
    }
    return {};
}

}  // namespace

H2oStrategy::H2oStrategy(std::int64_t budget, std::int64_t recent) : budget_(budget), recent_(recent) {
    DS_CHECK(recent >= 1 && recent < budget);
}

std::int64_t H2oStrategy::most_new_tokens() const { return std::max<std::int64_t>(budget_ - tokens_stored(), 1); }

EntryList H2oStrategy::entries() const {
    EntryList list;
    list.count = static_cast<std::int32_t>(kept_.size());
    if (!left_) return list;
    list.log2_page = 0;
    for (const Kept& entry : kept_) {
        list.pages.push_back(entry.slot);
        list.positions.push_back(entry.position);
    }
    return list;
}

Result<CachePlan> H2oStrategy::plan(std::int64_t new_tokens) const {
    DS_RETURN_IF_ERROR(check_new_tokens(new_tokens, seen_));
    if (new_tokens > most_new_tokens()) {
        return make_error(ErrorKind::Argument,
                          fmt::format("{} rows cannot be fed at once: with {} of {} entries kept the next pass takes "
                                      "{}, because after each row something may leave.",
                                      new_tokens, tokens_stored(), budget_, most_new_tokens()));
    }
    CachePlan plan;
    plan.revision = revision_;
    plan.new_tokens = new_tokens;
    plan.first_position = static_cast<std::int32_t>(seen_);
    plan.capacity_before = plan.capacity_after = budget_;
    plan.visibility = causal_visibility(seen_, new_tokens);
    plan.entries = entries();
    const std::int64_t stored = tokens_stored();
    plan.entries.count = static_cast<std::int32_t>(stored + new_tokens);
    plan.stored_after = std::min(stored + new_tokens, budget_);
    for (std::int64_t r = 0; r < new_tokens; ++r) {
        plan.row_entries.push_back(static_cast<std::int32_t>(stored + r + 1));
        plan.store_slots.push_back(stored + r);
    }
    if (stored < budget_) return plan;
    // The row above the budget lies in slot `budget_`, the first staged one.
    plan.staged_rows = 1;
    plan.entries.staged_first = budget_;
    if (!plan.entries.pages.empty()) {
        plan.entries.pages.push_back(static_cast<std::int32_t>(budget_));
        plan.entries.positions.push_back(plan.first_position);
    }
    return plan;
}

// Of the entries of the plan, the newest `recent_` left out.
std::size_t H2oStrategy::index_to_leave(const CachePlan& plan) const {
    const auto scored = [&](std::size_t e) { return kept_[e].score + plan.observed[e]; };
    const auto candidates = static_cast<std::size_t>(plan.entries.count - recent_);  // all of them were kept before
    std::size_t lowest = 0;
    for (std::size_t e = 1; e < candidates; ++e)
        if (scored(e) < scored(lowest)) lowest = e;
    return lowest;
}

void H2oStrategy::observe(std::span<const float> sums, CachePlan& plan) const {
    DS_CHECK(plan.revision == revision_);
    DS_CHECK(static_cast<std::int64_t>(sums.size()) == plan.new_tokens * plan.entries.count);
    plan.observed.clear();
    for (const float sum : sums) plan.observed.push_back(to_units(sum));
    plan.evicted.clear();
    plan.evicted_scores.clear();
    plan.settled.clear();
    if (plan.staged_rows == 0) return;
    const std::size_t leaves = index_to_leave(plan);
    plan.evicted.push_back(kept_[leaves].position);
    plan.evicted_scores.push_back(static_cast<double>(kept_[leaves].score + plan.observed[leaves]) * kUnit);
    plan.settled.push_back({budget_, kept_[leaves].slot, 1});
}

void H2oStrategy::commit(const CachePlan& plan) {
    DS_CHECK(plan.revision == revision_);
    DS_CHECK(static_cast<std::int64_t>(plan.observed.size()) == plan.new_tokens * plan.entries.count);
    for (std::int64_t r = 0; r < plan.new_tokens; ++r) {
        const auto position = static_cast<std::int32_t>(seen_ + r);
        kept_.push_back({position, static_cast<std::int32_t>(plan.store_slots[static_cast<std::size_t>(r)]), 0});
    }
    for (std::size_t i = 0; i < plan.observed.size(); ++i)
        kept_[i % static_cast<std::size_t>(plan.entries.count)].score += plan.observed[i];
    seen_ += plan.new_tokens;
    if (plan.evicted.empty()) {
        if (!left_) remember(plan);
    } else {
        const auto leaves = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& entry) {
            return entry.position == plan.evicted.front();
        });
        kept_.back().slot = leaves->slot;
        kept_.erase(leaves);
        left_ = true;
        forget_rows();
    }
    ++revision_;
}

void H2oStrategy::remember(const CachePlan& plan) {
    const auto count = static_cast<std::ptrdiff_t>(plan.entries.count);
    for (std::ptrdiff_t r = 0; r < plan.new_tokens; ++r) {
        const auto seen_by_row = static_cast<std::ptrdiff_t>(plan.row_entries[static_cast<std::size_t>(r)]);
        const auto first = plan.observed.begin() + r * count;
        undo_.emplace_back(first, first + seen_by_row);
        undo_values_ += seen_by_row;
    }
    while (undo_values_ > kMostUndoValues) {
        undo_values_ -= static_cast<std::int64_t>(undo_.front().size());
        undo_.pop_front();
    }
}

void H2oStrategy::forget_rows() {
    undo_.clear();
    undo_values_ = 0;
}

Status H2oStrategy::truncate(std::int64_t tokens) {
    DS_RETURN_IF_ERROR(check_truncate(tokens, seen_));
    const std::int64_t taken_back = seen_ - tokens;
    if (tokens == 0) {
        reset();
        return {};
    }
    if (taken_back > undoable()) {
        return make_error(ErrorKind::Unsupported,
                          left_ ? fmt::format("Cannot keep {} of {} tokens: entries that their scores would keep have "
                                              "been evicted.",
                                              tokens, seen_)
                                : fmt::format("Cannot keep {} of {} tokens: what the rows after them added to the "
                                              "scores is known of the last {} only.",
                                              tokens, seen_, undoable()),
                          undoable() == 0
                              ? fmt::format("All {} tokens can be kept, or none; otherwise feed the text again.", seen_)
                              : fmt::format("{} to {} tokens can be kept, or none; otherwise feed the text again.",
                                            seen_ - undoable(), seen_));
    }
    for (std::int64_t r = 0; r < taken_back; ++r) {
        const auto& added = undo_.back();
        for (std::size_t e = 0; e < added.size(); ++e) kept_[e].score -= added[e];
        undo_values_ -= static_cast<std::int64_t>(added.size());
        undo_.pop_back();
        kept_.pop_back();
    }
    seen_ = tokens;
    ++revision_;
    return {};
}

void H2oStrategy::reset() {
    seen_ = 0;
    kept_.clear();
    forget_rows();
    left_ = false;
    ++revision_;
}

std::optional<std::int64_t> H2oStrategy::slot_of(std::int32_t position) const {
    const auto found = std::lower_bound(kept_.begin(), kept_.end(), position,
                                        [](const Kept& entry, std::int32_t p) { return entry.position < p; });
    if (found == kept_.end() || found->position != position) return std::nullopt;
    return found->slot;
}

std::optional<double> H2oStrategy::score_of(std::int32_t position) const {
    for (const Kept& entry : kept_)
        if (entry.position == position) return static_cast<double>(entry.score) * kUnit;
    return std::nullopt;
}

StrategyDescriptor h2o_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "h2o";
    descriptor.title = "Heavy hitters (H2O)";
    descriptor.explanation =
        "Each layer keeps the newest tokens and those that have been attended to most; what has got the least attention "
        "leaves. "
        "Which tokens those are is known only after each row, so beyond the budget a prompt is fed token by token.";
    descriptor.parameters = {
        integer_parameter("budget", 2, kMostParameterTokens, 32, "Tokens that each layer keeps, the recent ones included."),
        integer_parameter("recent", 1, kMostParameterTokens, 16, "Newest tokens that always stay.")};
    descriptor.lossy = true;
    descriptor.per_layer = true;
    descriptor.check = check_h2o;
    descriptor.create = [](const ParameterValues& values, const RunLimits&) -> std::unique_ptr<CacheStrategy> {
        return std::make_unique<H2oStrategy>(values.at("budget"), values.at("recent"));
    };
    return descriptor;
}

}  // namespace decodescope
