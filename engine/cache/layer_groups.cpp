#include "engine/cache/layer_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace decodescope {
namespace {

std::vector<std::unique_ptr<CacheStrategy>> only(std::unique_ptr<CacheStrategy> strategy) {
    std::vector<std::unique_ptr<CacheStrategy>> groups;
    groups.push_back(std::move(strategy));
    return groups;
}

}  // namespace

LayerGroups::LayerGroups(std::unique_ptr<CacheStrategy> strategy, int layers)
    : LayerGroups(only(std::move(strategy)), std::vector<int>(static_cast<std::size_t>(layers), 0)) {}

LayerGroups::LayerGroups(std::vector<std::unique_ptr<CacheStrategy>> groups, std::vector<int> group_of_layer)
    : groups_(std::move(groups)), group_of_layer_(std::move(group_of_layer)) {
    DS_CHECK(!groups_.empty());
    for (int index = 0; index < count(); ++index) DS_CHECK(layers_of(index) > 0);
    for (const int index : group_of_layer_) DS_CHECK(index >= 0 && index < count());
}

int LayerGroups::index_in_group(int layer) const {
    return static_cast<int>(
        std::count(group_of_layer_.begin(), group_of_layer_.begin() + layer, group_of(layer)));
}

int LayerGroups::layers_of(int group_index) const {
    return static_cast<int>(std::count(group_of_layer_.begin(), group_of_layer_.end(), group_index));
}

Result<std::vector<CachePlan>> LayerGroups::plan(std::int64_t new_tokens) const {
    std::vector<CachePlan> plans;
    for (const auto& strategy : groups_) {
        auto plan = strategy->plan(new_tokens);
        if (!plan.ok()) return plan.error();
        plans.push_back(std::move(*plan));
    }
    return plans;
}

void LayerGroups::begin_write(std::span<const CachePlan> plans) {
    for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g]->begin_write(plans[g]);
}

void LayerGroups::hold(std::span<const CachePlan> plans) {
    DS_CHECK(plans.size() == groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g]->hold(plans[g]);
}

void LayerGroups::release() {
    for (const auto& strategy : groups_) strategy->release();
}

void LayerGroups::commit(std::span<const CachePlan> plans) {
    DS_CHECK(plans.size() == groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g]->commit(plans[g]);
}

Status LayerGroups::truncate(std::int64_t tokens) {
    if (groups_.size() == 1) return groups_.front()->truncate(tokens);
    LayerGroups cut = clone();
    for (const auto& strategy : cut.groups_) DS_RETURN_IF_ERROR(strategy->truncate(tokens));
    *this = std::move(cut);
    return {};
}

void LayerGroups::reset() {
    for (const auto& strategy : groups_) strategy->reset();
}

LayerGroups LayerGroups::clone() const {
    std::vector<std::unique_ptr<CacheStrategy>> groups;
    for (const auto& strategy : groups_) groups.push_back(strategy->clone());
    return {std::move(groups), group_of_layer_};
}

void LayerGroups::name_tokens(std::span<const std::int32_t> tokens) {
    if (groups_.size() == 1) groups_.front()->name_tokens(tokens);
}

std::int64_t LayerGroups::take_prefix(std::span<const std::int32_t> tokens) {
    return groups_.size() == 1 ? groups_.front()->take_prefix(tokens) : 0;
}

std::int64_t LayerGroups::tokens_stored() const {
    std::int64_t most = 0;
    for (const auto& strategy : groups_) most = std::max(most, strategy->tokens_stored());
    return most;
}

std::int64_t LayerGroups::most_new_tokens() const {
    std::int64_t least = groups_.front()->most_new_tokens();
    for (const auto& strategy : groups_) least = std::min(least, strategy->most_new_tokens());
    return least;
}

bool LayerGroups::bounded_by_context() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const auto& s) { return s->bounded_by_context(); });
}

bool LayerGroups::wants_weight_sums() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const auto& s) { return s->wants_weight_sums(); });
}

namespace {

// The strategy of the layers whose own attention ends after `window` tokens: rows that leave it are never read again.
Result<std::unique_ptr<CacheStrategy>> make_local_strategy(const CacheSpec& spec, const RunLimits& limits,
                                                           std::int64_t window) {
    const StrategyDescriptor* descriptor = find_strategy(spec.id);
    if (descriptor != nullptr && !descriptor->has_cache) {
        RunLimits of_group = limits;
        of_group.window = window;
        return make_strategy(spec, of_group);
    }
    CacheSpec ring;
    ring.id = "ring";
    ring.parameters["window"] = window;
    if (spec.id == "ring") ring.parameters["window"] = std::min(window, spec.parameters.at("window"));
    if (const auto place = spec.parameters.find("offload"); place != spec.parameters.end())
        ring.parameters["offload"] = place->second;
    auto complete = complete_cache_spec(ring);
    if (!complete.ok()) return complete.error();
    return make_strategy(*complete, limits);
}

}  // namespace

Result<LayerGroups> make_layer_groups(const CacheSpec& spec, const RunLimits& limits, int layers) {
    DS_CHECK(layers > 0);
    DS_CHECK(limits.layer_windows.empty() || limits.layer_windows.size() == static_cast<std::size_t>(layers));
    const StrategyDescriptor* descriptor = find_strategy(spec.id);
    const bool apart = descriptor != nullptr && descriptor->per_layer;
    std::vector<std::unique_ptr<CacheStrategy>> strategies;
    std::vector<int> group_of_layer;
    std::map<std::int64_t, int> group_of_window;
    for (int layer = 0; layer < layers; ++layer) {
        // A window as long as the context is none.
        std::int64_t window = limits.layer_windows.empty() ? 0 : limits.layer_windows[static_cast<std::size_t>(layer)];
        if (limits.context > 0 && window >= limits.context) window = 0;
        const auto known = group_of_window.find(window);
        if (known != group_of_window.end() && !(apart && window == 0)) {
            group_of_layer.push_back(known->second);
            continue;
        }
        auto strategy = window > 0 ? make_local_strategy(spec, limits, window) : make_strategy(spec, limits);
        if (!strategy.ok()) return strategy.error();
        group_of_window[window] = static_cast<int>(strategies.size());
        group_of_layer.push_back(static_cast<int>(strategies.size()));
        strategies.push_back(std::move(*strategy));
    }
    return LayerGroups(std::move(strategies), std::move(group_of_layer));
}

}  // namespace decodescope
